"""Overrides that the target no longer reaches."""

from tests.tools.trees import findings

BUILDER = """
    class Builder:
        def reorder_batch(self, batch):
            return False

        def build(self, batch):
            return batch
"""
RUNNER = """
    class Runner:
        def step(self, builder, batch):
            builder.reorder_batch(batch)
            return builder.build(batch)
"""
PLUGIN = {
    "builder.py": """
        from vllm.builder import Builder

        class Ours(Builder):
            def reorder_batch(self, batch):
                return True
    """
}
BASE = {"builder.py": BUILDER, "runner.py": RUNNER}


def test_a_removed_hook() -> None:
    target = {
        "builder.py": "class Builder:\n    def build(self, batch):\n        return batch\n",
        "runner.py": RUNNER.replace("    builder.reorder_batch(batch)\n", "    pass\n"),
    }
    (finding,) = findings(PLUGIN, BASE, target, "OVR004")
    assert finding.severity == "warning"
    assert finding.silent


def test_a_hook_nobody_calls_any_more() -> None:
    target = {**BASE, "runner.py": RUNNER.replace("    builder.reorder_batch(batch)\n", "    pass\n")}
    (finding,) = findings(PLUGIN, BASE, target, "OVR004")
    assert finding.severity == "note"


def test_a_hook_still_called_is_fine() -> None:
    assert findings(PLUGIN, BASE, BASE, "OVR004") == []


def test_a_hook_the_plugin_calls_itself_is_fine() -> None:
    plugin = {**PLUGIN, "use.py": "def go(b, x):\n    return b.reorder_batch(x)\n"}
    target = {**BASE, "runner.py": RUNNER.replace("    builder.reorder_batch(batch)\n", "    pass\n")}
    assert findings(plugin, BASE, target, "OVR004") == []

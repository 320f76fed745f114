"""MRO001: inherited lookups that another class answers."""

from __future__ import annotations

from tests.tools.trees import findings

PLUGIN = {
    "b.py": "from vllm.b import Builder\n\nclass MyBuilder(Builder):\n    pass\n",
    "draft.py": "def draft(builder, batch):\n    return builder.build(batch)\n",
}
USER = "def run(builder, batch):\n    return builder.build(batch)\n"
ROOT = """
class BuilderBase:
    def build(self, batch, per_request=1):
        self.batch = batch
        self.sizes = [per_request for _ in batch]
        return self.sizes
"""
OVERRIDE = """
class Builder(BuilderBase):
    def build(self, batch):
        count = self.speculative + 1
        prepared = prepare(batch, count)
        return super().build(prepared, per_request=count)
"""
BASE = {"b.py": ROOT + OVERRIDE, "user.py": USER}


def test_a_deleted_override_leaves_the_default() -> None:
    target = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n", "user.py": USER}
    (found,) = findings(PLUGIN, BASE, target, "MRO001")
    assert found.silent
    assert found.severity == "warning"
    assert "BuilderBase answers" in found.message


def test_a_note_when_only_upstream_calls_it() -> None:
    target = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n", "user.py": USER}
    (found,) = findings({"b.py": PLUGIN["b.py"]}, BASE, target, "MRO001")
    assert found.severity == "note"


def test_a_new_mixin_stands_before_the_old_definer() -> None:
    mixin = "\nclass DraftMixin:\n    def build(self, batch):\n        return [1 for _ in batch]\n"
    base = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n", "user.py": USER}
    target = {"b.py": ROOT + mixin + "\nclass Builder(DraftMixin, BuilderBase):\n    pass\n", "user.py": USER}
    (found,) = findings(PLUGIN, base, target, "MRO001")
    assert "DraftMixin answers" in found.message


def test_nothing_when_the_plugin_answers_itself() -> None:
    plugin = {"b.py": PLUGIN["b.py"].replace("pass", "def build(self, batch):\n        return []")}
    target = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n", "user.py": USER}
    assert not findings(plugin, BASE, target, "MRO001")


def test_nothing_when_the_body_moved_up_or_the_class_moved() -> None:
    body = OVERRIDE.partition("def build")[2]
    up = f"\nclass Middle(BuilderBase):\n    def build{body}\nclass Builder(Middle):\n    pass\n"
    assert not findings(PLUGIN, BASE, {"b.py": ROOT + up, "user.py": USER}, "MRO001")
    moved = {"b.py": "from vllm.c import Builder\n", "c.py": ROOT + OVERRIDE, "user.py": USER}
    assert not findings(PLUGIN, BASE, moved, "MRO001")


def test_nothing_when_upstream_refines_an_inherited_method() -> None:
    base = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n", "user.py": USER}
    assert not findings(PLUGIN, base, BASE, "MRO001")


def test_nothing_when_nobody_calls_it() -> None:
    target = {"b.py": ROOT + "\nclass Builder(BuilderBase):\n    pass\n"}
    assert not findings({"b.py": PLUGIN["b.py"]}, {"b.py": BASE["b.py"]}, target, "MRO001")

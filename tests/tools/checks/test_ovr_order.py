"""Positional arguments across an inserted parameter, in both directions."""

from tests.tools.trees import findings

COUNTER = """
    class Counter:
        def count(self, request, tokens, total):
            return tokens

        def step(self, request):
            return self.count(request, 1, 2)
"""
INSERTED = COUNTER.replace("tokens, total)", "tokens, local, total=0)")


def test_the_plugin_calls_by_position() -> None:
    plugin = {
        "use.py": """
            from vllm.counter import Counter

            def blocks(counter: Counter, request):
                return counter.count(request, 4, 8)
        """
    }
    (finding,) = findings(plugin, {"counter.py": COUNTER}, {"counter.py": INSERTED}, "OVR003")
    assert finding.severity == "warning"
    assert finding.silent
    assert "passes `total` as `local`" in finding.message


def test_keywords_do_not_shift() -> None:
    plugin = {
        "use.py": """
            from vllm.counter import Counter

            def blocks(counter: Counter, request):
                return counter.count(request, tokens=4, total=8)
        """
    }
    assert findings(plugin, {"counter.py": COUNTER}, {"counter.py": INSERTED}, "OVR003") == []


OVERRIDE = {
    "counter.py": """
        from vllm.counter import Counter

        class Ours(Counter):
            def count(self, request, tokens, total, local=0):
                return total
    """
}


def test_an_override_keeps_the_old_order() -> None:
    (finding,) = findings(
        OVERRIDE,
        {"counter.py": COUNTER},
        {"counter.py": INSERTED},
        "OVR003",
    )
    assert finding.symbol == "Ours.count"
    assert "receives it as `total`" in finding.message


def test_a_rename_in_place_is_no_shift() -> None:
    renamed = COUNTER.replace("tokens, total)", "tokens, whole)")
    assert findings(OVERRIDE, {"counter.py": renamed}, {"counter.py": renamed}, "OVR003") == []

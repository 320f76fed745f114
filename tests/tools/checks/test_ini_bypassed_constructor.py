"""INI001: attributes that only a skipped constructor sets."""

from __future__ import annotations

from tests.tools.trees import findings, review
from tools.findings import Severity

BASE_LINEAR = """
class Linear:
    def __init__(self, size):
        self.size = size

    def forward(self, x):
        return x
"""
GATE = """
from vllm.linear import Linear

class Gate(Linear):
    def __init__(self, size, dtype=None):
        super().__init__(size)
        self.dtype = dtype
        {extra}

    def forward(self, x):
        if self.dtype is not None:
            x = x.to(self.dtype)
        {read}
        return super().forward(x)
"""
PLUGIN = {
    "gate.py": """
    from vllm.gate import Gate

    class MyGate(Gate):
        def __init__(self, size, dtype=None):
            super(Gate, self).__init__(size)
            self.dtype = dtype
    """
}


def upstream(extra: str = "pass", read: str = "pass") -> dict[str, str]:
    return {"linear.py": BASE_LINEAR, "gate.py": GATE.format(extra=extra, read=read)}


NEW = upstream("self.allow_fast = False", "if self.allow_fast and x.fits: return fast(x)")


def test_a_new_attribute_of_the_skipped_constructor() -> None:
    (found,) = findings(PLUGIN, upstream(), NEW, "INI001")
    assert found.severity is Severity.ERROR
    assert found.introduced
    assert found.symbol == "MyGate.__init__"
    assert "`allow_fast` (read by `Gate.forward`" in found.message
    assert "Gate.__init__" in found.message


def test_the_same_against_base_was_there_before() -> None:
    (found,) = findings(PLUGIN, NEW, NEW, "INI001")
    assert not found.introduced


def test_a_further_attribute_is_reported_apart_from_the_old_one() -> None:
    more = upstream(
        "self.allow_fast = self.other = False", "if self.allow_fast: return fast(x)\n        x = self.other"
    )
    found = findings(PLUGIN, NEW, more, "INI001")
    assert [(f.introduced, "other" in f.message) for f in found] == [(True, True), (False, False)]


def test_no_constructor_of_the_parents_runs() -> None:
    plugin = {"gate.py": PLUGIN["gate.py"].replace("super(Gate, self).__init__(size)", "self.size = size")}
    (found,) = findings(plugin, upstream(), NEW, "INI001")
    assert "allow_fast" in found.message


def test_an_attribute_set_by_a_helper_of_the_skipped_constructor() -> None:
    target = upstream("self._init_fp8()", "if not self.fp8: return x")
    target["gate.py"] += "\n    def _init_fp8(self):\n        self.fp8 = False\n"
    (found,) = findings(PLUGIN, upstream(), target, "INI001")
    assert "`fp8` (read by `Gate.forward`" in found.message


def test_nothing_when_the_plugin_runs_the_constructor() -> None:
    plugin = {"gate.py": PLUGIN["gate.py"].replace("super(Gate, self)", "super()")}
    assert not findings(plugin, upstream(), NEW, "INI001")


def test_nothing_when_the_plugin_sets_it_through_a_helper_or_the_class() -> None:
    helper = (
        PLUGIN["gate.py"]
        + "            self._more()\n\n        def _more(self):\n            self.allow_fast = False\n"
    )
    assert not findings({"gate.py": helper}, upstream(), NEW, "INI001")
    on_class = PLUGIN["gate.py"].replace(
        "class MyGate(Gate):", "class MyGate(Gate):\n        allow_fast = False"
    )
    assert not findings({"gate.py": on_class}, upstream(), NEW, "INI001")


def test_nothing_when_the_reader_is_overridden() -> None:
    plugin = PLUGIN["gate.py"] + "\n        def forward(self, x):\n            return x\n"
    assert not findings({"gate.py": plugin}, upstream(), NEW, "INI001")


def test_nothing_when_the_reader_belongs_to_another_platform() -> None:
    target = upstream("self.allow_fast = False")
    target["gate.py"] += "\n    def forward_cuda(self, x):\n        return self.allow_fast\n"
    assert not findings(PLUGIN, upstream(), target, "INI001")


def test_nothing_when_the_read_sits_behind_a_closed_gate() -> None:
    read = "if current_platform.is_cuda(): return self.allow_fast"
    assert not findings(PLUGIN, upstream(), upstream("self.allow_fast = False", read), "INI001")
    read = "if self.quick: return self.allow_fast"
    quick = "self.dtype = dtype\n            self.quick = False"
    plugin = {"gate.py": PLUGIN["gate.py"].replace("self.dtype = dtype", quick)}
    assert not findings(plugin, upstream(), upstream("self.allow_fast = False", read), "INI001")


def test_a_condition_makes_it_a_possible_warning() -> None:
    read = "if x.large: return self.allow_fast"
    (found,) = findings(PLUGIN, upstream(), upstream("self.allow_fast = False", read), "INI001")
    assert (found.severity, found.certainty) == (Severity.WARNING, "possible")


def test_undecided_when_a_later_step_sets_it() -> None:
    target = upstream("self.allow_fast = None", "y = self.allow_fast")
    target["gate.py"] += "\n    def after_loading(self):\n        self.allow_fast = True\n"
    target["loader.py"] = "def load(layer):\n    layer.after_loading()\n"
    result = review(PLUGIN, upstream(), target, "INI001")
    assert not result.findings
    assert [u.subject for u in result.unresolved] == ["allow_fast"]


def test_undecided_when_it_is_stored_from_outside() -> None:
    target = upstream("self.allow_fast = None", "y = self.allow_fast")
    target["loader.py"] = "def load(layer):\n    layer.allow_fast = True\n"
    result = review(PLUGIN, upstream(), target, "INI001")
    assert not result.findings
    assert result.unresolved


def test_names_that_are_computed_end_the_judgement() -> None:
    plugin = PLUGIN["gate.py"] + "            for k in ('a', 'b'):\n                setattr(self, k, None)\n"
    assert not findings({"gate.py": plugin}, upstream(), NEW, "INI001")


def test_a_batch_of_the_plugin_lacks_what_a_base_method_reads() -> None:
    """An attribute of one vendor's feature that the base class reads whatever the feature."""
    base = {"batch.py": "class InputBatch:\n    def __init__(self, n):\n        self.n = n\n"}
    target = {
        "batch.py": """
        class InputBatch:
            def __init__(self, n):
                self.n = n
                self.use_replay = current_platform.is_cuda()

            def add(self, request):
                if self.use_replay:
                    request.replay()
        """,
        "runner.py": "def step(batch, request):\n    batch.add(request)\n",
    }
    plugin = {
        "batch.py": """
        from vllm.batch import InputBatch

        class MyBatch(InputBatch):
            def __init__(self, n):
                self.n = n
        """
    }
    (found,) = findings(plugin, base, target, "INI001")
    assert found.severity is Severity.ERROR
    assert "use_replay" in found.message


def test_undecided_when_the_original_skips_the_same_constructor() -> None:
    target = {**NEW, "quiet.py": PLUGIN["gate.py"].replace("MyGate", "QuietGate")}
    plugin = {"quiet.py": PLUGIN["gate.py"].replace("MyGate", "QuietGate")}
    result = review(plugin, upstream(), target, "INI001")
    assert not result.findings
    assert "skips the same constructor" in result.unresolved[0].reason


def test_nothing_when_super_itself_raises() -> None:
    plugin = {"gate.py": PLUGIN["gate.py"].replace("super(Gate, self)", "super(Other, self)")}
    plugin["gate.py"] = plugin["gate.py"].replace(
        "class MyGate", "class Other:\n        pass\n\n    class MyGate"
    )
    assert not findings(plugin, upstream(), NEW, "INI001")


def test_nothing_when_the_class_serves_any_attribute() -> None:
    serving = "\n        def __getattr__(self, name):\n            return None\n"
    plugin = {"gate.py": PLUGIN["gate.py"].rstrip() + "\n" + serving}
    assert not findings(plugin, upstream(), NEW, "INI001")

"""PLT004: gates that are closed on an out-of-tree platform."""

from __future__ import annotations

from tests.tools.checks.platform_trees import PLUGIN, upstream
from tests.tools.trees import findings

HEAD = "from vllm.platforms import current_platform\n\n"
EXPERTS = HEAD + "class Experts:\n    def supports(self, scheme):\n        return {answer}\n"
GATED = "scheme in BASIC or (current_platform.is_cuda() and scheme in INT8)"
VIEW = HEAD + "def view(tensor):\n    if {test}:\n        return tensor.uva()\n    raise ValueError(tensor)\n"
CALL = "from vllm.view import view\n\ndef buffer(t):\n    return view(t)\n"


def test_a_copied_capability_is_always_missing() -> None:
    plugin = {**PLUGIN, "experts.py": EXPERTS.format(answer=GATED)}
    tree = upstream(experts=EXPERTS.format(answer=GATED))
    (found,) = findings(plugin, tree, tree, "PLT004")
    assert found.silent
    assert found.symbol == "Experts.supports"


def test_nothing_when_the_line_is_the_plugins_own_or_asks_more() -> None:
    tree = upstream(experts=EXPERTS.format(answer="scheme in BASIC"))
    plugin = {**PLUGIN, "experts.py": EXPERTS.format(answer=GATED)}
    assert not findings(plugin, tree, tree, "PLT004")
    wide = EXPERTS.format(answer="current_platform.is_cuda() or current_platform.is_out_of_tree()")
    assert not findings(
        {**PLUGIN, "experts.py": wide}, upstream(experts=wide), upstream(experts=wide), "PLT004"
    )


def test_nothing_when_the_platform_says_it_is_cuda() -> None:
    platform = PLUGIN["platform.py"].replace("pass", "def is_cuda(self):\n            return True")
    plugin = {"platform.py": platform, "experts.py": EXPERTS.format(answer=GATED)}
    tree = upstream(experts=EXPERTS.format(answer=GATED))
    assert not findings(plugin, tree, tree, "PLT004")


def test_an_upstream_function_that_only_raises_here() -> None:
    plugin = {**PLUGIN, "buffer.py": CALL}
    target = upstream(view=VIEW.format(test="current_platform.is_cuda() or current_platform.is_rocm()"))
    (found,) = findings(plugin, upstream(view=VIEW.format(test="tensor.pinned")), target, "PLT004")
    assert found.introduced
    assert "view raises" in found.message


def test_nothing_when_the_gate_is_open_to_others() -> None:
    plugin = {**PLUGIN, "buffer.py": CALL}
    for test in ("current_platform.is_cuda_alike()", "current_platform.is_cuda() or tensor.pinned"):
        tree = upstream(view=VIEW.format(test=test))
        assert not findings(plugin, tree, tree, "PLT004")


def test_nothing_when_the_plugin_asks_before_it_calls() -> None:
    call = CALL.replace("return view(t)", "if current_platform.is_cuda():\n        return view(t)")
    tree = upstream(view=VIEW.format(test="current_platform.is_cuda()"))
    assert not findings({**PLUGIN, "buffer.py": call}, tree, tree, "PLT004")

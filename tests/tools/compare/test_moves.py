from __future__ import annotations

import pytest

from tests.tools.trees import Files, tree
from tools.compare.moves import Fate, Went, where_went
from tools.findings import Certainty

BODY = """
    def {name}(rows, columns, width):
        total = rows * columns
        if total % width:
            total += width - total % width
        blocks = total // width
        return blocks, total
"""
LAYER = """
    class {name}:
        def __init__(self, hidden, experts):
            self.hidden_width = hidden
            self.expert_count = experts

        def forward(self, states):
            routed = self.select(states)
            return routed * self.expert_count

        def select(self, states):
            return states[: self.hidden_width]
"""


def went(base: Files, target: Files, module: str, name: str = "") -> Went:
    return where_went(tree(base, "vllm", "base"), tree(target, "vllm", "target"), module, name)


def test_moved_without_reexport() -> None:
    found = went(
        {"utils.py": BODY.format(name="blocks")},
        {"utils/__init__.py": "", "utils/sizes.py": BODY.format(name="blocks")},
        "vllm.utils",
        "blocks",
    )
    assert (found.kind, found.id) == (Fate.MOVED, "vllm.utils.sizes:blocks")
    assert found.certainty is Certainty.CERTAIN


def test_moved_with_reexport_is_present_and_says_where_it_is_defined() -> None:
    found = went(
        {"utils.py": BODY.format(name="blocks")},
        {
            "utils/__init__.py": "from vllm.utils.sizes import blocks",
            "utils/sizes.py": BODY.format(name="blocks"),
        },
        "vllm.utils",
        "blocks",
    )
    assert (found.kind, found.id) == (Fate.PRESENT, "vllm.utils.sizes:blocks")


def test_reexport_dropped_leads_to_the_definition() -> None:
    home = {"a.py": "X = 1", "home.py": BODY.format(name="blocks")}
    found = went({**home, "a.py": "from vllm.home import blocks"}, home, "vllm.a", "blocks")
    assert (found.kind, found.id, found.certainty) == (Fate.MOVED, "vllm.home:blocks", Certainty.CERTAIN)


def test_class_renamed_with_similar_body() -> None:
    found = went(
        {"layer.py": LAYER.format(name="FusedMoE")},
        {"layer.py": LAYER.format(name="FusedMoEFactory") + "            # more\n"},
        "vllm.layer",
        "FusedMoE",
    )
    assert (found.kind, found.id) == (Fate.RENAMED, "vllm.layer:FusedMoEFactory")


def test_unlike_newcomer_is_no_rename() -> None:
    found = went(
        {"layer.py": LAYER.format(name="FusedMoE")},
        {"layer.py": "class Other:\n    def run(self):\n        return 1\n"},
        "vllm.layer",
        "FusedMoE",
    )
    assert found.kind is Fate.REMOVED


def test_whole_package_moved() -> None:
    base = {"attention/__init__.py": "", "attention/layer.py": LAYER.format(name="Attention")}
    target = {
        "v1/__init__.py": "",
        "v1/attention/__init__.py": "",
        "v1/attention/layer.py": LAYER.format(name="Attention"),
    }
    assert went(base, target, "vllm.attention.layer").module == "vllm.v1.attention.layer"
    assert went(base, target, "vllm.attention").module == "vllm.v1.attention"
    assert went(base, target, "vllm.attention.layer", "Attention").id == "vllm.v1.attention.layer:Attention"


def test_of_several_the_alike_one_wins_and_the_older_namesake_loses() -> None:
    other = "class Attention:\n    def other(self):\n        return None\n"
    found = went(
        {"old.py": LAYER.format(name="Attention"), "stood.py": other},
        {"stood.py": other, "fresh.py": LAYER.format(name="Attention")},
        "vllm.old",
        "Attention",
    )
    assert (found.id, found.others) == ("vllm.fresh:Attention", ("vllm.stood:Attention",))


def test_class_turned_into_function() -> None:
    found = went(
        {"layer.py": LAYER.format(name="FusedMoE")},
        {"layer.py": "def FusedMoE(hidden, experts):\n    return hidden"},
        "vllm.layer",
        "FusedMoE",
    )
    assert found.kind is Fate.CHANGED_KIND


def test_made_private() -> None:
    found = went(
        {"a.py": BODY.format(name="blocks")}, {"a.py": BODY.format(name="_blocks")}, "vllm.a", "blocks"
    )
    assert (found.kind, found.name) == (Fate.PRIVATE, "_blocks")


@pytest.mark.parametrize(
    ("after", "kind", "name"),
    [
        (LAYER, Fate.PRESENT, "Layer.select"),
        (LAYER.replace("select", "choose"), Fate.RENAMED, "Layer.choose"),
        (LAYER.partition("        def select")[0], Fate.REMOVED, ""),
        (LAYER.replace("select", "_select"), Fate.PRIVATE, "Layer._select"),
    ],
)
def test_members(after: str, kind: Fate, name: str) -> None:
    found = went(
        {"a.py": LAYER.format(name="Layer")}, {"a.py": after.format(name="Layer")}, "vllm.a", "Layer.select"
    )
    assert (found.kind, found.name) == (kind, name)


def test_removed() -> None:
    found = went({"a.py": BODY.format(name="blocks")}, {"a.py": ""}, "vllm.a", "blocks")
    assert not found.found
    assert found.id == ""

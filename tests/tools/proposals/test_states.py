"""One state, one pair of tiny trees."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.tools.trees import context
from tools.checks.base import Context
from tools.proposals.propose import propose
from tools.proposals.result import MergeResult, merges
from tools.proposals.states import Proposal, State
from tools.proposals.verify import edited

MODULE = "model_executor/models/m.py"
OWN = "models/m.py"
BASE = """\
def f(a):
    x = load(a)
    y = scale(x)
    z = store(y)
    return z


def load(a):
    return a


def scale(a):
    return a


def store(a):
    return a
"""
TARGET = BASE.replace("y = scale(x)", "y = scale(x) * 2")


def one(own: str, base: str = BASE, target: str = TARGET, symbol: str = "f") -> tuple[Context, Proposal]:
    found = context({OWN: own}, {MODULE: base}, {MODULE: target})
    (proposal,) = [p for p in propose(found) if p.symbol == symbol]
    return found, proposal


def state(own: str, base: str = BASE, target: str = TARGET) -> State:
    return one(own, base, target)[1].state


def test_a_plain_copy_follows() -> None:
    assert state(BASE) is State.CHECKED


def test_a_copy_with_an_edit_of_its_own_is_doubtful() -> None:
    _, proposal = one(BASE.replace("x = load(a)", "x = fetch(a)") + "\n\ndef fetch(a):\n    return a\n")
    assert proposal.state is State.DOUBTFUL
    assert "y = scale(x) * 2" in proposal.text
    assert "x = fetch(a)" in proposal.text


def test_two_edits_of_one_expression_conflict_and_both_are_shown() -> None:
    own = BASE.replace("y = scale(x)", "y = scale(x) * 3")
    base = BASE.replace("y = scale(x)", "y = scale(x) * 1")
    found, proposal = one(own, base)
    assert proposal.state is State.CONFLICT
    assert not proposal.edits
    (row,) = [r for r in merges(found).rows if r.symbol == "f"]
    assert "<<<<<<< plugin" in row.diff
    assert "scale(x) * 3" in row.diff
    assert "scale(x) * 2" in row.diff
    assert merges(found).patch == ""


def test_what_the_plugin_ported_is_already_there() -> None:
    assert state(TARGET) is State.PRESENT


def test_a_symbol_that_target_lacks_was_removed() -> None:
    assert state(BASE, target=BASE.partition("def load")[2].join(["def load", ""])) is State.REMOVED


@pytest.mark.parametrize(
    "own",
    [
        BASE.replace(
            "    y = scale(x)\n",
            "    # /---- Metax Modification ----\\\n    y = scale(x)\n    # \\---- Metax Modification ----/\n",
        ),
        BASE.replace("    y = scale(x)\n", "    # NOTE(MetaX): not scaled twice\n    y = scale(x)\n"),
        BASE.replace(
            "    y = scale(x)\n",
            "    # ┌---- metax modification ----┐\n    y = scale(x)\n    # └---- metax modification ----┘\n",
        ),
    ],
)
def test_marked_lines_are_offered_and_never_overwritten(own: str) -> None:
    found, proposal = one(own)
    assert proposal.state is State.DIFFERENT
    assert "y = scale(x) * 2" in proposal.text
    assert "etaX" in proposal.text or "etax" in proposal.text
    assert not proposal.offered
    assert merges(found).patch == ""


def test_an_implementation_of_its_own_is_not_merged() -> None:
    found, proposal = one("def f(a):\n    return mx(a)\n\n\ndef mx(a):\n    return a\n")
    assert proposal.state is State.DIFFERENT
    assert not proposal.edits
    assert "scale(x) * 2" in proposal.shown
    assert merges(found).patch == ""


def test_an_unchanged_original_needs_no_proposal() -> None:
    assert propose(context({OWN: BASE}, {MODULE: BASE}, {MODULE: BASE})) == []


def test_the_import_that_the_new_code_needs_comes_along() -> None:
    target = "from vllm.extra import twice\n" + BASE.replace("y = scale(x)", "y = twice(scale(x))")
    extra = {"extra.py": "def twice(a):\n    return a\n"}
    found = context({OWN: BASE}, {MODULE: BASE, **extra}, {MODULE: target, **extra})
    result = merges(found)
    (row,) = [r for r in result.rows if r.symbol == "f"]
    assert row.state == State.CHECKED
    assert "+from vllm.extra import twice" in row.diff
    assert git_applies(found, result)


def test_a_name_that_nothing_brings_keeps_the_merge_out_of_the_patch() -> None:
    found, proposal = one(BASE, target=BASE.replace("y = scale(x)", "y = nowhere(x)"))
    assert proposal.state is State.DOUBTFUL
    assert proposal.held
    assert merges(found).patch == ""


def test_checks_on_the_overlay_take_the_word_back() -> None:
    """The copy follows its original, but the plugin's own function does not take the new argument."""
    head = "from vllm.util import twice\n"
    base = head + BASE.replace("y = scale(x)", "y = twice(x)")
    target = head + BASE.replace("y = scale(x)", "y = twice(x, factor=2)")
    util = {"util.py": "def twice(a):\n    b = a + 1\n    c = b * 2\n    return c\n"}
    wider = {"util.py": "def twice(a, factor=1):\n    b = a + 1\n    c = b * factor\n    return c\n"}
    mine = {"util.py": "import torch\n\n\ndef twice(a):\n    return torch.mul(a, torch.tensor(2))\n"}
    own = base.replace("from vllm.util", "from vllm_metax.util")
    found = context({OWN: own, **mine}, {MODULE: base, **util}, {MODULE: target, **wider})
    assert {p.symbol: p.state for p in propose(found)}["f"] is State.CHECKED
    result = merges(found)
    (row,) = [r for r in result.rows if r.symbol == "f"]
    assert row.state == State.DOUBTFUL
    assert any("CAL001" in reason and "factor" in reason for reason in row.reasons)
    assert "not in report.patch" in row.reasons
    assert result.patch == ""


def test_applied_proposals_are_already_there() -> None:
    found, _ = one(BASE)
    (content,) = edited(found, propose(found)).values()
    again = context({OWN: content.decode()}, {MODULE: BASE}, {MODULE: TARGET})
    assert [p.state for p in propose(again)] == [State.PRESENT]


def test_every_row_cites_evidence_that_exists() -> None:
    found, _ = one(BASE)
    result = merges(found)
    known = {e.id for e in result.evidence}
    assert all(row.evidence and set(row.evidence) <= known for row in result.rows)


def test_git_applies_the_patch_and_names_the_symbol() -> None:
    found, _ = one(BASE)
    result = merges(found)
    assert " @@ f\n" in result.patch
    assert git_applies(found, result)


def git_applies(found: Context, result: MergeResult) -> bool:
    """Whether ``git apply --check`` takes the patch of all and that of each symbol."""
    with tempfile.TemporaryDirectory() as name:
        found.plugin.snapshot.materialize(Path(name))
        subprocess.run(["git", "init", "-q"], cwd=name, check=True)
        for patch in (result.patch, *(r.diff for r in result.rows if r.diff.startswith("diff --git"))):
            done = subprocess.run(["git", "apply", "--check"], cwd=name, input=patch.encode(), check=False)
            if done.returncode:
                return False
    return True


def test_new_code_that_asks_for_the_device_is_doubtful() -> None:
    head = "from vllm.platforms import current_platform\n"
    target = head + BASE.replace("y = scale(x)", "y = scale(x) if current_platform.is_cuda() else x")
    _, proposal = one(head + BASE, head + BASE, target)
    assert proposal.state is State.DOUBTFUL
    assert any("current_platform.is_cuda" in reason for reason in proposal.reasons)

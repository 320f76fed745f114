"""When a finding is about a defect."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from ty import find_ty_bin

from evals.causes import TY, family_of_rule
from evals.matching import Standing, at_place, best, finds, same_symbol, standing, verdicts_for
from evals.schema import Defect
from tests.evals.samples import case, defect, record, row

DEFECT = Defect.model_validate(defect("x"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("C.run", "C.run", True),
        ("C", "C.run", True),
        ("C.run.inner", "C.run", True),
        ("C.runs", "C.run", False),
        ("run", "C.run", False),
        ("", "C.run", False),
        ("<module>", "<module>", False),
    ],
)
def test_symbols(one: str, other: str, same: bool) -> None:
    assert same_symbol(one, other) == same_symbol(other, one) == same


@pytest.mark.parametrize(
    ("over", "met"),
    [
        ({"line": 900}, True),
        ({"symbol": "D", "line": 43}, True),
        ({"symbol": "D", "line": 37}, True),
        ({"symbol": "D", "line": 44}, False),
        ({"path": "vllm_metax/b.py"}, False),
        ({"severity": "warning"}, True),
        ({"severity": "note"}, False),
    ],
)
def test_place(over: dict[str, object], met: bool) -> None:
    assert at_place(row(**over), DEFECT) is met  # type: ignore[arg-type]


def test_cause_must_match() -> None:
    assert finds(row("CAL001"), DEFECT)
    assert not finds(row("DRF001"), DEFECT)
    assert at_place(row("DRF001"), DEFECT)
    other = Defect.model_validate(defect("x", cause="other"))
    assert finds(row("DRF001"), other)


def test_module_level_is_met_by_lines_only() -> None:
    module = Defect.model_validate(defect("x", symbol="<module>", line=3))
    assert not at_place(row(symbol="", line=90), module)
    assert at_place(row(symbol="", line=1), module)


def test_standing() -> None:
    changed = record(changes={"vllm_metax/a.py": ("D.go",)})
    known = [DEFECT]
    assert standing(row(), changed, known) is Standing.DEFECT
    edited, left = row(symbol="D.go", line=90), row(symbol="E", line=99)
    assert standing(edited, changed, known) is Standing.CHANGED
    assert standing(left, changed, known) is Standing.OPEN
    assert standing(left, changed, known, {left.id: "confirmed"}) is Standing.CONFIRMED
    # A person's verdict wins over what the history suggests.
    assert standing(edited, changed, known, {edited.id: "false"}) is Standing.FALSE
    assert best([Standing.OPEN, Standing.CHANGED]) is Standing.CHANGED
    assert best([Standing.DEFECT, Standing.FALSE]) is Standing.FALSE
    assert [s for s in Standing if not s.good] == [Standing.FALSE, Standing.OPEN]


def test_verdict_files(tmp_path: Path) -> None:
    judged = {
        "plugin": "owner/plugin@abc",
        "base": "vllm==1.0",
        "target": "vllm==2.0",
        "verdicts": [{"id": "F1", "verdict": "false", "reason": "r"}],
    }
    (tmp_path / "v.json").write_text(json.dumps(judged), encoding="utf-8")
    assert verdicts_for(case(), "2.0", tmp_path) == {"F1": "false"}
    assert verdicts_for(case(), "2.1", tmp_path) == {}
    assert verdicts_for(case(plugin="owner/other"), "2.0", tmp_path) == {}


def test_families_of_type_checkers() -> None:
    known = subprocess.run(
        [find_ty_bin(), "explain", "rule"], capture_output=True, text=True, check=True
    ).stdout
    # A rule that the pinned version does not know would silently weaken the baseline.
    assert set(TY) <= {line[2:] for line in known.splitlines() if line.startswith("# ")}
    assert family_of_rule("missing-argument", "No argument for x", TY) == "CAL"
    assert family_of_rule("deprecated", "x is deprecated", TY) == ""
    assert family_of_rule("reportAttributeAccessIssue", '"x" is unknown import symbol', {}) == "IMP"

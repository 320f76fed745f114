"""Figures from synthetic records."""

from __future__ import annotations

import json
from pathlib import Path

from evals.compare import compare, regressions
from evals.matching import Standing
from evals.metrics import PRODUCT, defect_results, error_results, score
from evals.plots import recall_curve
from evals.records import RangeAudit, ReviewRecord, ToolRun
from evals.replay import Outcome
from evals.report import markdown, write_results
from evals.results import Results, load_results, recorded, results_of
from evals.schema import Case
from evals.statistics import pooled
from tests.evals.samples import case, defect, needs, outcomes, record, row

CASE = case(
    defect("found"),
    defect("other-cause", symbol="D", line=90, cause="enum"),
    defect("missed", symbol="E", line=200, static="partly", stage="upgrade"),
)
START = record(
    row("CAL001"),
    needs=needs(work=("C.run",), no_edit=("A", "B"), changed=("B", "C", "C.run", "C.stop")),
)
LATER = record(
    row("CAL001"),
    row("CAL002", symbol="D", line=90),
    row("IMP001", symbol="edited", line=300),
    row("IMP001", symbol="left", line=400),
    row("IMP001", symbol="w", line=500, severity="warning"),
    row("IMP001", symbol="n", line=600, severity="note"),
    changes={"vllm_metax/a.py": ("edited",)},
    baselines={"ty": ToolRun(rows=(row("CAL001", id=""),)), "pyright": ToolRun(reason="no npm")},
)


def results(found: list[Outcome], tools: tuple[str, ...] = ("ty", "pyright"), code: str = "code") -> Results:
    return results_of(found, tools, made="2026-12-01", command="eval run", code=code, not_run={"x": "y"})


def ran(*records: ReviewRecord | None, of: Case = CASE) -> list[Outcome]:
    return outcomes(of, *records)


def test_recall() -> None:
    found = score(ran(START, LATER))
    assert str(found.recall["all"]).startswith("1/3 33%")
    assert (found.recall_at_place["all"].hits, found.recall_at_place["all"].of) == (2, 3)
    assert (found.recall["followup yes"].hits, found.recall["followup yes"].of) == (1, 2)
    assert found.recall["upgrade partly"].hits == 0
    assert found.recall["cause signature-call"].of == 2
    by = {d.id: d.by for d in defect_results(ran(START, LATER), PRODUCT)}
    assert by == {"found": ("CAL001",), "other-cause": (), "missed": ()}


def test_errors_count_once_a_case() -> None:
    standings = {e.symbol: e.standing for e in error_results(ran(START, LATER), PRODUCT)}
    assert standings == {
        "C.run": Standing.DEFECT,
        "D": Standing.OPEN,
        "edited": Standing.CHANGED,
        "left": Standing.OPEN,
    }
    found = score(ran(START, LATER))
    assert (found.precision.hits, found.precision.of) == (2, 4)
    assert (found.precision_judged.hits, found.precision_judged.of) == (2, 2)
    assert (found.load.errors, found.load.warnings, found.load.notes) == (2.5, 0.5, 0.5)
    assert found.chance == 0.2


def test_changes() -> None:
    found = score(ran(START, LATER))
    # The class C changed with its members, which are what counts: B, C.run, C.stop.
    assert found.change_recall is not None
    assert found.no_edit is not None
    assert (found.change_recall.hits, found.change_recall.of) == (1, 3)
    assert (found.no_edit.hits, found.no_edit.of) == (1, 2)


def test_changes_that_have_to_do_with_upstream_and_the_audit() -> None:
    found = score(ran(START, LATER))
    # C.stop is matched with nothing upstream: B (said to need no edit) and C.run count.
    assert found.change_recall_known is not None
    assert (found.change_recall_known.hits, found.change_recall_known.of) == (1, 2)
    assert found.change_recall_audited is not None
    assert found.change_recall_audited.of == 0
    assert (found.commits, found.dispositions) == (0, 0)
    audit = RangeAudit(commits=5, dispositions=4, seconds=1.0, needs={"vllm_metax/a.py": ("B", "C.stop")})
    audited = score(ran(START.model_copy(update={"audit": audit}), LATER))
    assert audited.change_recall_audited is not None
    assert (audited.change_recall_audited.hits, audited.change_recall_audited.of) == (3, 3)
    assert (audited.commits, audited.dispositions) == (5, 4)
    assert "| upstream commits with a disposition | 4/5 |" in markdown(
        results(ran(START.model_copy(update={"audit": audit}), LATER), ())
    )


def test_baselines_and_what_did_not_run() -> None:
    said = results(ran(START, LATER))
    assert set(said.scores) == {PRODUCT, "ty"}
    assert said.not_run == {"pyright": "no npm", "x": "y"}
    assert said.scores["ty"].recall["all"].hits == 1
    assert said.cases[0].state == "run"
    assert said.complete
    lost = results(ran(START, None))
    assert (lost.cases[0].state, lost.cases[0].reasons) == ("partly", ("no clone",))
    assert not lost.complete
    none = results(ran(None, None))
    assert none.cases[0].state == "not run"
    assert none.not_run["ty"] == "no review ran"


def test_intervals_are_the_same_every_time_and_hold_the_share() -> None:
    trials = {"a": [True] * 9 + [False], "b": [False] * 5, "c": [True, False]}
    one = pooled(trials)
    assert one == pooled(trials)
    assert one.low is not None
    assert one.high is not None
    assert one.low < (one.value or 0) < one.high
    assert pooled({}).value is None
    assert str(pooled({"a": []})) == "–"
    single = pooled({"a": [True, True, False, True]})
    assert single.low is not None


def test_recall_curve_reads_errors_first() -> None:
    late = record(row("IMP001", symbol="x", line=900, severity="note"), row("CAL001"))
    assert recall_curve(ran(record(), late), PRODUCT) == [(0.0, 0.0), (1.0, 1 / 3)]


def test_written_and_scored_again(tmp_path: Path) -> None:
    found = ran(START, LATER)
    said = results(found)
    write_results(said, found, tmp_path)
    assert load_results(tmp_path) == said
    folder = tmp_path / "cases" / "one"
    listed = {
        name: [r["id"] for r in json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))]
        for name in ("found", "missed", "unconfirmed")
    }
    assert listed["found"] == ["found"]
    assert listed["missed"] == ["other-cause", "missed"]
    assert len(listed["unconfirmed"]) == 2
    plot = (tmp_path / "recall.svg").read_text(encoding="utf-8")
    assert "known defects met" in plot
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "| follow-ups, static yes | 1/2 50%" in text
    assert "- pyright: no npm" in text
    assert recorded(said, [CASE], tmp_path) == found


def test_nothing_at_all_is_written_too(tmp_path: Path) -> None:
    found = ran(None, None)
    write_results(results(found), found, tmp_path)
    assert "no clone" in markdown(load_results(tmp_path))
    again = recorded(load_results(tmp_path), [CASE], tmp_path)
    assert [(o.record, o.reason) for o in again] == [(None, "no clone")] * 2


def test_compare() -> None:
    old = results(ran(START, LATER))
    assert compare(old, old) == []
    better = record(*LATER.findings[:3], row("IMP001", symbol="new", line=700), row("CAL001", symbol="E"))
    new = results(ran(START, better))
    lines = compare(old, new)
    assert any(line.startswith("product: recall, all: 1/3") for line in lines)
    assert "one: now found: missed" in lines
    assert any("new error (unconfirmed): IMP001" in line for line in lines)
    assert any("error gone (unconfirmed): IMP001" in line for line in lines)
    assert not regressions(old, new)
    assert regressions(new, old)
    assert "one: run -> not run no clone" in compare(old, results(ran(None, None)))

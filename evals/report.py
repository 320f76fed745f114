"""Writes what an evaluation found: ``results.json``, ``results.md``, ``merges.md``, plots, and one folder a case."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from evals.matching import Standing, finds
from evals.merging import merge_tables
from evals.metrics import Score
from evals.plots import NAMES as PLOTS
from evals.plots import CannotPlot, write_plots
from evals.replay import Outcome
from evals.results import NAME, CaseResult, Results

MISSED = Path(__file__).parent / "missed.json"
"""Case -> defect -> why the checks do not find it, as a person judged."""
_GROUPS = {
    "followup yes": "follow-ups, static yes",
    "followup partly": "follow-ups, static partly",
    "followup no": "follow-ups, static no",
    "followup": "follow-ups, all",
    "upgrade": "repaired by the upgrade itself",
    "all": "all defects",
}


def write_results(results: Results, outcomes: Sequence[Outcome], out: Path) -> Results:
    """Everything into ``out``; returns ``results``, with a word on plots where they could not be drawn."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        write_plots(outcomes, out)
    except CannotPlot as why:
        for name in PLOTS:
            (out / name).unlink(missing_ok=True)  # of an earlier run: no longer true
        results = results.model_copy(update={"not_run": {**results.not_run, "plots": str(why)}})
    (out / NAME).write_text(results.model_dump_json(indent=1) + "\n", encoding="utf-8")
    (out / "results.md").write_text(markdown(results), encoding="utf-8")
    for case in results.cases:
        _write_case(case, [o for o in outcomes if o.review.case.id == case.id], out / "cases" / case.id)
    measured = [
        (o.review.case.id, o.record.merging) for o in outcomes if o.record is not None and o.record.merging
    ]
    if measured:
        (out / "merges.md").write_text("\n".join(merge_tables(measured)) + "\n", encoding="utf-8")
    return results


def _write_case(case: CaseResult, outcomes: Sequence[Outcome], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {d.id for d in case.defects if d.found}
    rows: dict[str, list[dict[str, Any]]] = {"found": [], "missed": []}
    for outcome in outcomes:
        if outcome.record is None:
            continue
        name = outcome.review.name
        (folder / f"{name}.json").write_text(outcome.record.model_dump_json() + "\n", encoding="utf-8")
        for defect in outcome.review.defects:
            row = {"review": name, **defect.model_dump(mode="json", exclude={"target"})}
            row["by"] = [f.id for f in outcome.record.findings if finds(f, defect)]
            rows["found" if defect.id in found else "missed"].append(row)
    waiting = [e.model_dump(mode="json") for e in case.errors if e.standing is Standing.OPEN]
    for name, content in {**rows, "unconfirmed": waiting}.items():
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def markdown(results: Results) -> str:
    """The tables, product and baselines side by side."""
    tools = list(results.scores)
    scores = list(results.scores.values())
    lines = [
        "# Replay of past upgrades",
        "",
        f"{results.made}, code {results.code[:12]}, `{results.command}`. Shares come with 95% bootstrap intervals "
        "over cases.",
        "",
        "## Defect recall",
        "",
        "Found: an error or warning at the defect's symbol or within 3 lines, of a check whose subject is the "
        "defect's cause.",
        "",
        *_table(["defects", *tools], _recall(scores, "recall", _GROUPS)),
        "",
        "The same without asking for the cause:",
        "",
        *_table(["defects", *tools], _recall(scores, "recall_at_place", _GROUPS)),
        "",
        "By cause:",
        "",
        *_table(["cause", *tools], _recall(scores, "recall", _causes(scores))),
        "",
        "## Errors and warnings",
        "",
        *_table(["", *tools], _loads(scores)),
        "",
        "Precision: distinct errors that are a known defect, judged true, or at a symbol that the maintainers "
        "changed before the upgrade settled. At random: what an error at any symbol would score.",
        "",
        "## Symbols",
        "",
        *_table(["", *tools], _changes(scores)),
        "",
        "## Cases",
        "",
        *_table(
            ["case", "state", "reviews", "defects found", "errors", "precision", "why not run"],
            [_case_row(c) for c in results.cases],
        ),
        "",
        "## Not run",
        "",
        *[f"- {name}: {reason}" for name, reason in results.not_run.items()],
        "",
        "## Missed",
        "",
        *_missed(results.cases),
    ]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [_line(head), "|---" * len(head) + "|", *(_line(r) for r in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|") for c in cells) + " |"


def _recall(scores: Sequence[Score], field: str, groups: dict[str, str]) -> list[list[str]]:
    return [
        [shown, *(str(getattr(s, field)[name]) if name in getattr(s, field) else "–" for s in scores)]
        for name, shown in groups.items()
    ]


def _causes(scores: Sequence[Score]) -> dict[str, str]:
    names = sorted({n for s in scores for n in s.recall if n.startswith("cause ")})
    return {n: n.removeprefix("cause ") for n in names}


def _loads(scores: Sequence[Score]) -> list[list[str]]:
    return [
        ["reviews", *(str(s.reviews) for s in scores)],
        ["errors a review", *(f"{s.load.errors:.1f}" for s in scores)],
        ["warnings a review", *(f"{s.load.warnings:.1f}" for s in scores)],
        ["error precision", *(str(s.precision) for s in scores)],
        ["unconfirmed left out", *(str(s.precision_judged) for s in scores)],
        ["at random", *("–" if s.chance is None else f"{s.chance:.0%}" for s in scores)],
        *[
            [f"errors: {standing}", *(str(s.standings.get(standing, 0)) for s in scores)]
            for standing in Standing
            if any(s.standings.get(standing) for s in scores)
        ],
        ["seconds, median", *(_number(s.wall_median) for s in scores)],
        ["seconds, longest", *(_number(s.wall_max) for s in scores)],
        ["peak memory, MiB", *(_number(s.peak_mib) for s in scores)],
    ]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _changes(scores: Sequence[Score]) -> list[list[str]]:
    return [
        ["changed symbols marked as needing work", *(str(s.change_recall or "–") for s in scores)],
        [
            "of those with an upstream symbol or a finding",
            *(str(s.change_recall_known or "–") for s in scores),
        ],
        ["the same, with the audit of commits", *(str(s.change_recall_audited or "–") for s in scores)],
        ["'needs no edit' left alone", *(str(s.no_edit or "–") for s in scores)],
        ["upstream commits with a disposition", *(_commits(s) for s in scores)],
    ]


def _commits(score: Score) -> str:
    return f"{score.dispositions}/{score.commits}" if score.commits else "–"


def _case_row(case: CaseResult) -> list[str]:
    product = case.scores.get("product")
    all_found = product.recall.get("all") if product else None
    return [
        case.id,
        case.state,
        f"{case.reviews - case.missing}/{case.reviews}",
        f"{all_found.hits}/{all_found.of}" if all_found else "–",
        str(len(case.errors)),
        f"{product.precision.value:.0%}" if product and product.precision.value is not None else "–",
        "; ".join(case.reasons),
    ]


def _missed(cases: Iterable[CaseResult]) -> list[str]:
    why = json.loads(MISSED.read_text(encoding="utf-8"))
    rows = [
        [
            case.id,
            d.id,
            d.stage,
            d.static,
            d.cause,
            "yes" if d.at_place else "",
            why.get(case.id, {}).get(d.id, ""),
        ]
        for case in cases
        for d in case.defects
        if not d.found
    ]
    return _table(
        ["case", "defect", "stage", "static", "cause", "reported for another cause", "why missed"], rows
    )

"""Everything that one evaluation says, as ``results.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evals.metrics import PRODUCT, DefectResult, ErrorResult, Score, defect_results, error_results, score
from evals.records import ReviewRecord
from evals.replay import Outcome
from evals.repos import reviews_of
from evals.schema import Case
from tools.findings import Frozen

FORMAT = "1.0"
NAME = "results.json"


class CaseResult(Frozen):
    """One case. ``state`` is ``run``, ``partly``, ``failed`` or ``not run``."""

    id: str
    state: str
    reasons: tuple[str, ...]
    """Why reviews are missing, each reason once."""
    reviews: int
    missing: int
    scores: dict[str, Score]
    defects: tuple[DefectResult, ...]
    errors: tuple[ErrorResult, ...]


class Results(Frozen):
    """All cases, and pooled."""

    format: str
    made: str
    """Date, UTC."""
    command: str
    code: str
    """Digest of the code under evaluation."""
    scores: dict[str, Score]
    not_run: dict[str, str]
    """Tools and metrics without figures -> the reason."""
    cases: tuple[CaseResult, ...]

    @property
    def complete(self) -> bool:
        """Whether every review of every case ran."""
        return all(c.state == "run" for c in self.cases)


def results_of(
    outcomes: Sequence[Outcome],
    tools: Sequence[str],
    *,
    made: str,
    command: str,
    code: str,
    not_run: Mapping[str, str],
) -> Results:
    """Score ``outcomes`` for the product and ``tools``."""
    by_case: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_case.setdefault(outcome.review.case.id, []).append(outcome)
    missing = {tool: reason for tool in tools if (reason := _absent(outcomes, tool))}
    shown = (PRODUCT, *(tool for tool in tools if tool not in missing))
    return Results(
        format=FORMAT,
        made=made,
        command=command,
        code=code,
        scores={tool: score(outcomes, tool) for tool in shown},
        not_run={**missing, **not_run},
        cases=tuple(_case(case, found, shown) for case, found in by_case.items()),
    )


def _absent(outcomes: Sequence[Outcome], tool: str) -> str:
    """Why ``tool`` ran nowhere, or ''."""
    runs = [o.record.baselines.get(tool) for o in outcomes if o.record is not None]
    if any(run is not None and not run.reason for run in runs):
        return ""
    return next((run.reason for run in runs if run is not None), "no review ran")


def _case(case: str, outcomes: Sequence[Outcome], tools: Sequence[str]) -> CaseResult:
    lost = [o for o in outcomes if o.record is None]
    state = "run"
    if lost:
        some = len(lost) < len(outcomes)
        state = "partly" if some else "failed" if any(o.failed for o in lost) else "not run"
    return CaseResult(
        id=case,
        state=state,
        reasons=tuple(dict.fromkeys(o.reason for o in lost)),
        reviews=len(outcomes),
        missing=len(lost),
        scores={tool: score(outcomes, tool) for tool in tools},
        defects=tuple(defect_results(outcomes, PRODUCT)),
        errors=tuple(error_results(outcomes, PRODUCT)),
    )


def load_results(place: Path) -> Results:
    """From a folder that ``eval run`` filled, or from its ``results.json``."""
    return Results.model_validate_json((place / NAME if place.is_dir() else place).read_bytes())


def recorded(results: Results, cases: Sequence[Case], folder: Path) -> list[Outcome]:
    """What the run that filled ``folder`` recorded of ``cases``."""
    reasons = {c.id: c for c in results.cases}
    outcomes = []
    for case in cases:
        for review in reviews_of(case):
            place = folder / "cases" / case.id / f"{review.name}.json"
            if place.exists():
                outcomes.append(Outcome(review, ReviewRecord.model_validate_json(place.read_bytes())))
            else:
                was = reasons[case.id]
                reason = "; ".join(was.reasons) or "not in this run"
                outcomes.append(Outcome(review, None, reason, failed=was.state == "failed"))
    return outcomes

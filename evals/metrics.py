"""From records of reviews to figures, for the product and each baseline alike."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from evals.baselines import SLOW
from evals.matching import Standing, at_place, best, finds, standing, verdicts_for
from evals.records import ReviewRecord, Row
from evals.replay import Outcome
from evals.schema import Case, Defect
from evals.statistics import Share, pooled
from tools.findings import Frozen

PRODUCT = "product"


class DefectResult(Frozen):
    """What became of one known defect."""

    case: str
    id: str
    stage: str
    static: str
    cause: str
    at_place: bool
    found: bool
    by: tuple[str, ...]
    """Checks (or rules) that found it."""


class ErrorResult(Frozen):
    """One error that was reported, once a case however many of its reviews repeat it."""

    case: str
    id: str
    check: str
    path: str
    line: int
    symbol: str
    message: str
    standing: Standing


class Load(Frozen):
    """How much there is to read, on average over reviews."""

    errors: float
    warnings: float
    notes: float


class Score(Frozen):
    """All figures of one tool over some cases."""

    reviews: int
    recall: dict[str, Share]
    """By group: ``all``, stage, ``static``, both, and ``cause …``; with the condition that the cause matches."""
    recall_at_place: dict[str, Share]
    """The same without that condition."""
    load: Load
    precision: Share
    precision_judged: Share
    """Unconfirmed errors left out."""
    chance: float | None
    """Share of all symbols that the maintainers changed: what an error at a random symbol would score."""
    standings: dict[str, int]
    change_recall: Share | None = None
    change_recall_known: Share | None = None
    """The same among symbols that the report matched with an upstream symbol or has a finding for."""
    change_recall_audited: Share | None = None
    """As before, where the audit of upstream's commits speaks too; only cases where it ran."""
    no_edit: Share | None = None
    """Symbols said to need no edit that were left alone."""
    commits: int | None = None
    """In the ranges that were audited."""
    dispositions: int | None = None
    """Of those, commits with an answer."""
    wall_median: float | None = None
    wall_max: float | None = None
    peak_mib: float | None = None


def rows_of(record: ReviewRecord, tool: str) -> tuple[Row, ...] | None:
    """What ``tool`` said in this review; None when it did not run."""
    if tool == PRODUCT:
        return record.findings
    run = record.baselines.get(tool)
    return None if run is None or run.reason else run.rows


def defect_results(outcomes: Iterable[Outcome], tool: str) -> list[DefectResult]:
    """Of every defect whose review ran."""
    results = []
    for outcome in outcomes:
        rows = rows_of(outcome.record, tool) if outcome.record else None
        if rows is None:
            continue
        for defect in outcome.review.defects:
            by = sorted({r.check or r.message.partition(":")[0] for r in rows if finds(r, defect)})
            results.append(
                DefectResult(
                    case=outcome.review.case.id,
                    id=defect.id,
                    stage=defect.stage,
                    static=defect.static,
                    cause=defect.cause,
                    at_place=any(at_place(r, defect) for r in rows),
                    found=bool(by),
                    by=tuple(by),
                )
            )
    return results


def error_results(outcomes: Iterable[Outcome], tool: str) -> list[ErrorResult]:
    """Every distinct error of every case."""
    seen: dict[tuple[str, str, str], list[tuple[Row, Standing]]] = defaultdict(list)
    for outcome in outcomes:
        rows = rows_of(outcome.record, tool) if outcome.record else None
        if rows is None:
            continue
        assert outcome.record is not None
        review = outcome.review
        defects = _defects_against(review.case, review.target.release)
        verdicts = verdicts_for(review.case, review.target.release) if tool == PRODUCT else None
        for row in rows:
            if row.severity == "error":
                key = row.id or f"{row.path} {' '.join(row.symbols)} {row.message}"
                how = standing(row, outcome.record, defects, verdicts)
                seen[review.case.id, review.target.release, key].append((row, how))
    return [
        ErrorResult(
            case=case,
            id=key,
            check=found[0][0].check,
            path=found[0][0].path,
            line=found[0][0].line,
            symbol=found[0][0].resolved,
            message=found[0][0].message,
            standing=best(s for _, s in found),
        )
        for (case, _, key), found in seen.items()
    ]


def _defects_against(case: Case, release: str) -> list[Defect]:
    """All of the case, whichever commit they are listed at: an earlier review reports them too."""
    return [d for d in case.defects if d.target.release == release]


def score(outcomes: Sequence[Outcome], tool: str = PRODUCT) -> Score:
    """Figures of ``tool`` over ``outcomes``."""
    ran = [o for o in outcomes if o.record is not None and rows_of(o.record, tool) is not None]
    records = [o.record for o in ran if o.record is not None]
    defects, errors = defect_results(ran, tool), error_results(ran, tool)
    judged = [e for e in errors if e.standing is not Standing.OPEN]
    walls, peaks = _walls(records, tool), [r.peak_mib for r in records]
    product = tool == PRODUCT
    return Score(
        reviews=len(ran),
        recall=_groups(defects, lambda d: d.found),
        recall_at_place=_groups(defects, lambda d: d.at_place),
        load=_load(records, tool),
        precision=pooled(_by_case((e.case, e.standing.good) for e in errors)),
        precision_judged=pooled(_by_case((e.case, e.standing.good) for e in judged)),
        chance=_chance(records),
        standings={str(s): n for s in Standing if (n := sum(e.standing is s for e in errors))},
        change_recall=pooled(_by_case(_marked(ran))) if product else None,
        change_recall_known=pooled(_by_case(_marked(ran, known=True))) if product else None,
        change_recall_audited=pooled(_by_case(_marked(ran, known=True, audited=True))) if product else None,
        no_edit=pooled(_by_case(_left_alone(ran))) if product else None,
        commits=sum(r.audit.commits for r in records if r.audit) if product else None,
        dispositions=sum(r.audit.dispositions for r in records if r.audit) if product else None,
        wall_median=round(statistics.median(walls), 1) if walls else None,
        wall_max=max(walls, default=None),
        peak_mib=max(peaks, default=None) if product else None,
    )


def _walls(records: Iterable[ReviewRecord], tool: str) -> list[float]:
    if tool == PRODUCT:
        return [r.wall for r in records]
    # Its rows were computed while the checks ran, so that reading them again takes no time of its own.
    return [r.baselines[tool].wall for r in records] if tool in SLOW else []


def _by_case(trials: Iterable[tuple[str, bool]]) -> dict[str, list[bool]]:
    grouped: dict[str, list[bool]] = defaultdict(list)
    for case, hit in trials:
        grouped[case].append(hit)
    return grouped


def _groups(results: Sequence[DefectResult], hit: Callable[[DefectResult], bool]) -> dict[str, Share]:
    groups: dict[str, list[DefectResult]] = defaultdict(list)
    for r in results:
        names = ("all", r.stage, r.static, f"{r.stage} {r.static}", f"cause {r.cause}")
        for name in names:
            groups[name].append(r)
    return {
        name: pooled(_by_case((r.case, hit(r)) for r in groups[name]))
        for name in sorted(groups, key=lambda n: (n.startswith("cause"), n))
    }


def _load(records: Sequence[ReviewRecord], tool: str) -> Load:
    counts = dict.fromkeys(("error", "warning", "note"), 0)
    for record in records:
        for row in rows_of(record, tool) or ():
            counts[row.severity] += 1
    number = max(len(records), 1)
    return Load(
        errors=round(counts["error"] / number, 1),
        warnings=round(counts["warning"] / number, 1),
        notes=round(counts["note"] / number, 1),
    )


def _chance(records: Sequence[ReviewRecord]) -> float | None:
    symbols = sum(r.symbols for r in records)
    changed = sum(r.symbols_changed for r in records)
    return round(changed / symbols, 3) if symbols else None


def _marked(
    outcomes: Iterable[Outcome], *, known: bool = False, audited: bool = False
) -> Iterable[tuple[str, bool]]:
    """For each symbol that the maintainers changed: whether the report had marked it as needing work."""
    for outcome in outcomes:
        record = outcome.record
        if record is None or record.needs is None or (audited and record.audit is None):
            continue
        needs, audit = record.needs, record.audit
        for path, symbols in needs.changed.items():
            marked = set(needs.work.get(path, ()))
            if audited and audit is not None:
                marked |= set(audit.needs.get(path, ()))
            matched = marked | set(needs.no_edit.get(path, ()))
            for symbol in _innermost(symbols):
                if not known or symbol in matched:
                    yield outcome.review.case.id, symbol in marked


def _left_alone(outcomes: Iterable[Outcome]) -> Iterable[tuple[str, bool]]:
    for outcome in outcomes:
        needs = outcome.record.needs if outcome.record else None
        if needs is None:
            continue
        for path, symbols in needs.no_edit.items():
            touched = set(needs.changed.get(path, ()))
            for symbol in symbols:
                yield outcome.review.case.id, symbol not in touched


def _innermost(symbols: Sequence[str]) -> list[str]:
    """A class changes with any of its members; only the members are counted then."""
    outer = {s.rpartition(".")[0] for s in symbols if "." in s}
    return [s for s in symbols if s not in outer]

"""What changed between two sets of results, case by case."""

from __future__ import annotations

from evals.metrics import PRODUCT, Score
from evals.results import CaseResult, Results


def compare(old: Results, new: Results) -> list[str]:
    """Lines for a person; none when nothing changed."""
    lines = []
    for tool in dict.fromkeys([*old.scores, *new.scores]):
        was, now = old.scores.get(tool), new.scores.get(tool)
        told = _scores(was, now)
        lines += [f"{tool}: {t}" for t in told]
    before, after = {c.id: c for c in old.cases}, {c.id: c for c in new.cases}
    for case in dict.fromkeys([*before, *after]):
        if case not in before or case not in after:
            lines.append(f"{case}: only in the {'second' if case not in before else 'first'}")
            continue
        lines += [f"{case}: {t}" for t in _case(before[case], after[case])]
    return lines


def _scores(was: Score | None, now: Score | None) -> list[str]:
    if was is None or now is None:
        return [f"only in the {'second' if was is None else 'first'}"]
    out = []
    for name in dict.fromkeys([*was.recall, *now.recall]):
        one, two = was.recall.get(name), now.recall.get(name)
        if one != two:
            out.append(f"recall, {name}: {one or '–'} -> {two or '–'}")
    if was.precision != now.precision:
        out.append(f"error precision: {was.precision} -> {now.precision}")
    if was.load != now.load:
        out.append(
            f"errors a review {was.load.errors:.1f} -> {now.load.errors:.1f}, "
            f"warnings {was.load.warnings:.1f} -> {now.load.warnings:.1f}"
        )
    if was.change_recall != now.change_recall:
        out.append(f"change recall: {was.change_recall} -> {now.change_recall}")
    return out


def _case(was: CaseResult, now: CaseResult) -> list[str]:
    out = []
    if was.state != now.state:
        out.append(f"{was.state} -> {now.state} {'; '.join(now.reasons)}".rstrip())
    found, before = ({d.id for d in c.defects if d.found} for c in (now, was))
    known, known_before = ({d.id for d in c.defects} for c in (now, was))
    out += [f"now found: {d}" for d in sorted((found - before) & known_before)]
    out += [f"no longer found: {d}" for d in sorted((before - found) & known)]
    errors, errors_before = ({e.id: e for e in c.errors} for c in (now, was))
    for key in sorted(errors.keys() - errors_before.keys()):
        error = errors[key]
        out.append(f"new error ({error.standing}): {error.check} {error.path}:{error.line} {error.symbol}")
    for key in sorted(errors_before.keys() - errors.keys()):
        error = errors_before[key]
        out.append(f"error gone ({error.standing}): {error.check} {error.path}:{error.line} {error.symbol}")
    return out


def regressions(old: Results, new: Results) -> bool:
    """Whether the product finds less than it did."""
    was = {(c.id, d.id) for c in old.cases for d in c.defects if d.found}
    now = {(c.id, d.id) for c in new.cases for d in c.defects if d.found}
    return PRODUCT in new.scores and bool(was - now)

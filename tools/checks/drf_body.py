"""A copied function that lacks what upstream changed in the original.

The plugin carries a copy of an upstream function, for a class of its own or patched over the original. Between
base and target upstream changed the original; the copy still has the statements that were replaced, or lacks the
ones that were added next to statements it kept. A three-way comparison leaves out what the plugin rewrote itself.

Example: upstream's ``wake_up`` now ends with ``self.model_runner.post_kv_cache_wake_up()``; the plugin's patched
copy does not, and the KV scales stay as they were before sleep.

Cannot see: whether the change matters on this platform, and copies rewritten so far that no statement is left.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.checks.drf_common import Drift, drifts_of, shown, sureness
from tools.compare.counterparts import How
from tools.compare.statements import Act
from tools.findings import Decision, Severity

ID = "DRF001"
TITLE = "Copied function behind its original"
SEVERITY = Severity.WARNING

_MOST = 40
"""Warnings. What ranks lower is a note: nobody reads hundreds."""
_NOTICED = 3
"""Weight from which a change is a warning: something is returned, stored, raised or called."""
_CONSEQUENCES = {
    Act.RETURN: "returns what the target's callers no longer expect",
    Act.STORE: "leaves unset or stale what the target may read",
    Act.REFUSE: "accepts what upstream now refuses",
    Act.DEFAULT: "runs with the old default",
    Act.CALL: "leaves out a step that upstream now takes",
    Act.BRANCH: "decides by the old condition",
    Act.ASSIGN: "computes it the old way",
}


def run(context: Context) -> Iterable[Result]:
    drifts = [d for d in drifts_of(context) if not (d.refuses_only and d.row.how is How.PATCH)]
    ranked = sorted(drifts, key=lambda d: (-_score(d), d.row.symbol.id))
    for place, drift in enumerate(ranked):
        noticed = _score(drift) >= _NOTICED and place < _MOST
        yield _report(context, drift, Severity.WARNING if noticed else Severity.NOTE)


def _score(drift: Drift) -> int:
    here = [lag for lag in drift.lags if not lag.elsewhere]
    if not here:
        return 0
    return max(lag.weight for lag in here) + (1 if drift.row.how is How.PATCH else 0)


def _report(context: Context, drift: Drift, severity: Severity) -> Result:
    first = max(drift.lags, key=lambda lag: (not lag.elsewhere, lag.weight))
    added = tuple(s for lag in drift.lags for s in lag.added)
    removed = tuple(s for lag in drift.lags for s in lag.removed)
    parts = []
    if added:
        parts.append(f"it lacks {shown(added)}")
    if removed:
        parts.append(f"it still has {shown(removed, 2)}")
    siblings = f" (copies of it: {drift.copies}, lagging: {drift.lagging})" if drift.copies > 1 else ""
    relation = "replaces" if drift.row.how is How.PATCH else "copies"
    acts = [s.act for s in (*first.added, *first.removed)]
    act = min(acts, key=list(_CONSEQUENCES).index)
    target = drift.target
    now = context.world.function_record(target)
    cite = context.cite(context.upstream, target.module, first.added[0].line) if first.added else None
    assert context.before is not None
    old = context.before.cite_definition(drift.base)
    return context.finding(
        ID,
        module=drift.row.symbol.module,
        line=min(lag.at for lag in drift.lags),
        symbol=drift.row.symbol.qualname,
        key=target.id,
        severity=severity,
        certainty=sureness(drift),
        message=f"`{drift.row.symbol.qualname}` {relation} `{target.id}`, which changed since "
        f"{context.version('base')}: {'; '.join(parts)}{siblings}",
        trigger=f"`{drift.row.symbol.qualname}` runs",
        consequence="the copy overflows or loses precision where upstream now computes in a wider type"
        if first.widened
        else f"the copy {_CONSEQUENCES[act]}",
        suggestion=f"merge the change of `{target.id}`"
        + (f" (lines {now.line} to {now.end_line} in {context.version('target')})" if now is not None else "")
        + ", or say beside the copy why it does not apply",
        evidence=[cite or context.cite_definition(target), old if cite is None else None],
        decision=Decision.UPDATE,
        cause=f"{target.id} body",
        silent=True,
    )

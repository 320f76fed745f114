"""A full copy patched over a function, without the checks that upstream added to it.

The plugin replaces a whole function. The target's original refuses input that it used to accept; the replacement,
copied from an older version, does not. Wrong input is no longer stopped where upstream stops it.

Example: the target's ``load_weights`` starts with ``if scale.dim() != 2: raise ValueError``; the patched copy
loads a scale of the wrong shape.

Cannot see: checks moved into functions that both call.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.checks.drf_common import Drift, drifts_of, shown, sureness
from tools.compare.counterparts import How
from tools.findings import Severity

ID = "PAT006"
TITLE = "Patched copy without upstream's newer validation"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    for drift in drifts_of(context):
        if drift.row.how is How.PATCH and drift.refuses_only:
            yield _report(context, drift)


def _report(context: Context, drift: Drift) -> Result:
    added = tuple(s for lag in drift.lags for s in lag.added)
    elsewhere = all(lag.elsewhere for lag in drift.lags)
    return context.finding(
        ID,
        module=drift.row.symbol.module,
        line=min(lag.at for lag in drift.lags),
        symbol=drift.row.symbol.qualname,
        key=drift.target.id,
        severity=Severity.NOTE if elsewhere else Severity.WARNING,
        certainty=sureness(drift),
        message=f"`{drift.row.symbol.qualname}` replaces `{drift.target.id}` without the checks that "
        f"{context.version('target')} added: {shown(added)}",
        trigger="input that upstream now refuses",
        consequence="it is accepted, and fails later or gives wrong results",
        suggestion=f"take the checks over from `{drift.target.id}`",
        evidence=[context.cite(context.upstream, drift.target.module, added[0].line)],
        cause=f"{drift.target.id} body",
        silent=True,
    )

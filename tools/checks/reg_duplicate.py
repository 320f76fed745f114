"""One key is registered twice, so that the second raises or one of the two is never used.

Custom ops and torch ops refuse a key they already hold; quantization configs, models, attention backends and
tables keep the last that runs. Both happen when an upgrade splits or re-copies modules, and when upstream takes
an op of the plugin's in tree: two definitions of one torch op in one library end the process.

Example: the plugin defines ``vllm::fused_scale``; upstream now defines an op of that name too, and the module
that does so is imported by the plugin's own.

Cannot see: ops that compiled extensions define.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.findings import Attribution, Certainty, Severity
from tools.registry.closure import imported_with
from tools.registry.effective import FIRST_WINS, rivals
from tools.registry.lookups import lookups_of
from tools.registry.outcomes import How
from tools.registry.sites import LINEAR_KERNEL, TORCH_OP, Registration, registrations
from tools.registry.startup import startup_of

ID = "REG006"
TITLE = "Two registrations of one key"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Registrations against each other in the order of the start, then torch ops against upstream's."""
    for (kind, key), found in sorted(rivals(context).items()):
        winner = found.winner
        if winner is None or kind == LINEAR_KERNEL:
            continue
        for loser in found.executed:
            if loser is not winner and _value(loser) != _value(winner) and _both(context, loser, winner):
                yield _rival(context, key, loser, winner)
    if not any(p.attribute == "direct_register_custom_op" for p in context.patches):
        for item in registrations(context):
            site = lookups_of(context).torch_ops.get(item.key) if item.kind == TORCH_OP else None
            if site is not None and startup_of(context).reached(item.module, item.line).how is not How.NEVER:
                yield _in_tree(context, item, site)


def _value(item: Registration) -> str:
    return item.path.replace(":", ".") or (item.value.id.replace(":", ".") if item.value is not None else "?")


def _both(context: Context, one: Registration, other: Registration) -> bool:
    """Neither stands under a condition: two branches of one ``if`` are no rivals."""
    reached = [startup_of(context).reached(r.module, r.line) for r in (one, other)]
    return all(r.how in (How.ALWAYS, How.HOOK) and not r.guard for r in reached)


def _rival(context: Context, key: str, loser: Registration, winner: Registration) -> Result:
    raises = loser.kind in FIRST_WINS
    place = f"{context.plugin.paths[winner.module]}:{winner.line}"
    error = "RuntimeError" if loser.kind == TORCH_OP else "AssertionError: Duplicate op name"
    return context.finding(
        ID,
        module=loser.module,
        line=loser.line,
        symbol=loser.symbol,
        key=f"{loser.kind} {key}",
        severity=Severity.ERROR if raises else Severity.WARNING,
        certainty=Certainty.CERTAIN,
        message=f"{loser.kind} {key!r} is also registered at {place}"
        + (", which runs first" if raises else ", which runs later and wins"),
        trigger="start of every process",
        consequence=error if raises else f"{_value(loser)} is never used, and nothing is raised",
        suggestion="Keep one of the two registrations.",
        evidence=[context.cite(context.plugin, winner.module, winner.line)],
        cause=f"{loser.kind} {key}",
        silent=not raises,
        attribution=Attribution.EXISTING,
    )


def _in_tree(context: Context, item: Registration, site: tuple[str, int]) -> Result:
    module, line = site
    reached = startup_of(context).reached(item.module, item.line)
    # Whether a definition that stands under a condition runs is not known here.
    lines = (context.plugin.lines(item.module)[item.line - 1], context.upstream.lines(module)[line - 1])
    guarded = bool(reached.guard) or any(text[:1].isspace() for text in lines)
    together = not guarded and module in imported_with(context.world, [item.module])
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"in tree {item.key}",
        severity=Severity.ERROR if together else Severity.WARNING,
        certainty=Certainty.CERTAIN if together else Certainty.POSSIBLE,
        message=f"{context.version(context.role)} registers torch op {item.key!r} in tree ({module}:{line})",
        trigger="start of every process"
        if together and reached.how is How.ALWAYS
        else "as soon as both modules are imported in one process",
        consequence="RuntimeError: an operator with this name is already registered",
        suggestion="Give the plugin's op a name of its own, or use upstream's op and drop this registration.",
        evidence=[context.cite(context.upstream, module, line)],
        cause=f"torch op {item.key}",
    )

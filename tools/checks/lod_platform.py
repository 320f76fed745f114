"""The platform plugin cannot be loaded, so upstream runs on another platform.

Upstream asks every platform entry point in a ``try`` that drops all exceptions. An import that fails while the
entry point is loaded or called is therefore no error: the plugin counts as not installed, and the process goes
on with a built-in platform or with none. Where upstream imports the class that the entry point names, it does
not catch anything.

Example: ``register()`` imports a module that upstream removed. ``vllm serve`` starts, and fails much later with
``Failed to infer device type`` or runs on the CPU; the ImportError is never printed.

Cannot see: errors of other kinds than imports, such as a driver library that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.world import Kind
from tools.findings import Certainty, Severity
from tools.registry.entry_points import PLATFORM_GROUP
from tools.registry.outcomes import Outcome
from tools.registry.reaching import chain_text
from tools.registry.startup import startup_of

ID = "LOD001"
TITLE = "Platform plugin that cannot be loaded"
SEVERITY = Severity.ERROR

_STAGES = {
    "load": "the module of the entry point cannot be imported",
    "call": "the entry point function raises",
    "class": "the module of the platform class cannot be imported",
}


def run(context: Context) -> Iterable[Result]:
    """Follows the platform entry points through a simulated start."""
    for outcome in startup_of(context).actual.outcomes:
        if outcome.entry.kind == PLATFORM_GROUP and outcome.fault is not None:
            yield _finding(context, outcome)


def _finding(context: Context, outcome: Outcome) -> Result:
    startup, entry, fault = startup_of(context), outcome.entry, outcome.fault
    assert fault is not None
    found = context.world.path(f"{entry.module}.{entry.attribute}")
    record = context.world.function_record(found) if found.kind is Kind.FUNCTION else None
    module = found.module if record is not None else fault.module
    place = startup.loader.place(outcome.stage, entry.kind)
    chain = next((c for f, c in startup.actual.execution.raised if f == fault), ())
    swallowed = place.caught
    return context.finding(
        ID,
        module=module,
        line=record.line if record is not None else fault.line,
        symbol=found.qualname if record is not None else "",
        key=entry.target,
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
        message=f"{_STAGES[outcome.stage]}: {fault.reason} "
        f"({context.plugin.paths[fault.module]}:{fault.line}; {chain_text(context, chain)})",
        trigger="import of the upstream package, in every process",
        consequence=startup.loader.effect(outcome.stage, entry.kind),
        suggestion="Repair the import first: everything else is decided by which platform is in force."
        + (" To see the error, call the entry point by hand." if swallowed else ""),
        evidence=[
            context.cite(context.plugin, fault.module, fault.line),
            context.cite(context.upstream, place.module, place.line) if place.module else None,
        ],
        cause=f"platform plugin {entry.target}",
        silent=swallowed and not place.logged,
    )

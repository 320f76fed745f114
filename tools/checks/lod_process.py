"""Something is registered only in the process that builds the configuration.

Upstream runs general plugins in every process, but ``pre_register_and_update`` and ``check_and_update_config``
of the platform only where arguments are parsed and the configuration is built. Workers are started with the
finished configuration. What only those hooks register is missing there: the class that a worker constructs is
upstream's, and nothing is logged.

Example: ``check_and_update_config`` imports the module that registers the custom ops; the workers construct the
in-tree layers.

Cannot see: registrations behind names that are looked up at run time. Torch ops are left out,
since the module that calls one usually defines it too, and quantization configs, since workers are sent theirs.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.findings import Attribution, Certainty, Severity
from tools.registry.outcomes import How, Reached
from tools.registry.platforms import PARENT_ONLY
from tools.registry.reaching import chain_text
from tools.registry.sites import (
    CUSTOM_OP,
    LINEAR_KERNEL,
    MODEL,
    Registration,
    registrations,
)
from tools.registry.startup import startup_of

ID = "LOD003"
TITLE = "Registration that workers never run"
SEVERITY = Severity.WARNING

_KINDS = {
    CUSTOM_OP: "workers construct the in-tree layer",
    LINEAR_KERNEL: "workers select another kernel or find none",
    MODEL: "workers load upstream's model class",
}


def run(context: Context) -> Iterable[Result]:
    """Judges registrations that a start reaches through the platform's hooks alone."""
    startup = startup_of(context)
    for item in registrations(context):
        if item.kind not in _KINDS:
            continue
        reached = startup.reached(item.module, item.line)
        if reached.how is How.HOOK and reached.chain:
            hook = reached.chain[0].what.rpartition(".")[2]
            if hook in PARENT_ONLY:
                yield _finding(context, item, reached, hook)


def _finding(context: Context, item: Registration, reached: Reached, hook: str) -> Result:
    first = reached.chain[0]
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"{item.kind} {item.key}",
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=f"{item.label} is registered only by {hook}, which workers do not run "
        f"({chain_text(context, reached.chain)})",
        trigger="any run whose workers are processes of their own",
        consequence=_KINDS[item.kind] + ", and nothing is logged",
        suggestion="Register it from a general plugin, which upstream calls in every process.",
        evidence=[context.cite(context.plugin, first.module, first.line)],
        cause=f"registered by {hook}",
        silent=True,
        attribution=Attribution.EXISTING,
    )

"""An import of upstream that fails on the target.

The plugin imports a module or a name that the target does not have: moved, renamed, made private or removed.
Upstream re-exports nothing for its plugins, so this is the most frequent break of an upgrade. Unguarded at
module level it stops every statement after it, and with it every registration of the modules that import this
one; inside a function it raises when that function runs.

Example: the plugin has ``from vllm.utils import cdiv``; the target moved ``cdiv`` to ``vllm.utils.math_utils``
and left nothing behind. Start-up ends in ``ImportError: cannot import name 'cdiv'``.

Cannot see: modules and names that only a build creates (``_C``, ``_version``), names served by a ``__getattr__``
that computes them, and what lies in packages other than the two under review.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks._imports import BrokenImport, broken_imports
from tools.checks._places import reach_of
from tools.checks._successors import went
from tools.checks.base import Context, Result
from tools.findings import Certainty, Decision, Severity

ID = "IMP001"
TITLE = "Import of upstream that the target does not have"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for broken in broken_imports(context):
        if broken.internal or broken.swallowed_by is not None:
            continue
        if broken.undecided:
            yield context.unresolved(
                ID,
                module=broken.module,
                line=broken.imported.line,
                symbol=broken.symbol,
                reason="it does not exist, and stands under a test of the version that cannot be decided",
                subject=f"{broken.source}:{broken.name}" if broken.name else broken.source,
            )
        else:
            yield report(context, ID, broken)


def report(context: Context, check: str, broken: BrokenImport) -> Result:
    """The finding for an import that raises when it runs."""
    name = broken.name or broken.source
    replacement = went(context, broken.source, broken.name)
    where = context.version(context.role) if not broken.internal else "the plugin"
    if broken.module_missing:
        message = f"module `{broken.source}` does not exist in {where}" + (
            f" (`{broken.name}` is imported from it)" if broken.name else ""
        )
        raised = f"ModuleNotFoundError: No module named '{broken.missing.module}'"
    else:
        message = f"`{broken.source}` has no `{name}` in {where}"
        raised = f"ImportError: cannot import name '{name}' from '{broken.source}'"
    if replacement.text:
        message += f"; {replacement.text}"
    line, scope = broken.imported.line, broken.imported.scope
    reach = reach_of(context, broken.module, line, scope)
    return context.finding(
        check,
        module=broken.module,
        line=line,
        symbol=broken.symbol,
        key=f"{broken.source}:{broken.name}",
        severity=Severity.NOTE if broken.typing_only else Severity.ERROR,
        certainty=Certainty.CERTAIN,
        message=message,
        trigger="type checking only; nothing at run time" if broken.typing_only else reach.trigger,
        consequence="type checkers and readers are misled; nothing is raised"
        if broken.typing_only
        else f"{raised}{reach.consequence}",
        suggestion=replacement.suggestion,
        evidence=[context.cite_absence(context.upstream, broken.source), *replacement.evidence],
        decision=Decision.REMOVE if replacement.removed else Decision.UPDATE,
        cause=broken.cause,
        blast_radius=() if broken.typing_only else reach.lost,
    )

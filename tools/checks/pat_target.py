"""A patch whose target is not there.

The plugin replaces an attribute of upstream that the target no longer has. A decorator that looks its target
up raises while the plugin is being loaded. A plain assignment or ``setattr`` succeeds and creates an attribute
that nobody reads: the original runs, without a word.

Example: the plugin has ``eagle.prepare_kernel = prepare_kernel``; the target moved ``prepare_kernel`` and its
only reader to another module. The vendor's kernel is never launched again.

Cannot see: targets named by strings put together at run time, and attributes that only a build makes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.checks.pat_common import advice, applied, original, raises_when_missing
from tools.code.world import Kind
from tools.compare.patches import Patch, PatchKind
from tools.findings import Certainty, Decision, Severity

ID = "PAT001"
TITLE = "Patch of something that the target does not have"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for patch in context.patches:
        if _missing(context, patch):
            yield _report(context, patch)


def _missing(context: Context, patch: Patch) -> bool:
    found = original(context, patch)
    if found.kind is Kind.DYNAMIC and "." in patch.attribute and context.before is not None:
        # Bases that cannot be read might have it, but in base the readable ones did.
        was = original(context.before, patch)
        return was.kind in (Kind.FUNCTION, Kind.VALUE) and not _read_at_runtime(context, patch)
    if found.found:
        return False
    if not patch.allow_missing:
        return not _created_by_plugin(context, patch)
    # Missing is allowed, and it was always missing: the plugin adds something on purpose.
    return context.before is not None and original(context.before, patch).found


def _read_at_runtime(context: Context, patch: Patch) -> bool:
    """True when upstream still calls something of that name: an unreadable base may well define it."""
    owner = context.world.path(f"{patch.target_module}.{patch.attribute.rpartition('.')[0]}")
    return owner.kind is not Kind.CLASS or patch.attribute.rpartition(".")[2].startswith("__")


def _created_by_plugin(context: Context, patch: Patch) -> bool:
    """An assignment to what neither version has is an addition when somebody reads the name."""
    if patch.kind not in (PatchKind.ASSIGNMENT, PatchKind.SETATTR):
        return False
    if not context.world.module(patch.target_module).found:
        return False
    if context.before is not None and original(context.before, patch).found:
        return False
    read = f".{patch.attribute.rpartition('.')[2]}"
    for module in context.plugin.paths:
        for number, line in enumerate(context.plugin.lines(module), 1):
            if read in line and (module, number) != (patch.module, patch.line):
                return True
    return False


def _report(context: Context, patch: Patch) -> Result:
    told = advice(context, patch)
    module_gone = not context.world.module(patch.target_module).found
    loud = raises_when_missing(patch) or patch.kind is PatchKind.TABLE or module_gone
    runs = applied(context, patch.module)
    what = f"`{patch.target_module}`" if module_gone else f"`{patch.target}`"
    message = f"the {patch.kind} replaces `{patch.target}`, but {what} does not exist in "
    message += context.version(context.role)
    if told.text:
        message += f"; {told.text}"
    name = patch.attribute.rpartition(".")[2]
    if module_gone:
        consequence = f"ModuleNotFoundError: No module named '{patch.target_module}'"
    elif loud:
        consequence = f"AttributeError: {patch.target} does not exist"
    else:
        consequence = f"creates an attribute `{name}` that nothing reads; upstream's code runs unpatched"
    if loud:
        consequence += " when the plugin is loaded" if runs else f" if `{patch.module}` is ever imported"
    if module_gone and patch.kind is not PatchKind.DECORATOR:
        # The import that gave the name fails first, and is reported as such.
        severity = Severity.WARNING
    else:
        severity = Severity.ERROR if loud else Severity.WARNING
    never = context.before is not None and not original(context.before, patch).found
    if not runs or (never and not loud):
        severity = Severity.NOTE  # or written for yet another version: there in neither
    return context.finding(
        ID,
        module=patch.module,
        line=patch.line,
        symbol=patch.scope,
        key=patch.target,
        severity=severity,
        certainty=Certainty.CERTAIN if loud or context.before is not None else Certainty.LIKELY,
        message=message,
        trigger="every start with the plugin" if runs and loud else f"using `{name}`",
        consequence=consequence,
        suggestion=told.suggestion,
        evidence=[_absence(context, patch), told.cite],
        decision=Decision.UPDATE if told.cite else Decision.REMOVE,
        cause=told.cause,
        silent=not loud,
    )


def _absence(context: Context, patch: Patch) -> str | None:
    owner = patch.attribute.rpartition(".")[0]
    if owner:
        cls = context.world.path(f"{patch.target_module}.{owner}")
        if cls.kind is Kind.CLASS:
            return context.cite_definition(cls)
    return context.cite_absence(context.upstream, patch.target_module)

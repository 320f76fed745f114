"""A replacement that cannot take what upstream's callers pass.

The plugin puts its own function, method or Triton kernel in place of upstream's. The target's callers, changed
together with the original, pass an argument the replacement does not know, leave out one it requires, or pass by
position what now means something else. The first call raises, or values change places without a word.

Example: the target launches ``greedy_kernel[grid](..., SYNTHETIC_MODE=...)``; the plugin's kernel, patched in, has
no such parameter.

Cannot see: callers that unpack ``*args`` or ``**kwargs``, and callers outside both packages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks._callers import Callers, callers_of
from tools.checks._classes import Seat
from tools.checks.base import Context, Result
from tools.checks.pat_bound import loaded_before
from tools.checks.pat_common import OTHER_DEVICE, applied, original
from tools.checks.pat_fit import Fit, Misuse, describe, is_kernel, without_patch
from tools.code.records import Call, Function, ParamKind
from tools.code.signature import (
    is_property,
    keeps_signature,
    render,
    without_receiver,
)
from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch
from tools.findings import Certainty, Level, Severity

ID = "PAT002"
TITLE = "Replacement that upstream's callers do not fit"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for patch in context.patches:
        new, old = patch.replacement, original(context, patch)
        if new is None or new.kind is not Kind.FUNCTION or old.kind is not Kind.FUNCTION:
            continue
        ours, theirs = context.world.function_record(new), context.world.function_record(old)
        if ours is None or theirs is None or new.id == old.id or is_property(theirs):
            continue
        yield from _judged(context, patch, new, ours, old, theirs)


def _judged(
    context: Context, patch: Patch, new: Resolution, ours: Function, old: Resolution, theirs: Function
) -> Iterator[Result]:
    if not is_kernel(ours) and not keeps_signature(without_patch(context, ours)):
        return
    fit = Fit(ours, theirs)
    worst: Misuse | None = None
    shifted: Misuse | None = None
    count = 0
    for misuse in _misuses(context, patch, old, fit):
        if misuse.problems:
            count += 1
            if worst is None or misuse.certainty.rank < worst.certainty.rank:
                worst = misuse
        elif shifted is None:
            shifted = misuse
    if worst is not None:
        yield _report(context, patch, new, old, fit, worst, count)
    elif shifted is not None:
        yield _report_shift(context, patch, new, old, fit, shifted)
    elif not any(True for _ in _spelled(context, patch.attribute.rpartition(".")[2])):
        yield from _never_called_by_name(context, patch, new, old, fit)


def _never_called_by_name(
    context: Context, patch: Patch, new: Resolution, old: Resolution, fit: Fit
) -> Iterator[Result]:
    """Handed on as a value (``Process(target=…)``): what the original gained, its caller may well pass."""
    was = context.before.world.path(patch.target) if context.before is not None else None
    record = was and context.before and context.before.world.function_record(was)
    if not record or any(p.kind is ParamKind.VAR_KEYWORD for p in fit.taken):
        return
    known = {p.name for p in without_receiver(record)} | {p.name for p in fit.taken}
    gained = [p.name for p in fit.meant if p.name not in known]
    if not gained:
        return
    names = ", ".join(f"`{g}`" for g in gained)
    yield context.finding(
        ID,
        module=new.module,
        line=fit.ours.line,
        symbol=new.qualname,
        key=f"{patch.target}:gained",
        severity=Severity.WARNING if applied(context, patch.module) else Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        message=f"`{new.qualname}` replaces `{patch.target}`, which gained {names}; it is never called by name, "
        "so what its callers pass cannot be read",
        trigger=f"whoever is handed `{patch.target}` calls it",
        consequence=f"TypeError: unexpected keyword argument '{gained[0]}', if it is passed",
        suggestion=f"take over the target's signature {render(fit.meant)} and what the original does with it",
        evidence=[context.cite_definition(old)],
        level=Level.SIGNATURE,
        cause=f"{old.id} signature",
    )


def _misuses(context: Context, patch: Patch, old: Resolution, fit: Fit) -> Iterator[Misuse]:
    """Only calls that do not fit are followed to their receiver: that is the costly part."""
    name = patch.attribute.rpartition(".")[2]
    callers = callers_of(context)
    find = _method_calls if fit.theirs.in_class else _function_calls
    for module, call in _spelled(context, name):
        judged = fit.judge(call)
        if judged is None or OTHER_DEVICE.search(module) or not callers.runs(module, call):
            continue
        certainty = find(callers, patch, old, module, call)
        if certainty is not None:
            yield Misuse(module, call, certainty, *judged)


def _spelled(context: Context, name: str) -> Iterator[tuple[str, Call]]:
    """Calls and kernel launches of anything called ``name``, upstream's first."""
    for tree in (context.upstream, context.plugin):
        for spelled in (name, f"{name}?"):
            yield from tree.calls_by_name.get(spelled, ())


def _function_calls(
    callers: Callers, patch: Patch, old: Resolution, module: str, call: Call
) -> Certainty | None:
    """How surely a call of that name runs the replacement; None when it does not."""
    context, world = callers.context, callers.world
    callee = call.callee.removesuffix("?")
    if "?" in callee or world.name(module, call.scope, callee).id != old.id:
        return None
    owner, _, name = callee.rpartition(".")
    # A module that bound the original by name keeps it, unless it is patched there as well.
    here = world.name(module, call.scope, owner).module if owner else module
    if here == patch.target_module or f"{here}.{name}" in context.patched:
        return Certainty.CERTAIN
    if module in context.plugin.paths:
        return Certainty.LIKELY if owner else None
    if _imports_late(context, module, call, name):
        return Certainty.CERTAIN
    early = loaded_before(context, patch)
    return None if module in early else Certainty.LIKELY


def _imports_late(context: Context, module: str, call: Call, name: str) -> bool:
    """``from m import name`` inside the calling function finds what the patch put there."""
    local = context.upstream.namespace(module).local_imports.get(call.scope, ())
    return any(i.bound == name for i in local)


def _method_calls(
    callers: Callers, patch: Patch, old: Resolution, module: str, call: Call
) -> Certainty | None:
    world = callers.world
    name = patch.attribute.rpartition(".")[2]
    head, dot, _ = call.callee.rpartition(".")
    if not dot or head == "super()" or module in callers.context.plugin.paths:
        return None
    owner = Resolution(Kind.CLASS, old.module, old.qualname.rpartition(".")[0])
    cls, _, receiver = callers.enclosing(module, call.scope)
    if cls is not None and receiver and head == receiver and world.definer(cls, name) == owner:
        return Certainty.CERTAIN
    family = frozenset(c.id for c in world.mro(owner).classes)
    return callers.lands_on(Seat(owner, family, frozenset({owner.id}), True), name, module, call)


def _report(
    context: Context,
    patch: Patch,
    new: Resolution,
    old: Resolution,
    fit: Fit,
    worst: Misuse,
    count: int,
) -> Result:
    more = f" ({count} such calls)" if count > 1 else ""
    what = describe(worst.problems)
    return _finding(
        context,
        patch,
        new,
        old,
        fit,
        worst,
        key=patch.target,
        severity=Severity.ERROR,
        message=f"`{new.qualname}` replaces `{patch.target}`, but `{worst.module}` calls it as "
        f"{context.version(context.role)} defines it{more}: {what}",
        consequence=f"TypeError: {describe(worst.problems[:1])}",
        suggestion=f"take over the target's signature {render(fit.meant)} and what the original does with it; "
        f"the replacement has {render(fit.taken)}",
    )


def _report_shift(
    context: Context, patch: Patch, new: Resolution, old: Resolution, fit: Fit, shifted: Misuse
) -> Result:
    assert shifted.shift is not None
    meant, taken = shifted.shift
    return _finding(
        context,
        patch,
        new,
        old,
        fit,
        shifted,
        key=f"{patch.target}:order",
        severity=Severity.WARNING,
        message=f"`{new.qualname}` replaces `{patch.target}` with its parameters in another order: "
        f"`{shifted.module}` passes `{meant}` by position, and it arrives as `{taken}`",
        consequence="values change places; nothing is raised",
        suggestion="put the parameters in the order of the original",
    )


def _finding(
    context: Context,
    patch: Patch,
    new: Resolution,
    old: Resolution,
    fit: Fit,
    misuse: Misuse,
    *,
    key: str,
    severity: Severity,
    message: str,
    consequence: str,
    suggestion: str,
) -> Result:
    tree = context.world.tree(misuse.module)
    assert tree is not None
    return context.finding(
        ID,
        module=new.module,
        line=fit.ours.line,
        symbol=new.qualname,
        key=key,
        severity=severity if applied(context, patch.module) else Severity.NOTE,
        certainty=misuse.certainty,
        message=message,
        trigger=f"`{misuse.call.scope or misuse.module}` calls `{misuse.call.callee.removesuffix('?')}`",
        consequence=consequence,
        suggestion=suggestion,
        evidence=[context.cite(tree, misuse.module, misuse.call.line), context.cite_definition(old)],
        level=Level.SIGNATURE,
        cause=f"{old.id} signature",
        silent=severity is Severity.WARNING,
    )

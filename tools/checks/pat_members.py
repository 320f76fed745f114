"""A class replaced wholesale that lacks a member the target calls.

The plugin puts a class of its own in place of upstream's, by assignment or decorator, without deriving from it.
What upstream adds to its class afterwards is missing, and the target's callers use it.

Example: ``MCCLLibrary`` replaces ``NCCLLibrary``; the target's communicator calls ``self.nccl.ncclCommAbort(...)``,
which only upstream's class has.

Cannot see: members reached through ``getattr`` with a computed name, and classes whose bases lie in neither
package.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks._callers import Callers, callers_of
from tools.checks.base import Context, Result
from tools.checks.pat_common import OTHER_DEVICE, applied, original
from tools.code.records import Call
from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch
from tools.findings import Certainty, Severity

ID = "PAT003"
TITLE = "Replacing class lacks a member that the target calls"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    seen: set[tuple[str, str]] = set()
    for patch in context.patches:
        new, old = patch.replacement, original(context, patch)
        if new is None or new.kind is not Kind.CLASS or old.kind is not Kind.CLASS:
            continue
        if new.module not in context.plugin.paths or (new.id, old.id) in seen:
            continue
        seen.add((new.id, old.id))
        mro = context.world.mro(new)
        if mro.opaque or old in mro.classes:
            continue
        yield from _judged(context, patch, new, old)


def _judged(context: Context, patch: Patch, new: Resolution, old: Resolution) -> Iterable[Result]:
    world = context.world
    callers = callers_of(context)
    missing = world.instance_attributes(old) - world.instance_attributes(new)
    lacking = []
    for name in sorted(missing):
        if name.startswith("__"):
            continue
        site = _site(context, callers, old, name)
        if site is not None:
            lacking.append((name, *site))
    if lacking:
        yield _report(context, patch, new, old, lacking)


def _site(
    context: Context, callers: Callers, old: Resolution, name: str
) -> tuple[str, Call, Certainty] | None:
    """A call ``x.name(…)`` outside the original class whose receiver is the class, or can be nothing else."""
    tree = context.world.tree(old.module)
    assert tree is not None
    best: tuple[str, Call, Certainty] | None = None
    for module, call in context.upstream.calls_by_name.get(name, ()):
        head, dot, _ = call.callee.rpartition(".")
        if not dot or OTHER_DEVICE.search(module) or not callers.runs(module, call):
            continue
        if module == old.module and call.scope.startswith(f"{old.qualname}."):
            continue
        known = callers.receiver(module, call) if head != "super()" else None
        if known is not None and known.ref.id == old.id:
            return module, call, Certainty.CERTAIN
        if known is None and best is None and _only_here(callers, old, name) and _knows(context, module, old):
            best = module, call, Certainty.LIKELY
    return best


def _only_here(callers: Callers, old: Resolution, name: str) -> bool:
    """True when no other class of upstream defines a method of that name."""
    return all(owner.id == old.id for owner, _ in callers.definers(name))


def _knows(context: Context, module: str, old: Resolution) -> bool:
    """True when ``module`` names the class."""
    return module == old.module or context.world.member(module, old.qualname).id == old.id


def _report(
    context: Context,
    patch: Patch,
    new: Resolution,
    old: Resolution,
    lacking: list[tuple[str, str, Call, Certainty]],
) -> Result:
    record = context.world.class_record(new)
    assert record is not None
    name, module, call, certainty = min(lacking, key=lambda x: (x[3].rank, x[0]))
    names = ", ".join(f"`{entry[0]}`" for entry in lacking)
    return context.finding(
        ID,
        module=new.module,
        line=record.line,
        symbol=new.qualname,
        key=f"{old.id}:{','.join(entry[0] for entry in lacking)}",
        severity=Severity.ERROR if applied(context, patch.module) else Severity.NOTE,
        certainty=certainty,
        message=f"`{new.qualname}` replaces `{patch.target}` but has no {names}, which "
        f"{context.version(context.role)} calls",
        trigger=f"`{call.scope or module}` in `{module}` calls `{call.callee}`",
        consequence=f"AttributeError: '{new.qualname}' object has no attribute '{name}'",
        suggestion=f"add {names} as `{old.id}` has them, or derive from it",
        evidence=[
            context.cite(context.upstream, module, call.line),
            *(context.cite_definition(m) for m in _members(context, old, lacking)),
        ],
        cause=f"{old.id} members",
    )


def _members(
    context: Context, old: Resolution, lacking: list[tuple[str, str, Call, Certainty]]
) -> list[Resolution]:
    found = [context.world.class_member(old, entry[0]) for entry in lacking[:3]]
    return [f for f in found if f is not None]

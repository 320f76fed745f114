"""An override that nothing in the target calls any more.

The plugin overrides a hook; upstream removed the hook, or stopped calling it. The override stays, looks alive,
and never runs, so what it did for this platform is silently not done.

Example: ``MyBuilder.reorder_batch`` sorts decodes before prefills; the target's runner no longer calls
``reorder_batch`` on builders, and reads a threshold instead.

Cannot see: calls by a name put together at run time.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks._classes import Override, classes_of
from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Decision, Severity

ID = "OVR004"
TITLE = "An override that the target no longer calls"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    """Findings for overrides that base called and the target does not."""
    if context.before is None:
        return
    now = {(o.owner.id, o.name): o for o in classes_of(context).overrides}
    for old in classes_of(context.before).overrides:
        name = old.name
        if name.startswith("__") or _mentioned(context, name):
            continue
        called = context.before.upstream.calls_by_name.get(name, ())
        called = tuple((m, c) for m, c in called if "." in c.callee and not c.callee.startswith("super()"))
        kept = (old.owner.id, name) in now
        if (kept and not called) or not _base_remains(context, old):
            continue
        where = context.version(context.role)
        gone = "no longer calls it anywhere" if kept else "has no such method, and calls none of that name"
        yield context.finding(
            ID,
            module=old.owner.module,
            line=old.function.line,
            symbol=old.symbol,
            key=name,
            severity=Severity.WARNING if called and not kept else Severity.NOTE,
            certainty=Certainty.LIKELY,
            decision=Decision.MIGRATE if called else Decision.REMOVE,
            silent=True,
            message=f"`{old.symbol}` overrides `{old.upstream_owner.qualname}.{name}`, but {where} {gone}",
            trigger="every run: the override is never reached",
            consequence="what the override did for this platform is silently not done",
            suggestion=f"find what took the place of `{name}` in {where} and move the difference there, or remove it",
            evidence=[
                context.before.cite(context.before.upstream, old.upstream_owner.module, old.upstream.line),
                *(context.before.cite(context.before.upstream, m, c.line) for m, c in called[:2]),
                context.cite_definition(Resolution(Kind.CLASS, *_split(old.root.id))),
            ],
            cause=f"{old.root.id}.{name} no longer called",
        )


def _split(identity: str) -> tuple[str, str]:
    module, _, qualname = identity.partition(":")
    return module, qualname


def _base_remains(context: Context, old: Override) -> bool:
    """Is the class whose method was overridden still a readable base in the target?"""
    mro = context.world.mro(old.seat.cls).classes
    if any(c.kind in (Kind.MISSING, Kind.DYNAMIC, Kind.GENERATED) for c in mro):
        return False
    return any(c.id == old.root.id for c in mro)


def _mentioned(context: Context, name: str) -> bool:
    """Called, or read from self, in the target or the plugin."""
    for tree in (context.upstream, context.plugin):
        for _, call in tree.calls_by_name.get(name, ()):
            if call.callee != f"super().{name}":
                return True
    return name in _reads(context)


def _reads(context: Context) -> frozenset[str]:
    key = f"ovr:reads:{context.role}"
    found = context.shared.get(key)
    if not isinstance(found, frozenset):
        found = context.shared[key] = frozenset(
            attribute
            for tree in (context.upstream, context.plugin)
            for record in tree.modules.values()
            for function in record.functions
            for attribute, _ in function.self_reads
        )
    return found

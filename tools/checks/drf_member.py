"""A copied class lacks a method that its original gained and the target calls.

The plugin's class was copied from an upstream class and derives from something else, so what upstream adds to
the original does not come with it. The target's callers find nothing, or the default of an abstract base.

Example: ``AttentionBackend.supports_batch_invariance`` returns False by default; upstream's backend overrides it
with True. The plugin's copy derives from ``AttentionBackend`` alone and is refused.

Cannot see: methods reached by a computed name, and originals that the copy no longer resembles in name.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks._callers import callers_of
from tools.checks.base import Context, Result
from tools.checks.drf_common import counterparts_of
from tools.checks.pat_common import OTHER_DEVICE
from tools.code.records import Call, Function
from tools.code.world import Kind, Resolution
from tools.compare.bodies import words
from tools.compare.counterparts import Counterpart, How
from tools.findings import Certainty, Severity

ID = "DRF003"
TITLE = "Copied class lacks a method that its original gained"
SEVERITY = Severity.WARNING


_GENERIC = {
    *("clone", "close", "contiguous", "cpu", "detach", "forward", "join", "reset", "run", "send", "start"),
    *("stop", "to", "view", "wait", "write"),
    *dir(dict) + dir(list) + dir(str) + dir(set),
}
"""Methods that objects outside both packages have too."""


_HOOK = 3
"""Words in the name of a method that callers probe for, whatever the class."""


def run(context: Context) -> Iterable[Result]:
    counterparts = counterparts_of(context)
    if counterparts is None:
        return
    for row in counterparts.rows:
        if row.symbol.kind is not Kind.CLASS or row.how is How.SUBCLASS:
            continue
        if row.target is None or row.base is None or row.target.kind is not Kind.CLASS:
            continue
        if row.target in context.world.mro(row.symbol).classes:
            continue
        yield from _class(context, row, row.base, row.target)


def _class(context: Context, row: Counterpart, base: Resolution, target: Resolution) -> Iterable[Result]:
    assert context.before is not None
    before = context.before.upstream.namespace(base.module).methods.get(base.qualname, {})
    now = context.upstream.namespace(target.module).methods.get(target.qualname, {})
    record = context.world.class_record(row.symbol)
    opaque = context.world.mro(row.symbol).opaque
    for name, function in now.items():
        if name in before or name.startswith("__") or record is None:
            continue
        have = context.world.class_member(row.symbol, name)
        if have is not None and context.world.tree(have.module) is context.plugin:
            continue
        inherited = context.before.world.class_member(base, name)
        if inherited is not None and have is not None and have.id == inherited.id and function.is_stub:
            continue
        call = _caller(context, target, name)
        if call is None or (have is None and opaque):
            continue
        yield _report(context, row, target, name, function, have, call)


def _caller(context: Context, target: Resolution, name: str) -> tuple[str, Call] | None:
    """A call of ``name`` outside the original class and its module's own helpers."""
    for module, call in (
        context.upstream.calls_by_name.get(name, ()) if _kin_only(context, target, name) else ()
    ):
        head, dot, _ = call.callee.rpartition(".")
        if not dot or head in ("self", "cls", "super()") or OTHER_DEVICE.search(module):
            continue
        if module == target.module and call.scope.startswith(f"{target.qualname}."):
            continue
        return module, call
    # Inherited callers reach it through self.
    for owner in context.world.mro(target).classes[1:]:
        tree = context.world.tree(owner.module)
        if tree is None or owner.kind is not Kind.CLASS or owner.module not in tree.paths:
            continue
        for call in tree.calls(owner.module):
            if call.callee in (f"self.{name}", f"cls.{name}") and call.scope.startswith(f"{owner.qualname}."):
                return owner.module, call
    return None


def _kin_only(context: Context, target: Resolution, name: str) -> bool:
    """True when every class of upstream that defines ``name`` is of the family: other receivers are not meant.

    A name of three words is a hook: models and backends share such without sharing a base.
    """
    if name in _GENERIC:
        return False
    if len(words(name)) >= _HOOK:
        return True
    family = {c.id for c in context.world.mro(target).classes}
    for owner, _ in callers_of(context).definers(name):
        if not any(c.id in family for c in context.world.mro(owner).classes):
            return False
    return True


def _report(
    context: Context,
    row: Counterpart,
    target: Resolution,
    name: str,
    function: Function,
    have: Resolution | None,
    site: tuple[str, Call],
) -> Result:
    module, call = site
    record = context.world.class_record(row.symbol)
    assert record is not None
    answer = f"`{have.id}` answers instead" if have is not None else "there is none"
    return context.finding(
        ID,
        module=row.symbol.module,
        line=record.line,
        symbol=row.symbol.qualname,
        key=f"member:{name}",
        severity=Severity.WARNING,
        certainty=max(row.certainty, Certainty.LIKELY, key=lambda c: c.rank),
        message=f"`{row.symbol.qualname}` copies `{target.id}`, which gained `{name}`; the copy does not define it: "
        f"{answer}",
        trigger=f"`{call.scope or module}` in `{module}` calls `{call.callee}`",
        consequence="the default answers, and the class is refused or treated as the plainest"
        if have is not None
        else f"AttributeError: '{row.symbol.qualname}' object has no attribute '{name}', or the hook is skipped",
        suggestion=f"define `{name}` as `{target.id}` does (line {function.line}), as far as the hardware allows",
        evidence=[
            context.cite(context.upstream, target.module, function.line, function.end_line),
            context.cite(context.upstream, module, call.line),
        ],
        cause=f"{target.id} members",
        silent=have is not None,
    )

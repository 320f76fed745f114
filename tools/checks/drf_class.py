"""A copied class whose original gained a base, or changed an attribute that the copy repeats.

Class bodies are copied with their lists of supported dtypes, block sizes and flags, and with the bases they had.
When upstream adds a mixin or changes such a list, the copy keeps the old one, and whoever asks the class gets the
old answer.

Example: upstream's ``TritonExperts`` gained ``LoRAExpertsMixin``; the plugin's copy derives from the old base
alone, and serving a LoRA stops at ``assert kernel.supports_lora()``.

Cannot see: attributes set elsewhere than in the class body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks.base import Context, Result
from tools.checks.drf_common import counterparts_of
from tools.code.records import Assign, Class
from tools.code.world import Kind, Resolution
from tools.compare.counterparts import Counterpart, How
from tools.findings import Certainty, Severity

ID = "DRF002"
TITLE = "Copied class lacks a base or keeps an old attribute"
SEVERITY = Severity.WARNING

_DULL = frozenset({"logger", "__slots__", "__doc__", "__all__"})


def run(context: Context) -> Iterable[Result]:
    counterparts = counterparts_of(context)
    if counterparts is None:
        return
    for row in counterparts.rows:
        if row.symbol.kind is Kind.CLASS and row.base is not None and row.target is not None:
            yield from _class(context, row, row.base, row.target)
    yield from _constants(context)


def _class(context: Context, row: Counterpart, base: Resolution, target: Resolution) -> Iterator[Result]:
    assert context.before is not None
    was, now = context.before.world.class_record(base), context.world.class_record(target)
    own = context.world.class_record(row.symbol)
    if was is None or now is None or own is None or was.text_hash == now.text_hash:
        return
    if target not in context.world.mro(row.symbol).classes:
        yield from _bases(context, row, own, base, target)
    for assign in own.assigns:
        change = _changed(assign, was.assigns, now.assigns)
        if change is not None:
            yield _attribute(context, row.symbol, row, assign, change, target)


def _bases(
    context: Context, row: Counterpart, own: Class, base: Resolution, target: Resolution
) -> Iterator[Result]:
    """Bases the original gained whose members the copy does not have in another way."""
    assert context.before is not None
    world = context.world
    old = {c.qualname.rpartition(".")[2] for c in context.before.world.mro(base).classes}
    mine = world.mro(row.symbol)
    same_file = row.symbol.module.rpartition(".")[2] == target.module.rpartition(".")[2]
    if (mine.opaque and row.how is How.SUBCLASS) or (row.how is How.NAME and not same_file):
        return
    have = {c.qualname.rpartition(".")[2] for c in mine.classes}
    for gained in world.bases(target):
        name = gained.qualname.rpartition(".")[2]
        if gained.kind is not Kind.CLASS or name in old or name in have:
            continue
        methods = context.upstream.namespace(gained.module).methods.get(gained.qualname, {})
        used = [m for m in methods if not m.startswith("__") and _called_from_outside(context, gained, m)]
        lost = [
            m for m in used if world.class_member(row.symbol, m) is None or _overrides(context, gained, m)
        ]
        if not lost:
            continue
        yield context.finding(
            ID,
            module=row.symbol.module,
            line=own.line,
            symbol=row.symbol.qualname,
            key=f"base:{gained.id}",
            severity=Severity.WARNING,
            certainty=max(row.certainty, Certainty.LIKELY, key=lambda c: c.rank),
            message=f"`{row.symbol.qualname}` copies `{target.id}`, which gained the base `{name}` with "
            + ", ".join(f"`{m}`" for m in lost[:4]),
            trigger=f"the target calls `{lost[0]}` on it",
            consequence=f"the copy has no `{name}`: AttributeError, or the default of another base answers",
            suggestion=f"add `{gained.module}.{name}` to the bases, in upstream's order",
            evidence=[context.cite_definition(target), context.cite_definition(gained)],
            cause=f"{target.id} bases",
            silent=True,
        )


def _called_from_outside(context: Context, gained: Resolution, name: str) -> bool:
    """What a mixin calls on itself is no loss to a copy that does it in its own way."""
    return any(
        module != gained.module and call.callee.rpartition(".")[0] not in ("self", "cls", "super()", "")
        for module, call in context.upstream.calls_by_name.get(name, ())
    )


def _overrides(context: Context, gained: Resolution, name: str) -> bool:
    """True when a mixin replaces the answer of another base."""
    function = context.upstream.namespace(gained.module).methods[gained.qualname][name]
    return name.startswith("supports_") and not function.is_stub


@dataclass(frozen=True, slots=True)
class _Change:
    """``line`` is in target. ``gained``: entries added upstream to a table of which the plugin keeps a part."""

    old: str
    new: str
    line: int
    gained: tuple[str, ...]


def _changed(own: Assign, was: tuple[Assign, ...], now: tuple[Assign, ...]) -> _Change | None:
    """What upstream did to a value that the plugin repeats, whole or in part."""
    if own.name in _DULL or not own.value or own.kind.startswith("call:init_logger"):
        return None
    old = [a for a in was if a.name == own.name]
    new = [a for a in now if a.name == own.name]
    if len(old) != 1 or len(new) != 1 or _plain(old[0].value) == _plain(new[0].value):
        return None
    gained: tuple[str, ...] = ()
    if _plain(own.value) != _plain(old[0].value):
        mine, before = frozenset(own.items), frozenset(old[0].items)
        if not mine or not mine < before or not own.kind == old[0].kind == new[0].kind:
            return None
        gained = tuple(sorted(frozenset(new[0].items) - before - mine))
        if not gained:
            return None
    return _Change(old[0].value, new[0].value, new[0].line, gained)


def _plain(value: str) -> str:
    return "".join(value.split()).replace("'", '"').replace(",]", "]").replace(",)", ")").replace(",}", "}")


def _attribute(
    context: Context,
    symbol: Resolution,
    row: Counterpart | None,
    own: Assign,
    change: _Change,
    target: Resolution,
) -> Result:
    certainty = row.certainty if row is not None else Certainty.LIKELY
    base, gained = context.version("base"), ", ".join(f"`{g}`" for g in change.gained)
    name = f"{symbol.qualname}.{own.name}" if symbol.qualname else own.name
    return context.finding(
        ID,
        module=symbol.module,
        line=own.line,
        symbol=symbol.qualname or own.name,
        key=f"attribute:{own.name}",
        severity=Severity.WARNING if own.kind in ("list", "tuple", "set", "dict") else Severity.NOTE,
        certainty=max(certainty, Certainty.LIKELY, key=lambda c: c.rank),
        message=f"`{target.id}` gained {gained} since {base}; `{name}` keeps a part of the old one"
        if change.gained
        else f"`{name}` still has the value that `{target.id}` had in {base}: "
        f"`{_short(change.old)}`; the target has `{_short(change.new)}`",
        trigger=f"whoever reads `{name}`",
        consequence="gets the old answer",
        suggestion=f"add {gained}, or say beside it why it is left out"
        if change.gained
        else f"take over `{_short(change.new)}`, or say beside it why the old value stays",
        evidence=[context.cite(context.upstream, target.module, change.line)],
        cause=f"{target.id} {own.name}",
        silent=True,
    )


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "…"


def _constants(context: Context) -> Iterator[Result]:
    """Module-level tables of a copied file that upstream changed."""
    counterparts = counterparts_of(context)
    assert counterparts is not None
    assert context.before is not None
    for module in sorted(context.plugin.modules):
        for other in counterparts.upstream_modules(module):
            if other not in context.before.upstream.modules or other not in context.upstream.modules:
                continue
            was, now = context.before.upstream.modules[other], context.upstream.modules[other]
            for assign in context.plugin.modules[module].assigns:
                change = _changed(assign, was.assigns, now.assigns)
                if change is not None:
                    found = Resolution(Kind.VALUE, other, assign.name)
                    yield _attribute(context, Resolution(Kind.MODULE, module), None, assign, change, found)
            break

"""What changed in an upstream symbol between base and target."""

from __future__ import annotations

from collections.abc import Iterator

from tools.code.records import Class, Function, Param, ParamKind
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.compare.counterparts import Counterpart, Counterparts
from tools.compare.patches import Patch
from tools.compare.statements import Act, statements
from tools.findings import Certainty, Frozen


class Delta(Frozen):
    """One kind of change, with what it concerns: ``parameter added``, ``block_size``."""

    kind: str
    detail: str = ""


class CounterpartRow(Frozen):
    """A plugin symbol with its counterpart and what became of it."""

    path: str
    line: int
    symbol: str
    base: str | None
    target: str | None
    how: str
    certainty: Certainty
    deltas: tuple[Delta, ...]


class CompareResult(Frozen):
    """What the comparison of the two upstream versions says about the plugin."""

    counterparts: tuple[CounterpartRow, ...]
    unchanged: tuple[str, ...]
    """Upstream symbols the plugin uses whose interface is the same in both."""


def compare_worlds(
    base: World, target: World, counterparts: Counterparts, patches: tuple[Patch, ...]
) -> CompareResult:
    """Deltas of all counterparts, and the symbols that did not change."""
    rows = []
    for row in counterparts.rows:
        record = _record(target.plugin, row.symbol)
        rows.append(
            CounterpartRow(
                path=target.plugin.paths[row.symbol.module],
                line=record.line if record is not None else 1,
                symbol=row.symbol.qualname,
                base=row.base.id if row.base else None,
                target=row.target.id if row.target else None,
                how=str(row.how),
                certainty=row.certainty,
                deltas=deltas_of(base, target, row),
            )
        )
    return CompareResult(counterparts=tuple(rows), unchanged=unchanged_symbols(base, target, patches))


def deltas_of(base: World, target: World, row: Counterpart) -> tuple[Delta, ...]:
    """Changes of the counterpart from base to target; () when it is the same."""
    if row.base is None or row.target is None:
        gone = row.target is None
        return (Delta(kind="removed" if gone else "added"),)
    out = []
    if row.base.module != row.target.module:
        out.append(Delta(kind="moved", detail=row.target.id))
    elif row.base.qualname != row.target.qualname:
        out.append(Delta(kind="renamed", detail=row.target.qualname))
    was, now = _record(base.upstream, row.base), _record(target.upstream, row.target)
    if was is None or now is None or was.text_hash == now.text_hash:
        return tuple(out)
    if isinstance(was, Function) and isinstance(now, Function):
        out += _function(base.upstream, row.base.module, was, target.upstream, row.target.module, now)
    elif isinstance(was, Class) and isinstance(now, Class):
        out += _class(was, now)
    return tuple(out)


def _record(tree: Tree, symbol: Resolution) -> Function | Class | None:
    space = tree.namespace(symbol.module)
    return space.classes.get(symbol.qualname) or space.functions.get(symbol.qualname)


def _function(
    base: Tree, was_in: str, was: Function, target: Tree, now_in: str, now: Function
) -> Iterator[Delta]:
    yield from parameters(was.params, now.params)
    if was.decorators != now.decorators:
        yield Delta(kind="decorators", detail=", ".join(now.decorators))
    old = [s.key for s in statements(base, was_in, was) if s.act is not Act.DEFAULT]
    if old != [s.key for s in statements(target, now_in, now) if s.act is not Act.DEFAULT]:
        yield Delta(kind="body")


def parameters(was: tuple[Param, ...], now: tuple[Param, ...]) -> Iterator[Delta]:
    """Added, removed, reordered parameters and changed defaults."""
    old, new = {p.name: p for p in was}, {p.name: p for p in now}
    for name, param in new.items():
        if name not in old:
            yield Delta(
                kind="parameter added" if not param.required else "required parameter added", detail=name
            )
        elif old[name].default != param.default:
            yield Delta(kind="default", detail=f"{name}: {old[name].default} -> {param.default}")
    for name in old:
        if name not in new:
            yield Delta(kind="parameter removed", detail=name)
    positional = (ParamKind.POSITIONAL_ONLY, ParamKind.POSITIONAL_OR_KEYWORD)
    first = [p.name for p in was if p.kind in positional and p.name in new]
    second = [p.name for p in now if p.kind in positional and p.name in old]
    if first != second or any(n in old and old[n].kind is not new[n].kind for n in new):
        yield Delta(kind="parameters reordered", detail=", ".join(second))


def _class(was: Class, now: Class) -> Iterator[Delta]:
    if was.bases != now.bases:
        yield Delta(kind="bases", detail=", ".join(now.bases))
    if was.decorators != now.decorators:
        yield Delta(kind="decorators", detail=", ".join(now.decorators))
    old, new = {a.name: a.value for a in was.assigns}, {a.name: a.value for a in now.assigns}
    for name in new:
        if name not in old:
            yield Delta(kind="attribute added", detail=name)
        elif old[name] != new[name]:
            yield Delta(kind="attribute", detail=name)
    for name in old:
        if name not in new:
            yield Delta(kind="attribute removed", detail=name)


# ---- what stayed the same ----


def unchanged_symbols(base: World, target: World, patches: tuple[Patch, ...]) -> tuple[str, ...]:
    """Upstream symbols that the plugin imports or patches whose interface is the same in both versions."""
    out = []
    for dotted in sorted(set(_used(target, patches))):
        was, now = base.path(dotted), target.path(dotted)
        if was.kind is now.kind and _same(base, was, target, now):
            out.append(dotted)
    return tuple(out)


def _used(target: World, patches: tuple[Patch, ...]) -> Iterator[str]:
    plugin = target.plugin
    for module in sorted(plugin.modules):
        for imported in plugin.modules[module].imports:
            source = plugin.absolute(module, imported)
            if target.tree(source) is target.upstream and imported.name not in ("", ".", "*"):
                yield f"{source}.{imported.name}"
    for patch in patches:
        yield patch.target


def _same(base: World, was: Resolution, target: World, now: Resolution) -> bool:
    """Equal interface: parameters of functions; bases and methods of classes; values as they are written."""
    old, new = _record(base.upstream, was), _record(target.upstream, now)
    if old is not None and new is not None and old.text_hash == new.text_hash:
        return was.id == now.id
    if isinstance(old, Function) and isinstance(new, Function):
        return old.params == new.params and old.returns == new.returns and old.decorators == new.decorators
    if isinstance(old, Class) and isinstance(new, Class):
        first = base.upstream.namespace(was.module).methods.get(was.qualname, {})
        second = target.upstream.namespace(now.module).methods.get(now.qualname, {})
        return (
            old.bases == new.bases
            and [(a.name, a.value, a.annotation) for a in old.assigns]
            == [(a.name, a.value, a.annotation) for a in new.assigns]
            and {n: f.params for n, f in first.items()} == {n: f.params for n, f in second.items()}
        )
    if was.kind is Kind.VALUE:
        one = base.upstream.namespace(was.module).names.get(was.qualname)
        two = target.upstream.namespace(now.module).names.get(now.qualname)
        return (
            one is not None
            and two is not None
            and [(a.value, a.annotation) for a in one.assigns]
            == [(a.value, a.annotation) for a in two.assigns]
        )
    return False

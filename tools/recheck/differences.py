"""The complete difference between the plugin's copies and target, each part of it accounted for or listed."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import StrEnum

from tools.checks.base import Context
from tools.checks.drf_common import counterparts_of
from tools.compare.counterparts import Counterpart, Counterparts, How
from tools.findings import Frozen
from tools.merge.text import Source, read_source
from tools.proposals.markers import covered, is_marker


class Account(StrEnum):
    """Why a difference may stay; UNACCOUNTED asks for a marker or an edit."""

    SAME = "same as target"
    MARKED = "every difference is marked"
    OVERRIDE = "registered, patched or derived: it is an override"
    OWN = "the plugin's alone: target has no counterpart"
    UNACCOUNTED = "unaccounted"


class Difference(Frozen):
    """One symbol of the plugin. ``lines`` are the unmarked lines of the plugin that differ, counted from 1."""

    path: str
    symbol: str
    counterpart: str
    account: Account
    lines: tuple[int, ...] = ()
    missing: int = 0
    """Lines of target that the plugin has not, unmarked."""


def differences(context: Context) -> list[Difference]:
    """One row for every function, method and class of the plugin, in the order of modules and lines."""
    counterparts = counterparts_of(context)
    assert counterparts is not None
    return list(_all(context, counterparts))


def _all(context: Context, counterparts: Counterparts) -> Iterator[Difference]:
    sources: dict[tuple[str, str], Source | None] = {}

    def source(role: str, module: str) -> Source | None:
        key = role, module
        if key not in sources:
            tree = context.plugin if role == "plugin" else context.upstream
            path = tree.paths.get(module)
            sources[key] = read_source(tree.snapshot.read(path)) if path is not None else None
        return sources[key]

    for module in sorted(context.plugin.modules):
        own = source("plugin", module)
        path = context.plugin.paths[module]
        if own is None:
            if context.plugin.snapshot.read(path).strip():
                yield Difference(path=path, symbol="", counterpart="", account=Account.UNACCOUNTED)
            continue
        meant = covered(own.lines, context.profile.markers)
        for name in own.spans:
            row = counterparts.by_symbol.get(f"{module}:{name}")
            yield _one(context, own, meant, path, name, row, counterparts, source)


def _one(
    context: Context,
    own: Source,
    meant: frozenset[int],
    path: str,
    name: str,
    row: Counterpart | None,
    counterparts: Counterparts,
    source: object,
) -> Difference:
    target = row.target if row is not None else None
    theirs = source("target", target.module) if target is not None else None  # type: ignore[operator]
    if row is None or target is None or theirs is None or target.qualname not in theirs.spans:
        return Difference(path=path, symbol=name, counterpart="", account=Account.OWN)
    mine, other = _own_lines(own, name), _own_lines(theirs, target.qualname)
    changed, missing = _compared(own, mine, theirs, other, meant, context, counterparts.names)
    if not changed and not missing:
        exact = _texts(own, mine) == _texts(theirs, other)
        account = Account.SAME if exact else Account.MARKED
    elif row.how in (How.PATCH, How.REGISTERED, How.SUBCLASS) or _overrides(context, row):
        account = Account.OVERRIDE
    else:
        account = Account.UNACCOUNTED
    unexplained = account is Account.UNACCOUNTED
    return Difference(
        path=path,
        symbol=name,
        counterpart=target.id,
        account=account,
        lines=tuple(n + 1 for n in changed) if unexplained else (),
        missing=missing if unexplained else 0,
    )


def _overrides(context: Context, row: Counterpart) -> bool:
    """Whether a method belongs to a class that inherits from the counterpart's: a difference is its purpose."""
    owner = row.symbol.qualname.rpartition(".")[0]
    if not owner or row.target is None:
        return False
    from tools.code.world import Kind, Resolution

    line = context.world.mro(Resolution(Kind.CLASS, row.symbol.module, owner)).classes[1:]
    theirs = f"{row.target.module}:{row.target.qualname.rpartition('.')[0]}"
    return any(c.id == theirs for c in line)


def _own_lines(source: Source, name: str) -> list[int]:
    """Indexes of the lines of a definition without those of its members: they are rows of their own."""
    first, end = source.spans[name]
    inner = [span for other, span in source.spans.items() if other.startswith(f"{name}.")]
    return [n for n in range(first, end) if not any(a <= n < b for a, b in inner)]


def _texts(source: Source, lines: list[int]) -> list[str]:
    return [source.lines[n].strip() for n in lines if _says(source.lines[n])]


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _compared(
    own: Source,
    mine: list[int],
    theirs: Source,
    other: list[int],
    meant: frozenset[int],
    context: Context,
    names: dict[str, str],
) -> tuple[list[int], int]:
    """Unmarked lines that only the plugin has, and how many of target it lacks away from its markers."""
    left = [n for n in mine if _says(own.lines[n])]
    right = [n for n in other if _says(theirs.lines[n])]
    one = [_plain(own.lines[n], names) for n in left]
    two = [_plain(theirs.lines[n], {}) for n in right]
    changed: list[int] = []
    missing = 0
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        lines = left[i1:i2]
        around = [left[i] for i in (i1 - 1, i1, i2) if 0 <= i < len(left)]
        beside = any(n in meant for n in (*lines, *around)) or any(
            is_marker(own.lines[n], context.profile.markers) for n in _between(around)
        )
        changed += [n for n in lines if n not in meant and not (beside and j1 == j2)]
        if not beside:
            missing += j2 - j1
    return changed, missing


def _between(lines: list[int]) -> range:
    return range(min(lines), max(lines) + 1) if lines else range(0)


def _plain(line: str, names: dict[str, str]) -> str:
    text = "".join(line.split()).rstrip(",").replace("'", '"')
    for mine, upstream in names.items():
        if mine in text:
            text = text.replace(mine, upstream)
    return text

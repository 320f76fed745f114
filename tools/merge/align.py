"""Which elements of two lists are the same element, changed or not."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

import libcst as cst

from tools.merge.nodes import Keys

_ALIKE = 0.55
"""Share of common words from which two statements are one, changed."""
_MOST = 60_000
"""Pairs that are compared in one gap; beyond that its elements count as replaced."""


def align(left: Sequence[Any], right: Sequence[Any], keys: Keys) -> dict[int, int]:
    """Index in ``left`` -> index in ``right``, each once, in rising order except for elements with a name.

    Named elements (keyword arguments, parameters, dict entries, imported names) are themselves wherever they stand.
    """
    named = _named(left, right, keys)
    if named is not None:
        return named
    one, two = [keys.meaning(n) for n in left], [keys.meaning(n) for n in right]
    out: dict[int, int] = {}
    at = (0, 0)
    blocks = SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks()
    for block in blocks:
        _gap(left, right, (at[0], block.a), (at[1], block.b), out, keys)
        for offset in range(block.size):
            out[block.a + offset] = block.b + offset
        at = block.a + block.size, block.b + block.size
    return out


def _named(left: Sequence[Any], right: Sequence[Any], keys: Keys) -> dict[int, int] | None:
    one, two = [name_of(n, keys) for n in left], [name_of(n, keys) for n in right]
    if None not in one and None not in two and len(set(one)) == len(one) and len(set(two)) == len(two):
        place = {name: i for i, name in enumerate(two)}
        return {i: place[name] for i, name in enumerate(one) if name in place}
    if not left or not isinstance(left[0], cst.Arg):
        return None
    # Calls: keywords by name, the rest by their order.
    out: dict[int, int] = {}
    place = {name: i for i, name in enumerate(two) if name is not None}
    for i, name in enumerate(one):
        if name is not None and name in place:
            out[i] = place[name]
    plain_one = [i for i, name in enumerate(one) if name is None]
    plain_two = [i for i, name in enumerate(two) if name is None]
    first, second = [left[i] for i in plain_one], [right[i] for i in plain_two]
    matched = _ordered(first, second, keys)
    out.update({plain_one[i]: plain_two[j] for i, j in matched.items()})
    return out


def _ordered(left: Sequence[Any], right: Sequence[Any], keys: Keys) -> dict[int, int]:
    if len(left) == len(right):
        return {i: i for i in range(len(left))}
    one, two = [keys.meaning(n) for n in left], [keys.meaning(n) for n in right]
    out: dict[int, int] = {}
    at = (0, 0)
    for block in SequenceMatcher(None, one, two, autojunk=False).get_matching_blocks():
        _gap(left, right, (at[0], block.a), (at[1], block.b), out, keys)
        out.update({block.a + k: block.b + k for k in range(block.size)})
        at = block.a + block.size, block.b + block.size
    return out


def name_of(node: Any, keys: Keys) -> str | None:
    """What names an element among its siblings; None for one known by its place."""
    if isinstance(node, cst.Arg):
        return node.keyword.value if node.keyword is not None else f"{node.star}" if node.star else None
    if isinstance(node, cst.Param):
        return node.name.value
    if isinstance(node, cst.ImportAlias):
        return f"{keys.meaning(node.name)} {keys.meaning(node.asname) if node.asname else ''}"
    if isinstance(node, cst.DictElement):
        return str(keys.meaning(node.key))
    if isinstance(node, cst.Element) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString):
        return str(keys.meaning(node.value))
    return None


def _gap(
    left: Sequence[Any],
    right: Sequence[Any],
    a: tuple[int, int],
    b: tuple[int, int],
    out: dict[int, int],
    keys: Keys,
) -> None:
    """Pairs changed elements of one gap in order: the pairing with the most likeness in sum."""
    rows, columns = a[1] - a[0], b[1] - b[0]
    if not rows or not columns or rows * columns > _MOST:
        return
    score = [[likeness(left[a[0] + i], right[b[0] + j], keys) for j in range(columns)] for i in range(rows)]
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            pair = score[i][j] + best[i + 1][j + 1] if score[i][j] >= _ALIKE else 0.0
            best[i][j] = max(best[i + 1][j], best[i][j + 1], pair)
    i = j = 0
    while i < rows and j < columns:
        if score[i][j] >= _ALIKE and best[i][j] == score[i][j] + best[i + 1][j + 1]:
            out[a[0] + i] = b[0] + j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1


def likeness(one: Any, two: Any, keys: Keys) -> float:
    """0 to 1: whether two elements of one list are the same element at two times."""
    if type(one) is not type(two):
        return 0.0
    if isinstance(one, cst.FunctionDef | cst.ClassDef):
        return 1.0 if one.name.value == two.name.value else 0.0
    if isinstance(one, cst.SimpleStatementLine):
        return _simple(one, two, keys)
    if isinstance(one, cst.If | cst.While):
        return 0.5 * _dice(one.test, two.test, keys) + 0.5 * _dice(one, two, keys)
    if isinstance(one, cst.For):
        same = _dice(one.target, two.target, keys) + _dice(one.iter, two.iter, keys)
        return 0.3 * same + 0.4 * _dice(one.body, two.body, keys)
    return _dice(one, two, keys)


def _simple(one: cst.SimpleStatementLine, two: cst.SimpleStatementLine, keys: Keys) -> float:
    if len(one.body) != 1 or len(two.body) != 1:
        return _dice(one, two, keys)
    first: Any = one.body[0]
    second: Any = two.body[0]
    if isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString):
        both = isinstance(second, cst.Expr) and isinstance(second.value, cst.SimpleString)
        return 0.9 if both else 0.0
    if stored(first) and stored(first) == stored(second):
        return 0.6 + 0.4 * _dice(one, two, keys)
    if type(first) is not type(second):
        return 0.0
    if isinstance(first, cst.Expr) and isinstance(first.value, cst.Call):
        called = isinstance(second, cst.Expr) and isinstance(second.value, cst.Call)
        if called and _text(first.value.func) == _text(second.value.func):
            return 0.6 + 0.4 * _dice(one, two, keys)
    if isinstance(first, cst.Return):
        return max(_ALIKE, _dice(one, two, keys)) if first.value and second.value else 0.5
    return _dice(one, two, keys)


def stored(node: Any) -> tuple[str, ...]:
    """What an assignment binds, as written; () for other statements."""
    if isinstance(node, cst.Assign):
        return tuple(_text(t.target) for t in node.targets)
    if isinstance(node, cst.AnnAssign):
        return (_text(node.target),)
    return ()


def _text(node: cst.CSTNode) -> str:
    return "".join(cst.Module([]).code_for_node(node).split()).strip("()")


def _dice(one: Any, two: Any, keys: Keys) -> float:
    first, second = keys.words(one), keys.words(two)
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 1.0

"""Conditions around a statement that the target's version decides."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from packaging.version import InvalidVersion, Version

from tools.code.syntax import dotted

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: lt,
    ast.LtE: le,
    ast.Gt: gt,
    ast.GtE: ge,
    ast.Eq: eq,
    ast.NotEq: ne,
}


def tests(guard: str) -> Iterator[tuple[bool, ast.expr]]:
    """(wanted, test) of each enclosing ``if``: the code runs when the test is ``wanted``."""
    for part in guard.split(";"):
        kind, _, text = part.partition(":")
        if kind in ("if", "else"):
            try:
                yield kind == "if", ast.parse(text.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                continue  # cut off for its length


def holds(test: ast.expr, version: Version, package: str) -> bool | None:
    """What a test of the version of ``package`` gives on ``version``; None for other tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = holds(test.operand, version, package)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        given = [holds(value, version, package) for value in test.values]
        decisive = isinstance(test.op, ast.Or)
        return decisive if decisive in given else None if None in given else not decisive
    if isinstance(test, ast.Call) and dotted(test.func).endswith("version_is") and test.args:
        # ``vllm_version_is("0.11.0")`` and the like: plugins that serve two releases guard with it.
        other = _version(test.args[0])
        return None if other is None else other.release == version.release
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and _asks(test.left, package):
        compare = _COMPARISONS.get(type(test.ops[0]))
        if compare is None:
            return None
        return _compared(test.left, compare, test.comparators[0], version)
    return None


def _compared(
    left: ast.expr, compare: Callable[[Any, Any], bool], right: ast.expr, version: Version
) -> bool | None:
    if isinstance(right, ast.Call):
        named = dotted(right.func).rpartition(".")[2] in ("Version", "parse")
        other = _version(right.args[0]) if named and right.args else None
        return None if other is None else compare(version, other)
    if isinstance(right, ast.Constant) and isinstance(right.value, str) and not isinstance(left, ast.Call):
        return compare(str(version), right.value)
    return None


def excluded_by_version(guard: str, version: str | None, package: str) -> bool:
    """True when a version test shows that the code does not run on ``version``."""
    known = _parsed(version)
    return known is not None and any(
        holds(test, known, package) is (not wanted) for wanted, test in tests(guard)
    )


def undecided_version(guard: str, version: str | None, package: str) -> bool:
    """True when the code stands under a test of the version whose outcome cannot be told."""
    known = _parsed(version)
    return any(
        _asks(test, package) and (known is None or holds(test, known, package) is None)
        for _, test in tests(guard)
    )


def _asks(test: ast.expr, package: str) -> bool:
    text = ast.unparse(test).lower()
    return "version" in text and (package.lower() in text or "version_is" in text)


def _version(node: ast.expr) -> Version | None:
    return _parsed(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _parsed(text: str | None) -> Version | None:
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None

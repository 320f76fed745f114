"""What functions return, and what their callers do with it."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import StrEnum

from tools.checks.base import Context
from tools.code.records import Call, Function
from tools.code.syntax import dotted

SINGLE = 1
"""One value that is no tuple."""
NOTHING = 0
_SCALARS = frozenset({"float", "int", "bool", "str"})
_NO_TUPLES = _SCALARS | {"torch.Tensor", "Tensor", "dict", "bytes"}


def _split(text: str, separator: str) -> list[str]:
    """``text`` at ``separator`` outside brackets."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == separator and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [p.strip() for p in (*parts, text[start:])]


def annotated_count(text: str | None) -> int | None:
    """Values that an annotation promises: n for ``tuple[…]`` of n, 1, 0 for None; None when it is open."""
    if not text:
        return None
    counts: set[int | None] = set()
    for part in _split(text.strip("\"'"), "|"):
        head, bracket, rest = part.partition("[")
        if part == "None":
            counts.add(NOTHING)
        elif head.rpartition(".")[2] in ("tuple", "Tuple") and bracket:
            items = _split(rest.rstrip()[:-1], ",")
            items = [i for i in items if i]
            counts.add(None if "..." in items or any(i.startswith("*") for i in items) else len(items))
        else:
            counts.add(SINGLE if head in _NO_TUPLES else None)
    if len(counts) > 1:
        counts.discard(NOTHING)
    return counts.pop() if len(counts) == 1 else None


def count(function: Function) -> int | None:
    """How many values ``function`` returns; its statements are believed before its annotation."""
    if function.is_generator or function.raises_not_implemented:
        return None
    shown = set(function.arities)
    if len(shown) > 1:
        shown.discard(NOTHING)
    if len(shown) == 1:
        only = shown.pop()
        if only > 0:
            return only
    annotated = annotated_count(function.returns)
    if annotated is not None and (annotated != NOTHING or not (set(function.arities) - {NOTHING})):
        return annotated
    if not (set(function.arities) - {NOTHING}) and not function.is_stub and function.returns is None:
        return NOTHING
    return None


def gives_nothing(context: Context, module: str, function: Function) -> bool:
    """True when a plugin function runs to its end and returns None."""
    if function.is_generator or function.raises_not_implemented or set(function.arities) - {NOTHING}:
        return False
    scope = context.inference.scope_of(module, function.qualname)
    return scope is not None and not any(isinstance(n, ast.Raise) for n in scope.node.body[-1:])


def is_scalar(text: str | None) -> bool:
    """True for annotations of plain numbers and strings, which have no attributes to read."""
    return text in _SCALARS


class Kind(StrEnum):
    """What a caller does with a result."""

    DROPPED = "dropped"
    UNPACKED = "unpacked"
    ATTRIBUTE = "attribute"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Use:
    """``count`` for UNPACKED, ``name`` for ATTRIBUTE."""

    kind: Kind
    line: int
    count: int = 0
    name: str = ""


def use_of(context: Context, module: str, call: Call) -> Use | None:
    """What the caller does with the result of ``call``; None when the call was not found again."""
    scope = context.inference.scope_of(module, call.scope) if call.scope else None
    nodes = scope.nodes if scope is not None else []
    found: Use | None = None
    for node in nodes:
        if isinstance(node, ast.Call) and node.lineno == call.line and dotted(node.func) == call.callee:
            found = found or Use(Kind.VALUE, call.line)
        elif isinstance(node, ast.Expr) and _is(node.value, call):
            return Use(Kind.DROPPED, call.line)
        elif isinstance(node, ast.Attribute) and _is(node.value, call):
            return Use(Kind.ATTRIBUTE, node.lineno, name=node.attr)
        elif isinstance(node, ast.Assign) and _is(node.value, call) and len(node.targets) == 1:
            number = unpacked(node.targets[0])
            if number:
                return Use(Kind.UNPACKED, node.lineno, number)
            if isinstance(node.targets[0], ast.Name):
                return _later(nodes, node.targets[0].id, call.line)
    return found


def unpacked(target: ast.expr) -> int:
    """Names that a tuple target unpacks into; 0 for other targets and for starred ones."""
    if isinstance(target, ast.Tuple | ast.List) and not any(isinstance(e, ast.Starred) for e in target.elts):
        return len(target.elts)
    return 0


def _is(node: ast.expr, call: Call) -> bool:
    if isinstance(node, ast.Await):
        node = node.value
    return isinstance(node, ast.Call) and node.lineno == call.line and dotted(node.func) == call.callee


def _later(nodes: list[ast.AST], name: str, line: int) -> Use:
    """What is done with a variable that is bound once."""
    stores = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    for node in nodes if len(stores) == 1 else ():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
            number = unpacked(node.targets[0])
            if number:
                return Use(Kind.UNPACKED, node.lineno, number)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            return Use(Kind.ATTRIBUTE, node.lineno, name=node.attr)
    return Use(Kind.VALUE, line)

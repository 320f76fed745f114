"""Small readings of Python syntax trees that everything else is made of."""

from __future__ import annotations

import ast
import warnings

_SKIPPED_FIELDS = {"ctx", "op", "ops", "type_comment", "kind", "conversion", "level", "type_ignores"}
CHILD_FIELDS: dict[type, tuple[str, ...]] = {
    node_type: tuple(f for f in node_type._fields if f not in _SKIPPED_FIELDS)
    for node_type in vars(ast).values()
    if isinstance(node_type, type) and issubclass(node_type, ast.AST)
}
"""Fields of each node type that hold other nodes."""


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for names and attributes; what is neither becomes ``?``; ``super()`` stays ``super()``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        parts.append("super()")
    else:
        parts.append("?")
    return ".".join(reversed(parts))


def parse(content: bytes) -> ast.Module:
    """The syntax tree of ``content``. Raises SyntaxError or ValueError (null bytes, wrong encoding)."""
    with warnings.catch_warnings():
        # Invalid escapes in files under review are their business, not this program's output.
        warnings.simplefilter("ignore")
        return ast.parse(content)


def join_guards(outer: str, inner: str) -> str:
    return f"{outer};{inner}" if outer and inner else outer or inner


def arity(value: ast.expr | None) -> int:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return 0
    if isinstance(value, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return -1


def strings(node: ast.expr) -> list[str]:
    """String elements of list, tuple and set displays, also added together."""
    if isinstance(node, ast.BinOp):
        return strings(node.left) + strings(node.right)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return []


def describe(value: ast.expr) -> tuple[str, str, tuple[str, ...]]:
    """(kind, alias, items) of an assigned value."""
    if isinstance(value, ast.Name | ast.Attribute):
        name = dotted(value)
        return "", ("" if "?" in name else name), ()
    if isinstance(value, ast.Dict):
        keys = tuple(k.value for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
        return "dict", "", keys
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return type(value).__name__.lower(), "", tuple(strings(value))
    if isinstance(value, ast.Constant):
        return type(value.value).__name__, "", ((value.value,) if isinstance(value.value, str) else ())
    if isinstance(value, ast.Call):
        return "call:" + dotted(value.func), "", ()
    return "", "", ()


def stub(body: list[ast.stmt]) -> tuple[bool, bool]:
    """(is a stub, raises NotImplementedError and does nothing else)."""
    rest = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    rest = [s for s in rest if not isinstance(s, ast.Pass)]
    if not rest:
        return True, False
    if len(rest) == 1 and isinstance(rest[0], ast.Raise) and rest[0].exc is not None:
        exc = rest[0].exc
        name = dotted(exc.func if isinstance(exc, ast.Call) else exc)
        if name == "NotImplementedError":
            return True, True
    return False, False


def suppressed(manager: ast.expr) -> list[str]:
    """The exceptions of ``contextlib.suppress(…)``."""
    if isinstance(manager, ast.Call) and dotted(manager.func) in ("suppress", "contextlib.suppress"):
        return [dotted(argument) for argument in manager.args]
    return []

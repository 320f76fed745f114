"""Syntax of single functions, read from their lines: parsing whole upstream modules would cost seconds."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from tools.code.records import Function
from tools.code.shapes import FunctionNode
from tools.code.syntax import CHILD_FIELDS, parse
from tools.code.tree import Tree

_NODES: WeakKeyDictionary[Tree, dict[tuple[str, int], FunctionNode | None]] = WeakKeyDictionary()


def function_node(tree: Tree, module: str, function: Function) -> FunctionNode | None:
    """The syntax of ``function`` with the line numbers of its file; None for what does not parse alone."""
    known = _NODES.setdefault(tree, {})
    key = (module, function.line)
    if key not in known:
        known[key] = _parse(tree, module, function)
    return known[key]


def _parse(tree: Tree, module: str, function: Function) -> FunctionNode | None:
    lines = tree.lines(module)[function.first_line - 1 : function.end_line]
    # Below an ``if`` a method parses with the indentation it has.
    indented = bool(lines) and lines[0][:1].isspace()
    before = "\n" * (function.first_line - 2) if function.first_line > 1 else ""
    text = before + ("if 1:\n" if indented else "\n" * (function.first_line > 1)) + "\n".join(lines)
    try:
        root = parse(text.encode("utf-8", "replace"))
    except (SyntaxError, ValueError):
        return None
    body: list[ast.stmt] = root.body
    if body and isinstance(body[0], ast.If):
        body = body[0].body
    found = body[0] if body else None
    return found if isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef) else None


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """As :func:`ast.walk`, in another order and several times as fast."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for name in CHILD_FIELDS[type(node)]:
            value = getattr(node, name, None)
            if type(value) is list:
                stack.extend([item for item in value if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                stack.append(value)

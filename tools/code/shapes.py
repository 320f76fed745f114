"""Functions of a file as syntax: their nodes and what they bind, before anything is resolved.

Nothing here depends on upstream, so one reading serves the worlds of base and of target.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tools.code.syntax import CHILD_FIELDS, dotted
from tools.code.tree import Tree

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_NARROWING = frozenset({"isinstance", "hasattr", "issubclass", "type", "getattr", "cast"})


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One function, or the module body (qualname '')."""

    qualname: str
    node: FunctionNode | ast.Module
    owner: str | None
    """Qualified name of the class whose body holds it directly."""
    outer: Shape | None
    """The function around it."""
    nodes: list[ast.AST]
    """Nodes of its own body in source order; see :func:`own_nodes`."""
    narrowed: frozenset[str]
    """Names that it, or a function around it, tests by type or attribute."""
    annotated: dict[str, ast.expr]
    """Local name -> annotation of ``name: T = …``."""
    assigned: dict[str, ast.expr]
    """Local name -> value, for names bound once and by a plain assignment."""
    bound: frozenset[str]
    """Every local name that is no parameter."""
    decorators: frozenset[str]
    by_type: dict[type[ast.AST], list[ast.AST]]
    """``nodes`` by their exact type: most readers want one kind."""


def shapes_of(tree: Tree, module: str) -> list[Shape]:
    """The module body and then every function of ``module``, outer ones first; [] if it cannot be read."""
    key = ("shapes", module, "")
    if key not in tree.derived:
        found: list[Shape] = []
        if not tree.modules[module].error:
            root = tree.syntax(module)
            found.append(_module_shape(root))
            found += _below(root.body, "", None, None)
        tree.derived[key] = found
    return tree.derived[key]  # type: ignore[return-value]


def shape_of(tree: Tree, module: str, qualname: str) -> Shape | None:
    """One function, without reading its siblings; None when it is not there."""
    key = ("shape", module, qualname)
    if key not in tree.derived:
        tree.derived[key] = _find(tree, module, qualname)
    return tree.derived[key]  # type: ignore[return-value]


def _below(body: list[ast.stmt], prefix: str, owner: str | None, outer: Shape | None) -> Iterator[Shape]:
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
            shape = _shape(f"{prefix}.{stmt.name}" if prefix else stmt.name, stmt, owner, outer)
            yield shape
            yield from _below(stmt.body, shape.qualname, None, shape)
        elif isinstance(stmt, ast.ClassDef):
            qualname = f"{prefix}.{stmt.name}" if prefix else stmt.name
            yield from _below(stmt.body, qualname, qualname, outer)
        else:
            for block in _blocks(stmt):
                yield from _below(block, prefix, owner, outer)


def _blocks(stmt: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Statement lists directly inside a compound statement."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(stmt, field, [])
    for part in (*getattr(stmt, "handlers", ()), *getattr(stmt, "cases", ())):
        yield part.body


def _find(tree: Tree, module: str, qualname: str) -> Shape | None:
    if module not in tree.modules or tree.modules[module].error:
        return None
    body: list[ast.stmt] = tree.syntax(module).body
    owner: str | None = None
    shape: Shape | None = None
    prefix = ""
    for part in qualname.split("."):
        node = _named(body, part)
        if node is None:
            return None
        prefix = f"{prefix}.{part}" if prefix else part
        body = node.body
        if isinstance(node, ast.ClassDef):
            owner = prefix
        else:
            shape, owner = _shape(prefix, node, owner, shape), None
    return shape if shape is not None and shape.qualname == qualname else None


def _named(body: list[ast.stmt], name: str) -> FunctionNode | ast.ClassDef | None:
    """The last definition of ``name`` in ``body``, which is the one that counts."""
    found: FunctionNode | ast.ClassDef | None = None
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if stmt.name == name:
                found = stmt
        else:
            for block in _blocks(stmt):
                found = _named(block, name) or found
    return found


def _module_shape(root: ast.Module) -> Shape:
    """A module's own names are resolved through its namespace, so it binds nothing here."""
    nodes = own_nodes(root)
    return Shape("", root, None, None, nodes, frozenset(), {}, {}, frozenset(), frozenset(), _by_type(nodes))


def _by_type(nodes: list[ast.AST]) -> dict[type[ast.AST], list[ast.AST]]:
    out: dict[type[ast.AST], list[ast.AST]] = {}
    for node in nodes:
        kind = type(node)
        if kind in out:
            out[kind].append(node)
        else:
            out[kind] = [node]
    return out


def _shape(qualname: str, node: FunctionNode, owner: str | None, outer: Shape | None) -> Shape:
    nodes = own_nodes(node)
    narrowed: set[str] = set(outer.narrowed) if outer is not None else set()
    annotated: dict[str, ast.expr] = {}
    values: dict[str, ast.expr] = {}
    counts: dict[str, int] = {}
    by_type = _by_type(nodes)
    child: Any
    for child in by_type.get(ast.Name, ()):
        if type(child.ctx) is not ast.Load:
            counts[child.id] = counts.get(child.id, 0) + 1
    for child in by_type.get(ast.Assign, ()):
        if len(child.targets) == 1 and type(child.targets[0]) is ast.Name:
            values[child.targets[0].id] = child.value
    for child in by_type.get(ast.AnnAssign, ()):
        if type(child.target) is ast.Name:
            annotated[child.target.id] = child.annotation
    for kind in (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef):
        for child in by_type.get(kind, ()):
            counts[child.name] = counts.get(child.name, 0) + 1
    for child in by_type.get(ast.Call, ()):
        if type(child.func) is ast.Name and child.func.id in _NARROWING and child.args:
            first = child.args[0]
            if type(first) is ast.Name:
                narrowed.add(first.id)
    return Shape(
        qualname=qualname,
        node=node,
        owner=owner,
        outer=outer,
        nodes=nodes,
        narrowed=frozenset(narrowed),
        annotated=annotated,
        assigned={name: value for name, value in values.items() if counts[name] == 1},
        bound=frozenset(counts),
        decorators=frozenset(dotted(d) for d in node.decorator_list),
        by_type=by_type,
    )


def own_nodes(node: FunctionNode | ast.Module) -> list[ast.AST]:
    """Nodes of one function or module body in source order, without those of functions inside it.

    Class bodies inside a module body belong to it; decorators of inner functions do too.
    """
    out: list[ast.AST] = []
    stack: list[ast.AST] = list(reversed(node.body))
    is_module = isinstance(node, ast.Module)
    pop, push, append = stack.pop, stack.append, out.append
    while stack:
        child = pop()
        append(child)
        kind = type(child)
        if kind is ast.Name or kind is ast.Constant:
            continue
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            stack.extend(reversed(child.decorator_list))  # type: ignore[attr-defined]
            continue
        if kind is ast.Lambda or (kind is ast.ClassDef and not is_module):
            continue
        for field in reversed(CHILD_FIELDS[kind]):
            value = getattr(child, field, None)
            if value is None or type(value) is str:
                continue
            if type(value) is list:
                for item in reversed(value):
                    if isinstance(item, ast.AST):
                        push(item)
            elif isinstance(value, ast.AST):
                push(value)
    return out

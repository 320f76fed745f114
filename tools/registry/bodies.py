"""Bodies of the plugin's code, prepared for walking: definitions by name, and the calls of each statement.

Nothing here depends on upstream, so one object serves base and target.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tools.code.syntax import CHILD_FIELDS, dotted
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.registry.importing import imported_strings

_LEAVES = (ast.Lambda, ast.Constant, ast.Name)


@dataclass(frozen=True, slots=True)
class Called:
    """One call in a statement: dotted callee, line, and the modules it imports by string."""

    name: str
    line: int
    imports: tuple[str, ...]


class Bodies:
    """Of one plugin tree."""

    def __init__(self, plugin: Tree) -> None:
        self.plugin = plugin
        self._definitions: dict[str, dict[str, ast.AST]] = {}
        self._calls: dict[int, tuple[Called, ...]] = {}

    def definition(self, module: str, qualname: str) -> ast.AST | None:
        """The definition called ``qualname``; the last where there are several."""
        if self.plugin.modules[module].error:
            return None
        known = self._definitions.get(module)
        if known is None:
            known = self._definitions[module] = {}
            _index(self.plugin.syntax(module).body, "", known)
        return known.get(qualname)

    def calls(self, root: ast.AST) -> tuple[Called, ...]:
        """Calls below ``root`` in the order in which they end, which is that of their execution."""
        # Syntax trees live as long as the tree they belong to, so an id names one node.
        found = self._calls.get(id(root))
        if found is None:
            found = self._calls[id(root)] = _calls(root)
        return found


def callee(world: World, name: str, module: str, scope: str) -> Resolution | None:
    """The function of the plugin whose body runs when ``name`` is called."""
    head, _, rest = name.partition(".")
    found: Resolution | None
    if head in ("self", "cls") and rest and "." in scope:
        owner = Resolution(Kind.CLASS, module, scope.rpartition(".")[0])
        found = world.class_member(owner, rest)
    elif "?" in name or head == "super()":
        return None
    else:
        found = world.name(module, scope, name)
    if found is not None and found.kind is Kind.CLASS and world.tree(found.module) is world.plugin:
        found = world.own_member(found, "__init__")
    if found is None or found.kind is not Kind.FUNCTION:
        return None
    record = world.function_record(found) if world.tree(found.module) is world.plugin else None
    return found if record is not None and not record.is_generator else None


def _calls(root: ast.AST) -> tuple[Called, ...]:
    calls: list[ast.Call] = []
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            calls.append(node)
        for field in CHILD_FIELDS[type(node)]:
            child = getattr(node, field, None)
            if isinstance(child, list):
                stack += [c for c in child if isinstance(c, ast.AST) and not isinstance(c, _LEAVES)]
            elif isinstance(child, ast.AST) and not isinstance(child, _LEAVES):
                stack.append(child)
    if len(calls) > 1:
        calls.sort(key=lambda c: (c.end_lineno or 0, c.end_col_offset or 0))
    return tuple(Called(dotted(c.func), c.lineno, tuple(imported_strings(c))) for c in calls)


def _index(body: list[ast.stmt], prefix: str, out: dict[str, ast.AST]) -> None:
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{stmt.name}" if prefix else stmt.name
            out[name] = stmt
            _index(stmt.body, name, out)
        elif isinstance(stmt, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for field in ("body", "orelse", "finalbody"):
                _index(getattr(stmt, field, []), prefix, out)
            for handler in getattr(stmt, "handlers", ()):
                _index(handler.body, prefix, out)

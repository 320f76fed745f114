"""Imports that merged code newly needs, taken from where upstream's own code has them."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.code.tree import Tree
from tools.merge.text import Edit, Source

_BUILTINS = frozenset(dir(builtins))
_TYPING_ONLY = "TYPE_CHECKING"


@dataclass(frozen=True)
class Needed:
    """Edits that bring the names, what each came from, and the names that nothing brings."""

    edits: tuple[Edit, ...]
    brought: tuple[str, ...]
    missing: tuple[str, ...]


def free_names(text: str) -> frozenset[str]:
    """Names that the definition in ``text`` takes from its module, annotations and decorators included."""
    table = symtable.symtable(_at_left(text), "merged", "exec")
    return frozenset(_free(table, top=True)) - _BUILTINS


def _at_left(text: str) -> str:
    return f"if 1:\n{text}" if text[:1].isspace() else text


def _free(table: symtable.SymbolTable, *, top: bool) -> Iterator[str]:
    for symbol in table.get_symbols():
        if symbol.is_referenced() and (symbol.is_global() or (top and not symbol.is_assigned())):
            yield symbol.get_name()
    for child in table.get_children():
        yield from _free(child, top=False)


def needed(source: Source, old: str, new: str, target: Tree, module: str) -> Needed:
    """What ``new`` needs and neither ``old`` nor the plugin's file has; ``module`` is the target's module."""
    bound = bound_names(source.tree)
    wanted = sorted(free_names(new) - free_names(old) - bound)
    edits, brought, missing = [], [], []
    for name in wanted:
        statement = _statement(target, module, name)
        if statement is None:
            missing.append(name)
        else:
            edits.append(_insertion(source, statement))
            brought.append(statement)
    return Needed(tuple(dict.fromkeys(edits)), tuple(brought), tuple(missing))


def bound_names(tree: ast.Module) -> frozenset[str]:
    """Everything a module's top level binds, in branches too."""
    return frozenset(_bound(tree.body))


def _bound(body: Iterable[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
        else:
            for part in ast.walk(node) if not hasattr(node, "body") else _targets(node):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id
            for name in ("body", "orelse", "finalbody"):
                yield from _bound(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from _bound(handler.body)


def _targets(node: ast.stmt) -> Iterator[ast.AST]:
    for part in (getattr(node, "target", None), *(i.optional_vars for i in getattr(node, "items", []))):
        if part is not None:
            yield from ast.walk(part)


def _statement(target: Tree, module: str, name: str) -> str | None:
    """The import that gives the plugin ``name`` as ``module`` of target has it."""
    bindings = target.namespace(module).names.get(name)
    if bindings is None:
        return None
    if bindings.functions or bindings.classes or bindings.assigns:
        return f"from {module} import {name}"
    for found in bindings.imports:
        home = target.absolute(module, found)
        if not home:
            continue
        if found.name in ("", "."):  # "." is `import a.b as c`
            return f"import {home} as {found.bound}" if found.name else f"import {home}"
        return f"from {home} import {found.name}" + (
            f" as {found.bound}" if found.bound != found.name else ""
        )
    return None


def _insertion(source: Source, statement: str) -> Edit:
    """After the last import of the same module at the top level, else after the last import there is."""
    words = statement.split()
    last = same = 0
    for node in source.tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            last = node.end_lineno or node.lineno
            if isinstance(node, ast.ImportFrom) and words[0] == "from" and node.module == words[1]:
                same = last
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and not last:
            last = node.end_lineno or node.lineno
    at = same or last
    ending = source.lines[0][len(source.lines[0].rstrip("\r\n")) :] if source.lines else "\n"
    return Edit(at, at, (statement + (ending or "\n"),))

"""Rows of the type checker that concern upstream, as the checks that use them need them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.checks.base import Context
from tools.code.infer import Scope
from tools.code.typecheck import Diagnostic
from tools.code.world import Kind, Resolution

_QUOTED = re.compile(r"`([^`]*)`")


def rows(context: Context, *rules: str) -> Iterator[tuple[Diagnostic, Scope]]:
    """Rows of ``rules`` with the innermost scope around each."""
    for row in context.diagnostics:
        if row.rule in rules:
            scope = scope_at(context, row.module, row.line)
            if scope is not None:
                yield row, scope


def scope_at(context: Context, module: str, line: int) -> Scope | None:
    """The innermost function around ``line``, else the module body."""
    best: Scope | None = None
    for scope in context.inference.scopes(module):
        node = scope.node
        if isinstance(node, ast.Module):
            best = best or scope
        elif node.lineno <= line <= (node.end_lineno or node.lineno):
            best = scope
    return best


def quoted(message: str) -> list[str]:
    """What the message puts in backticks, in order."""
    return _QUOTED.findall(message)


def upstream_symbol(context: Context, module: str, name: str) -> Resolution | None:
    """The upstream class or function that ``name`` in a message means: as the module sees it, or unique."""
    plain = name.partition("[")[0].strip()
    if not plain or not all(part.isidentifier() for part in plain.split(".")):
        return None
    head = plain.split(".")[0]
    found = context.world.name(module, "", head)
    if found.kind in (Kind.CLASS, Kind.FUNCTION):
        return found if context.world.tree(found.module) is context.upstream else None
    homes = context.upstream.defined.get(head, ())
    if len(homes) != 1 or head in context.plugin.defined:
        return None
    found = context.world.member(homes[0], head)
    return found if found.kind in (Kind.CLASS, Kind.FUNCTION) else None


def cite_row(context: Context, row: Diagnostic) -> str:
    """Evidence: what the type checker said."""
    return context.cite_command(
        "ty",
        "ty check (isolated copy of the plugin, no third-party packages)",
        f"{context.plugin.paths[row.module]}:{row.line}:{row.column}: {row.rule}: {row.message}",
    )

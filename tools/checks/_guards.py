"""What surrounds a place in the plugin: handlers that catch, and version tests that exclude it."""

from __future__ import annotations

import ast

from tools.checks.base import Context
from tools.code.guards import excluded_by_version
from tools.code.infer import Scope
from tools.code.syntax import dotted


def guarded(context: Context, module: str, line: int, *exceptions: str) -> bool:
    """True when ``line`` stands in the body of a ``try`` that catches one of ``exceptions`` by name."""
    return any(
        first <= line <= last and names & set(exceptions)
        for first, last, names in _try_spans(context, module)
    )


def _try_spans(context: Context, module: str) -> list[tuple[int, int, set[str]]]:
    key = "try_spans"
    table: dict[str, list[tuple[int, int, set[str]]]] = context.shared.setdefault(key, {})  # type: ignore[assignment]
    found = table.get(module)
    if found is None:
        found = table[module] = []
        for scope in context.inference.scopes(module):
            for node in scope.all(ast.Try):
                last = node.body[-1].end_lineno or node.lineno
                found.append((node.lineno, last, _caught(node)))
    return found


def _caught(node: ast.Try) -> set[str]:
    names: set[str] = set()
    for handler in node.handlers:
        if handler.type is None:
            names.add("BaseException")
        elif isinstance(handler.type, ast.Tuple):
            names.update(dotted(e).rpartition(".")[2] for e in handler.type.elts)
        else:
            names.add(dotted(handler.type).rpartition(".")[2])
    return names


def never_runs(context: Context, scope: Scope, node: ast.AST) -> bool:
    """True when an enclosing version test excludes the upstream under examination."""
    return never_runs_at(context, scope, getattr(node, "lineno", 0))


def never_runs_at(context: Context, scope: Scope, line: int) -> bool:
    """As :func:`never_runs`, for a line."""
    version = context.upstream.snapshot.identity.version
    if version is None:
        return False
    return any(
        first <= line <= last and excluded_by_version(guard, version, context.profile.upstream_package)
        for first, last, guard in _version_spans(scope)
    )


def _version_spans(scope: Scope) -> list[tuple[int, int, str]]:
    spans = []
    for node in scope.all(ast.If):
        if "version" in (test := ast.unparse(node.test)):
            for kind, body in (("if", node.body), ("else", node.orelse)):
                if body:
                    spans.append((body[0].lineno, body[-1].end_lineno or body[0].lineno, f"{kind}:{test}"))
    return spans


def tested(scope: Scope, owner: str, attribute: str) -> bool:
    """True when the function tests for the attribute: ``hasattr(owner, "attribute")``."""
    for compared in scope.all(ast.Compare):
        if (
            isinstance(compared.left, ast.Constant)
            and compared.left.value == attribute
            and isinstance(compared.ops[0], ast.In | ast.NotIn)
            and ast.unparse(compared.comparators[0])
            in (f"{owner}.__dict__", f"vars({owner})", f"dir({owner})")
        ):
            return True
    for node in scope.all(ast.Call):
        if (
            isinstance(node.func, ast.Name)
            and node.func.id in ("hasattr", "getattr")
            and len(node.args) >= 2
            and isinstance(node.args[1], ast.Constant)
            and node.args[1].value == attribute
            and dotted(node.args[0]) == owner
        ):
            return True
    return False

"""A call that only a type checker can follow to the upstream function it does not bind to.

CAL001 binds calls whose target a plain reading finds. A type checker follows more: generics, narrowed types,
attributes of attributes. Its rows about arguments are kept here when the thing called belongs to upstream, the
plugin does not replace it, and no ``except TypeError`` serves two signatures.

Example: ``self.kernel.quant.make(qtype=…)`` reaches a classmethod that lost ``qtype``; building the layer raises
``TypeError``.

Cannot see: what the type checker cannot type; calls through components that are not installed beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._calls import callee_of, is_patched
from tools.checks._guards import guarded, never_runs_at
from tools.checks._typed import cite_row, quoted, rows, upstream_symbol
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.code.typecheck import Diagnostic
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Level, Severity

ID = "CAL004"
TITLE = "Call that does not bind, by the type checker"
SEVERITY = Severity.ERROR
_RULES = (
    "unknown-argument",
    "missing-argument",
    "too-many-positional-arguments",
    "parameter-already-assigned",
    "positional-only-parameter-as-kwarg",
)


def run(context: Context) -> Iterable[Result]:
    for row, scope in rows(context, *_RULES):
        names = quoted(row.message)
        if not names:
            continue
        symbol = upstream_symbol(context, row.module, names[-1])
        if symbol is None or guarded(context, row.module, row.line, "TypeError"):
            continue
        if never_runs_at(context, scope, row.line):
            continue
        if is_patched(context, symbol) or _bound_plainly(context, scope, row.line):
            continue
        if symbol.kind is Kind.CLASS and _made_by_metaclass(context, symbol):
            continue
        yield _report(context, row, scope, symbol, names)


def _bound_plainly(context: Context, scope: Scope, line: int) -> bool:
    """True when CAL001 follows the innermost call around ``line``."""
    calls = [
        node
        for node in scope.nodes
        if isinstance(node, ast.Call)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and dotted(node.func) != "super"
    ]
    return any(callee_of(context, scope, call) is not None for call in calls[-1:])


def _made_by_metaclass(context: Context, cls: Resolution) -> bool:
    """True when a metaclass of its own ``__call__`` decides what constructing the class takes."""
    world = context.world
    for owner in world.mro(cls).classes:
        record = world.class_record(owner) if owner.kind is Kind.CLASS else None
        for key, value in record.keywords if record is not None else ():
            meta = world.name(owner.module, "", value) if key == "metaclass" else None
            if (
                meta is not None
                and meta.kind is Kind.CLASS
                and world.class_member(meta, "__call__") is not None
            ):
                return True
    return False


def _chosen_locally(scope: Scope, line: int) -> bool:
    return any(
        isinstance(call.func, ast.Name) and call.func.id in scope.names
        for call in scope.all(ast.Call)
        if call.lineno <= line <= (call.end_lineno or call.lineno)
    )


def _report(context: Context, row: Diagnostic, scope: Scope, symbol: Resolution, names: list[str]) -> Result:
    version = context.version(context.role)
    # A class or function chosen at run time: the row speaks of one of several.
    chosen = _chosen_locally(scope, row.line)
    return context.finding(
        ID,
        module=row.module,
        line=row.line,
        symbol=scope.qualname,
        key=f"{row.rule}:{':'.join(names)}",
        severity=Severity.WARNING if chosen else Severity.ERROR,
        certainty=Certainty.POSSIBLE if chosen else Certainty.LIKELY,
        message=f"{row.message} ({version})",
        trigger=f"calling `{scope.qualname}`" if scope.qualname else f"importing `{row.module}`",
        consequence="TypeError when the call runs",
        suggestion="pass what the definition cited takes",
        evidence=[cite_row(context, row), context.cite_definition(symbol)],
        level=Level.SIGNATURE,
        cause=f"{symbol.id} signature",
    )

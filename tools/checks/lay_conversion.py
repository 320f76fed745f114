"""Weight conversions that go wrong for some shapes, or the second time.

Two shapes of code. A tensor is transposed, made contiguous and then read as another dtype: with a last axis of
length one ``contiguous()`` copies nothing, and the stride the view needs is not there. And a conversion that
replaces a weight by its own transpose runs from two points of the life cycle: after the second it is wrong.

Example: ``zp.transpose(1, 2).contiguous().view(torch.uint8)`` fails when there is one group;
``layer.w = layer.w.transpose(1, 2)`` in ``process`` is called after loading and again in ``wake_up``.

Cannot see: conversions guarded by a flag kept elsewhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.findings import Attribution, Certainty, Severity

ID = "LAY002"
TITLE = "Weight conversion that is wrong for some shapes or when repeated"
SEVERITY = Severity.WARNING
_TURNS = frozenset({"transpose", "t", "permute", "swapaxes", "T", "mT"})
_DTYPES = frozenset({"uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "float8_e4m3fn"})
_AGAIN = frozenset({"wake_up", "reload_weights", "update_weights", "update_weight", "resume"})


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            yield from _reinterpreted(context, scope)
            yield from _repeated(context, scope)


def _reinterpreted(context: Context, scope: Scope) -> Iterator[Result]:
    for node in scope.nodes:
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "view"
            and len(node.args) == 1
            and dotted(node.args[0]).rpartition(".")[2] in _DTYPES
        ):
            continue
        if not _made_contiguous(scope, node.func.value, node.lineno):
            continue
        yield context.finding(
            ID,
            module=scope.module,
            line=node.lineno,
            symbol=scope.qualname,
            key=ast.unparse(node)[:80],
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message="a tensor is transposed before its bytes are read as another dtype",
            trigger="a last axis of length one after the transpose, such as a single quantization group",
            consequence=(
                "contiguous() copies nothing there, the last stride is not 1, and view(dtype) raises or reads "
                "bytes in the wrong order"
            ),
            suggestion="View as the other dtype first, transpose afterwards.",
            evidence=[],
            cause=f"{scope.module}:{scope.qualname} views after a transpose",
            attribution=Attribution.EXISTING,
        )


def _made_contiguous(scope: Scope, node: ast.expr, line: int) -> bool:
    """Whether ``node`` is ``x.transpose(…).contiguous()``, also where names stand for its parts."""
    node = _before(scope, node, line)
    if not (isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "contiguous"):
        return False
    if not isinstance(node.func, ast.Attribute):
        return False
    return _turned(_before(scope, node.func.value, node.lineno))


def _before(scope: Scope, node: ast.expr, line: int) -> ast.expr:
    """What a name was last assigned above ``line``; anything else is itself."""
    if not isinstance(node, ast.Name):
        return node
    values = [
        a
        for a in scope.all(ast.Assign)
        if a.lineno < line and any(isinstance(t, ast.Name) and t.id == node.id for t in a.targets)
    ]
    return max(values, key=lambda a: a.lineno).value if values else node


def _turned(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _TURNS
    return isinstance(node, ast.Attribute) and node.attr in _TURNS


def _repeated(context: Context, scope: Scope) -> Iterator[Result]:
    name = scope.qualname.rpartition(".")[2]
    turned = _turns_itself(scope)
    if turned is None:
        return
    callers = sorted(
        (module, call.scope, call.line)
        for module, call in context.plugin.calls_by_name.get(name, ())
        if call.scope and call.scope != scope.qualname
    )
    again = [c for c in callers if c[1].rpartition(".")[2] in _AGAIN]
    if not again or (len(callers) < 2 and not context.upstream.calls_by_name.get(name)):
        return
    yield context.finding(
        ID,
        module=scope.module,
        line=turned[1],
        symbol=scope.qualname,
        key=f"again:{turned[0]}",
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,
        message=(
            f"{scope.qualname} replaces {turned[0]} by its own transpose, and runs again from {again[0][1]} "
            f"({again[0][0]}:{again[0][2]})"
        ),
        trigger=f"{again[0][1]} after the weights were loaded",
        consequence="the weight is transposed back: a square one gives wrong numbers, another one wrong shapes",
        suggestion="Convert once: keep a mark on the layer, or convert from the tensor that was loaded.",
        evidence=[context.cite(context.plugin, again[0][0], again[0][2])],
        cause=f"{scope.module}:{scope.qualname} is not idempotent",
        silent=True,
        attribution=Attribution.EXISTING,
    )


def _turns_itself(scope: Scope) -> tuple[str, int] | None:
    """(name, line) of ``x.w = x.w.transpose(…)``, alone at the top of the function."""
    for stmt in scope.node.body:
        if (
            isinstance(stmt, ast.Assign)
            and len(stmt.targets) == 1
            and isinstance(stmt.targets[0], ast.Attribute)
        ):
            target = dotted(stmt.targets[0])
            for child in ast.walk(stmt.value):
                if (
                    isinstance(child, ast.Call)
                    and isinstance(child.func, ast.Attribute)
                    and child.func.attr in _TURNS
                    and dotted(child.func.value) in (target, f"{target}.data")
                ):
                    return target, stmt.lineno
    return None

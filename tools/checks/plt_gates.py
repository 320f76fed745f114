"""Code that asks whether the platform is CUDA, on a platform that is not.

``current_platform.is_cuda()`` is False on every out-of-tree platform, however alike the device is. Code that the
plugin copied with such a question switches itself off; upstream code that the plugin calls may raise in the
branch that is left.

Example: the copied kernel class says ``return scheme in basic or (current_platform.is_cuda() and scheme in int8)``:
the plugin's own kernel reports that it cannot do int8, and no backend is left.

Cannot see: questions asked through variables, and whether the copied branch would work on this device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._copies import upstream_module
from tools.checks._platforms import facts, own_platforms
from tools.checks._source import IN_TREE, Facts, Guards, dead, function_node, guarded_nodes, truth
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "PLT004"
TITLE = "Gate that is always closed on an out-of-tree platform"
SEVERITY = Severity.WARNING
_OURS = frozenset({"is_cuda"})
"""The question that code for a CUDA-like device means to answer with True."""


def run(context: Context) -> Iterable[Result]:
    if not own_platforms(context):
        return
    platform = facts(context)
    for module in context.examined:
        raising = _raising_calls(context, module, platform)
        asks = "current_platform" in {i.bound for i in context.plugin.modules[module].imports}
        for scope in context.inference.scopes(module) if raising or asks else ():
            if asks:
                yield from _closed(context, scope, platform.closed & _OURS)
            yield from _raising(context, scope, raising, platform)


def _closed(context: Context, scope: Scope, hooks: frozenset[str]) -> Iterator[Result]:
    """Capabilities of the plugin's own code that depend on the question."""
    for node in scope.nodes:
        if isinstance(node, ast.Return | ast.Assign) and node.value is not None:
            gate = _gate(node.value, hooks)
            if gate is None or not _copied(context, scope.module, gate.lineno):
                continue
            yield context.finding(
                ID,
                module=scope.module,
                line=gate.lineno,
                symbol=scope.qualname,
                key=ast.unparse(node)[:80],
                severity=Severity.WARNING,
                certainty=Certainty.POSSIBLE,
                message=(
                    f"{scope.qualname or 'the module'} copies upstream's `{ast.unparse(gate)}`, "
                    f"which is always False on this platform"
                ),
                trigger=f"{'calling' if isinstance(node, ast.Return) else 'running'} {scope.qualname or 'it'}",
                consequence="a capability the plugin's code may well have is reported as missing, silently",
                suggestion="Ask is_cuda_alike() or is_out_of_tree(), or state the capability of this device.",
                evidence=[],
                cause=f"{scope.module}:{scope.qualname} asks {ast.unparse(gate)}",
                silent=True,
                attribution=Attribution.EXISTING,
            )


def _gate(value: ast.expr, hooks: frozenset[str]) -> ast.Call | None:
    """The question inside ``a or (b and current_platform.is_cuda())`` that takes part of it away."""
    if isinstance(value, ast.BoolOp):
        if isinstance(value.op, ast.Or) and any(_asks_otherwise(v) for v in value.values):
            return None
        return next((g for v in value.values if (g := _gate(v, hooks)) is not None), None)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in hooks:
        return value if dotted(value.func.value).rpartition(".")[2] == "current_platform" else None
    return None


def _asks_otherwise(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("is_cuda_alike", "is_out_of_tree")
    )


def _copied(context: Context, module: str, line: int) -> bool:
    """True when upstream's counterpart holds the same line."""
    home = upstream_module(context, module)
    if home not in context.upstream.paths:
        return False
    text = context.plugin.lines(module)[line - 1].strip()
    return any(other.strip() == text for other in context.upstream.lines(home))


def _raising_calls(context: Context, module: str, platform: Facts) -> dict[tuple[str, int], Resolution]:
    """(callee, line) of calls of upstream functions that do nothing but raise here."""
    imported = {i.bound for i in context.plugin.modules[module].imports}
    out = {}
    for call in context.plugin.calls(module):
        if call.scope and call.callee.partition(".")[0] in imported:
            found = context.world.name(module, call.scope, call.callee)
            if (
                found.kind is Kind.FUNCTION
                and context.world.tree(found.module) is context.upstream
                and raises_here(context, found, platform) is not None
                and found.id.replace(":", ".") not in context.patched
            ):
                out[(call.callee, call.line)] = found
    return out


def _raising(
    context: Context, scope: Scope, raising: dict[tuple[str, int], Resolution], platform: Facts
) -> Iterator[Result]:
    """The calls of ``raising`` in ``scope`` that are not behind a closed gate themselves."""
    if isinstance(scope.node, ast.Module) or not raising:
        return
    for node, guards in guarded_nodes(scope.node):
        found = raising.get((dotted(node.func), node.lineno)) if isinstance(node, ast.Call) else None
        if found is None or not isinstance(node, ast.Call) or dead(guards, platform):
            continue
        line = raises_here(context, found, platform) or 1
        yield context.finding(
            ID,
            module=scope.module,
            line=node.lineno,
            symbol=scope.qualname,
            key=f"raises:{found.qualname}",
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=f"{found.qualname} raises on every platform but those it names ({found.module}:{line})",
            trigger=f"{scope.qualname or 'importing the module'}",
            consequence="the call raises on an out-of-tree platform",
            suggestion="Replace the function for this platform, or do without the call.",
            evidence=[context.cite(context.upstream, found.module, line)],
            cause=f"{found.id} raises out of tree",
        )


def raises_here(context: Context, found: Resolution, platform: Facts) -> int | None:
    """The line of a ``raise`` that a function certainly comes to on the plugin's platform."""
    function = context.world.function_record(found)
    if function is None or function.end_line - function.line > 120:
        return None
    lines = context.upstream.lines(found.module)[function.line - 1 : function.end_line]
    if not any(".is_" in text for text in lines) or not any("raise " in text for text in lines):
        return None
    node = function_node(context.upstream, found.module, function)
    for child, guards in guarded_nodes(node) if node is not None else ():
        if isinstance(child, ast.Raise) and _certain(guards, platform):
            return child.lineno
    return None


def _certain(guards: Guards, platform: Facts) -> bool:
    asked = any(
        isinstance(n, ast.Attribute) and n.attr in IN_TREE for guard in guards for n in ast.walk(guard.test)
    )
    return asked and all(truth(g.test, platform) is g.wanted for g in guards)

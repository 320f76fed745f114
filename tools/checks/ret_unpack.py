"""The plugin unpacks another number of values than upstream returns.

Upstream changed what a function returns: three values where there were two, or one tensor where there was a
pair. The call still binds; the assignment that takes it apart raises, or takes a tensor apart along its first
dimension.

Example: ``weights, ids = Layer.select_experts(…)`` in the plugin, ``-> tuple[Tensor, Tensor, Tensor]`` in the
target: ``ValueError: too many values to unpack`` in the first forward pass.

Cannot see: results that are handed on before they are taken apart, and functions whose source does not tell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._results import NOTHING, SINGLE, count, unpacked
from tools.checks.base import Context, Result
from tools.code.infer import Form, Scope
from tools.code.records import Function
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Level, Severity

ID = "RET001"
TITLE = "Another number of values is unpacked than upstream returns"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for every ``a, b = upstream(…)`` of the plugin."""
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.nodes:
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    number = unpacked(node.targets[0])
                    if number:
                        yield from _judge(context, scope, node, number)


def _judge(context: Context, scope: Scope, node: ast.Assign, number: int) -> Iterator[Result]:
    value = node.value.value if isinstance(node.value, ast.Await) else node.value
    if not isinstance(value, ast.Call):
        return
    found = _callee(context, scope, value.func)
    if found is None:
        return
    ref, function, sure = found
    if context.world.tree(ref.module) is not context.upstream:
        return
    if any(p.replacement for p in context.patched.get(f"{ref.module}.{ref.qualname}", ())):
        return
    gives = count(function)
    if gives is None or gives == number:
        return
    if gives in (SINGLE, NOTHING):
        # One tensor can be taken apart too: only a change of what was a tuple tells.
        old = context.before.world.function_record(ref) if context.before is not None else None
        if old is None or (count(old) != number and "uple[" not in (old.returns or "")):
            return
    where = context.version(context.role)
    what = {SINGLE: "one value", NOTHING: "nothing"}.get(gives, f"{gives} values")
    promise = f" (`-> {function.returns}`)" if function.returns else ""
    yield context.finding(
        ID,
        module=scope.module,
        line=node.lineno,
        symbol=scope.qualname,
        key=f"{ref.id} unpacked {number}",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN if sure and gives > 1 else Certainty.LIKELY,
        level=Level.SIGNATURE,
        message=f"unpacks {number} values, but `{ref.qualname}` returns {what} in {where}{promise}",
        trigger=f"calling `{scope.qualname or scope.module}`",
        consequence="ValueError: the number of values to unpack differs",
        suggestion=f"take {what} as `{ref.qualname}` of {where} gives them",
        evidence=[
            context.cite(
                context.upstream, ref.module, function.line, min(function.end_line, function.line + 20)
            )
        ],
        cause=f"{ref.id} returns",
    )


def _callee(context: Context, scope: Scope, node: ast.expr) -> tuple[Resolution, Function, bool] | None:
    """(definition, record, whether no subclass can be meant)."""
    world = context.world
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call) and scope.cls is not None:
        callee = node.value.func
        if isinstance(callee, ast.Name) and callee.id == "super":
            owner = world.definer(scope.cls, node.attr, after=scope.cls)
            method = world.own_member(owner, node.attr) if owner is not None else None
            record = world.function_record(method) if method is not None else None
            return (method, record, True) if method is not None and record is not None else None
    found = context.inference.of(node, scope)
    if found is None:
        return None
    if found.form is Form.INSTANCE and any(c.id == "torch.nn:Module" for c in world.mro(found.ref).classes):
        # Calling a module runs its forward.
        method = world.class_member(found.ref, "forward")
        record = (
            world.function_record(method) if method is not None and method.kind is Kind.FUNCTION else None
        )
        return (method, record, False) if method is not None and record is not None else None
    if found.form not in (Form.FUNCTION, Form.METHOD):
        return None
    record = world.function_record(found.ref)
    if record is None or record.is_generator:
        return None
    sure = found.form is Form.FUNCTION
    return found.ref, record, sure

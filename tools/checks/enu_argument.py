"""A member of one Enum class is passed where a function expects another.

The plugin keeps a copy of an upstream oracle with its own Enum of backends, and hands the member it selected to
an upstream function that compares it with members of upstream's class. Every comparison is False; the function
takes its last branch, or converts weights for no backend at all. Equal names and values make no difference.

Example: ``convert_to_kernel_format(backend=self.backend, …)`` where ``self.backend`` comes from the plugin's
``select_backend() -> tuple[MoeBackend, …]`` and upstream's parameter is annotated with upstream's ``MoeBackend``.

Cannot see: parameters without an annotation, and values whose class nothing tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._enums import called, members_of
from tools.checks.base import Context, Result
from tools.code.functions import function_node, walk
from tools.code.infer import Form, Scope
from tools.code.records import Function
from tools.code.world import Kind, Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "ENU002"
TITLE = "Member of one Enum class passed for another"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for call in scope.all(ast.Call):
                yield from _passed(context, scope, call)


def _passed(context: Context, scope: Scope, call: ast.Call) -> Iterator[Result]:
    if not call.args and not call.keywords:
        return
    members = members_of(context)
    given: list[tuple[int | str, ast.expr, Resolution]] = []
    for place, value in [*enumerate(call.args), *((k.arg, k.value) for k in call.keywords)]:
        if place is not None and isinstance(value, ast.Attribute | ast.Name | ast.Call):
            found = members.of(value, scope)
            if found is not None:
                given.append((place, value, found))
    if not given:
        return
    callee = context.inference.of(call.func, scope)
    if callee is None or callee.form not in (Form.FUNCTION, Form.METHOD, Form.CLASS):
        return
    target = callee.ref
    if callee.form is Form.CLASS:
        init = context.world.class_member(target, "__init__")
        if init is None or init.kind is not Kind.FUNCTION:
            return
        target = init
    function = context.world.function_record(target)
    if function is None:
        return
    params = list(function.params)
    if function.in_class and callee.form is not Form.FUNCTION and "staticmethod" not in function.decorators:
        params = params[1:]
    for place, value, one in given:
        param = next((p for i, p in enumerate(params) if place in (i, p.name)), None)
        if param is None:
            continue
        other = members.annotated(target.module, function.qualname, param.annotation)
        if other is None or other.id == one.id:
            continue
        yield _finding(context, scope, call, value, one, other, target, function, param.name)


def _finding(
    context: Context,
    scope: Scope,
    call: ast.Call,
    value: ast.expr,
    one: Resolution,
    other: Resolution,
    target: Resolution,
    function: Function,
    param: str,
) -> Result:
    first, second = called(context.world, one, other)
    line = _comparison(context, target, function, param)
    tree = context.world.tree(target.module)
    seen = context.cite(tree, target.module, line) if line is not None and tree is not None else None
    where = f" (it compares it at {target.module}:{line})" if line is not None else ""
    return context.finding(
        ID,
        module=scope.module,
        line=call.lineno,
        symbol=scope.qualname,
        key=f"{target.id}:{param}",
        severity=Severity.WARNING if line is not None else Severity.NOTE,
        certainty=Certainty.LIKELY if line is not None else Certainty.POSSIBLE,
        message=(
            f"`{ast.unparse(value)[:60]}` is a member of `{first}`, and `{function.qualname}` expects "
            f"`{second}` for `{param}`{where}"
        ),
        trigger=f"{scope.qualname or 'importing the module'}",
        consequence="every comparison there is False, so that the branch of the selected backend is not taken",
        suggestion=f"hand over a member of `{other.module}.{other.qualname}`, or use that class throughout",
        evidence=[context.cite_definition(one), context.cite_definition(other), seen],
        cause=f"{one.id} and {other.id} are two classes",
        silent=True,
        attribution=Attribution.EXISTING,
    )


def _comparison(context: Context, target: Resolution, function: Function, param: str) -> int | None:
    """The first line on which the function compares or looks up its parameter."""
    tree = context.world.tree(target.module)
    node = function_node(tree, target.module, function) if tree is not None else None
    lines = []
    for child in walk(node) if node is not None else ():
        if isinstance(child, ast.Compare | ast.Subscript | ast.Match):
            head = (
                child.left
                if isinstance(child, ast.Compare)
                else child.subject
                if isinstance(child, ast.Match)
                else child.slice
            )
            if isinstance(head, ast.Name) and head.id == param:
                lines.append(child.lineno)
    return min(lines, default=None)

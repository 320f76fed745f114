"""A converted tensor is dropped, and the old one is read.

A conversion gives back new weights together with new zero points or scales. The caller keeps the weights and
drops the rest, and the quantization config goes on reading the layer's old tensor: the kernel gets zero points
in the layout of the checkpoint. The conversion's own test passes.

Example: ``w, _ = convert(layer.w13, layer.w13_zero_point)`` after loading, and ``get_fused_moe_quant_config``
passes ``layer.w13_zero_point``: asymmetric models give wrong numbers.

Cannot see: conversions in place, and results that are stored under another name and never used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._source import function_node
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.records import Function
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "LAY001"
TITLE = "Converted tensor dropped while the old one is read"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            if scope.cls is None:
                continue
            for node in scope.nodes:
                if type(node) is ast.Assign and len(node.targets) == 1:
                    yield from _dropped(context, scope, node)


def _dropped(context: Context, scope: Scope, node: ast.Assign) -> Iterator[Result]:
    call = _taken_apart(node)
    if call is None or not any(
        isinstance(a, ast.Attribute) for a in (*call.args, *(k.value for k in call.keywords))
    ):
        return
    name = dotted(call.func)
    if name.split(".")[0] in ("?", "self", "torch", "super()") or name.split(".")[0] in scope.names:
        return
    found = context.world.name(scope.module, scope.qualname, name)
    function = context.world.function_record(found) if found.kind is Kind.FUNCTION else None
    tree = context.world.tree(found.module)
    if function is None or tree is None or function.in_class or max(function.arities, default=0) < 2:
        return
    kept = _kept(node, scope)
    callee = function_node(tree, found.module, function)
    for index, parameter in _converted(callee) if callee is not None else ():
        argument = _argument(call, function, parameter)
        if index in kept or not isinstance(argument, ast.Attribute):
            continue
        name = dotted(argument)
        if name in _stored(scope):
            continue
        reader = _reader(context, scope, argument.attr)
        if reader is not None:
            yield _finding(context, scope, node, found, name, reader)


def _taken_apart(node: ast.Assign) -> ast.Call | None:
    """The call of ``a, b = call()`` and of ``a = call()[0]``."""
    value = node.value
    if isinstance(value, ast.Call) and isinstance(node.targets[0], ast.Tuple):
        return value
    if isinstance(value, ast.Subscript) and isinstance(value.value, ast.Call):
        index = value.slice
        return value.value if isinstance(index, ast.Constant) and isinstance(index.value, int) else None
    return None


def _kept(node: ast.Assign, scope: Scope) -> set[int]:
    """The places of the tuple that are used afterwards."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple):
        assert isinstance(node.value, ast.Subscript)
        assert isinstance(node.value.slice, ast.Constant)
        return {int(str(node.value.slice.value))}
    loaded = {n.id for n in scope.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    return {
        i
        for i, element in enumerate(target.elts)
        if not isinstance(element, ast.Name) or element.id in loaded
    }


def _converted(node: FunctionNode) -> Iterator[tuple[int, str]]:
    """(place in the returned tuple, parameter it was made of) where the function rebinds a parameter."""
    parameters = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    made: dict[str, str] = {}
    for child in ast.walk(node):
        if (
            isinstance(child, ast.Assign)
            and len(child.targets) == 1
            and isinstance(child.targets[0], ast.Name)
        ):
            sources = {n.id for n in ast.walk(child.value) if isinstance(n, ast.Name)}
            of = sorted({made.get(s, s) for s in sources} & parameters)
            if len(of) == 1 and isinstance(child.value, ast.Call):
                made[child.targets[0].id] = of[0]
    for child in ast.walk(node):
        if isinstance(child, ast.Return) and isinstance(child.value, ast.Tuple):
            for index, element in enumerate(child.value.elts):
                if isinstance(element, ast.Name) and element.id in made:
                    yield index, made[element.id]
                elif isinstance(element, ast.Call):
                    names = {n.id for n in ast.walk(element) if isinstance(n, ast.Name)} & parameters
                    if len(names) == 1:
                        yield index, names.pop()


def _argument(call: ast.Call, function: Function, parameter: str) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == parameter:
            return keyword.value
    for param, value in zip(function.params, call.args, strict=False):
        if param.name == parameter:
            return value
    return None


def _stored(scope: Scope) -> set[str]:
    """What the caller assigns or replaces, as dotted names."""
    out = {dotted(n) for n in scope.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    for node in scope.nodes:
        if isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            out.add(f"{dotted(node.args[0])}.{node.args[1].value!s}")
    return out


def _reader(context: Context, scope: Scope, attr: str) -> tuple[str, int] | None:
    """Another method of the class that reads the tensor: (name, line)."""
    for other in context.inference.scopes(scope.module):
        if other.cls != scope.cls or other.qualname == scope.qualname:
            continue
        for node in other.nodes:
            if isinstance(node, ast.Attribute) and node.attr == attr and isinstance(node.ctx, ast.Load):
                return other.qualname, node.lineno
    return None


def _finding(
    context: Context, scope: Scope, node: ast.Assign, found: Resolution, name: str, reader: tuple[str, int]
) -> Result:
    return context.finding(
        ID,
        module=scope.module,
        line=node.lineno,
        symbol=scope.qualname,
        key=name,
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=(
            f"{found.qualname}() gives back a converted {name}, which is dropped; "
            f"{reader[0]} reads the old one (line {reader[1]})"
        ),
        trigger=f"loading weights through {scope.qualname}",
        consequence="the kernel is given the tensor in the layout of the checkpoint: wrong numbers",
        suggestion=f"Store the converted tensor in {name}, or hand it to {reader[0]}.",
        evidence=[context.cite_definition(found), context.cite(context.plugin, scope.module, reader[1])],
        cause=f"{scope.module}:{scope.qualname} drops {name}",
        silent=True,
        attribution=Attribution.EXISTING,
    )

"""A class that became a function and still imports.

Upstream sometimes replaces a class by a factory function of the same name. The import works, and calling it may
too; but a function has no subclasses, ``isinstance`` refuses it, it lacks the class's methods, and ``F | None`` in
an annotation raises while the module is imported.

Example: ``FusedMoE`` became a factory. ``isinstance(layer, FusedMoE)`` in a quantization config raises ``TypeError:
isinstance() arg 2 must be a type`` as soon as a layer is looked up.

Cannot see: values that only at run time turn out to be functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.infer import Form, Scope
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "IMP004"
TITLE = "Class that became a function"
SEVERITY = Severity.ERROR
_FUNCTION_ATTRIBUTES = frozenset(dir(lambda: None)) | {"cache_clear", "cache_info", "fn", "run", "warmup"}


def run(context: Context) -> Iterable[Result]:
    yield from _bases(context)
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for call in scope.all(ast.Call):
                yield from _isinstance(context, scope, call)
            for attribute in scope.all(ast.Attribute):
                if isinstance(attribute.ctx, ast.Load):
                    yield from _attribute(context, scope, attribute)
            yield from _annotations(context, scope)


def _function(context: Context, scope: Scope, node: ast.expr) -> Resolution | None:
    """The upstream function that ``node`` names as a class would be named, undecorated."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if not name[:1].isupper():
        return None
    found = context.inference.of(node, scope)
    if found is None or found.form is not Form.FUNCTION or "." in found.ref.qualname:
        return None
    if context.world.tree(found.ref.module) is not context.upstream:
        return None
    record = context.world.function_record(found.ref)
    return found.ref if record is not None and not record.decorators else None


def _was_class(context: Context, function: Resolution) -> bool:
    before = context.before
    return before is not None and before.world.member(function.module, function.qualname).kind is Kind.CLASS


def _bases(context: Context) -> Iterator[Result]:
    for module, record in context.plugin.classes():
        outer = record.qualname.rpartition(".")[0]
        for text in record.bases:
            name = text.partition("[")[0]
            if not name.replace(".", "").isidentifier():
                continue
            found = context.world.name(module, outer, name)
            if found.kind is Kind.FUNCTION and context.world.tree(found.module) is context.upstream:
                yield _report(
                    context, module, record.line, record.qualname, found, "base",
                    f"`class {record.qualname}({name})`: `{name}` is a function in {context.version(context.role)}",
                    f"importing `{module}`",
                    "TypeError: function() argument 'code' must be code, not str",
                    "derive from the class that the function builds, or register a replacement for it",
                )  # fmt: skip


def _isinstance(context: Context, scope: Scope, node: ast.Call) -> Iterator[Result]:
    if not (
        isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and len(node.args) == 2
    ):
        return
    second = node.args[1]
    for candidate in second.elts if isinstance(second, ast.Tuple) else [second]:
        found = _function(context, scope, candidate)
        if found is not None:
            name = ast.unparse(candidate)
            yield _report(
                context, scope.module, candidate.lineno, scope.qualname, found, "isinstance",
                f"`{ast.unparse(node)}`: `{name}` is a function in {context.version(context.role)}",
                f"running `{scope.qualname}`",
                f"TypeError: {node.func.id}() arg 2 must be a type, a tuple of types, or a union",
                "test for the class that the function builds",
            )  # fmt: skip


def _attribute(context: Context, scope: Scope, node: ast.Attribute) -> Iterator[Result]:
    if node.attr in _FUNCTION_ATTRIBUTES:
        return
    found = _function(context, scope, node.value)
    if found is None or node.attr in context.upstream.attr_stores:
        return
    name = ast.unparse(node.value)
    successors = [
        f"`{home}.{candidate}`"
        for candidate, homes in context.upstream.defined.items()
        if candidate.endswith(node.attr) and candidate != node.attr
        for home in homes
    ]
    yield _report(
        context, scope.module, node.lineno, scope.qualname, found, node.attr,
        f"`{name}.{node.attr}`: `{name}` is a function in {context.version(context.role)} and has no such attribute",
        f"running `{scope.qualname}`",
        f"AttributeError: 'function' object has no attribute '{node.attr}'",
        f"call {successors[0]}" if len(successors) == 1 else "find what provides it in the target",
    )  # fmt: skip


def _annotations(context: Context, scope: Scope) -> Iterator[Result]:
    """``F | None`` where annotations are evaluated; a bare ``F`` harms nobody and is noted when it is new."""
    if isinstance(scope.node, ast.Module):
        return
    imports = context.plugin.modules[scope.module].imports
    postponed = any(i.module == "__future__" and i.name == "annotations" for i in imports)
    arguments = scope.node.args
    every = [a.annotation for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    for annotation in (*every, scope.node.returns):
        if annotation is None:
            continue
        for part in ast.walk(annotation):
            if not isinstance(part, ast.Name | ast.Attribute):
                continue
            found = _function(context, scope, part)
            if found is None:
                continue
            in_union = isinstance(annotation, ast.BinOp) and not postponed
            name = ast.unparse(part)
            yield _report(
                context, scope.module, part.lineno, scope.qualname, found, f"annotation:{in_union}",
                f"annotation `{ast.unparse(annotation)}`: `{name}` is a function in {context.version(context.role)}",
                f"importing `{scope.module}`" if in_union else "nothing at run time",
                "TypeError: unsupported operand type(s) for |: 'function' and 'NoneType'"
                if in_union
                else "type checkers and readers are misled",
                "name the class that the function builds",
                Severity.ERROR if in_union else Severity.NOTE,
            )  # fmt: skip


def _report(
    context: Context,
    module: str,
    line: int,
    symbol: str,
    function: Resolution,
    key: str,
    message: str,
    trigger: str,
    consequence: str,
    suggestion: str,
    severity: Severity = Severity.ERROR,
) -> Result:
    if _was_class(context, function):
        message += f", where {context.version('base')} had a class"
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol=symbol,
        key=f"{function.id}:{key}",
        severity=severity,
        certainty=Certainty.CERTAIN,
        message=message,
        trigger=trigger,
        consequence=consequence,
        suggestion=suggestion,
        evidence=[context.cite_definition(function)],
        cause=f"{function.id} is a function",
    )

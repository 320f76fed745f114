"""The result of a conversion is thrown away.

``transpose``, ``contiguous``, ``to`` and ``view`` give back a tensor and leave theirs as it was, and so do most
helpers that repack weights. Called for their effect they have none: the layer keeps the checkpoint's layout, nothing
is raised, and where shapes happen to fit the numbers are wrong.

Example: ``layer.w13_weight.transpose(1, 2).contiguous()`` on a line of its own after loading; ``repack_zeros(layer.
w2_zero_point)`` whose return value nobody takes.

Cannot see: helpers that convert in place besides returning (those that write to their parameter are left alone).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.functions import function_node, walk
from tools.code.infer import Scope
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "LAY005"
TITLE = "Result of a conversion thrown away"
SEVERITY = Severity.WARNING
_NAMES = (
    "transpose permute contiguous view reshape flatten unsqueeze squeeze swapaxes t to float half bfloat16 int",
    "clone type flip roll repeat_interleave bitwise_and bitwise_right_shift",
)
_PURE = frozenset(" ".join(_NAMES).split())
_HARMLESS = frozenset({"isinstance", "len", "type", "range", "print", "min", "max", "int", "cdiv"})
_ROOTS = re.compile(r"^(layer|self)\.\w*(weight|scale|zero|zp|qzeros|bias)\w*")
_CONVERTS = re.compile(
    r"(^|_)(convert|repack|pack|unpack|transpose|shuffle|permute|reorder|interleave|swizzle)(_|$|d)"
)


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for stmt in scope.all(ast.Expr):
                if isinstance(stmt.value, ast.Call):
                    yield from _thrown_away(context, scope, stmt.value)


def _thrown_away(context: Context, scope: Scope, call: ast.Call) -> Iterator[Result]:
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr in _PURE:
        root = func.value
        while isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute) and root.func.attr in _PURE:
            root = root.func.value
        name = dotted(root)
        if _ROOTS.match(name) and "?" not in name:
            what = f"`{' '.join(ast.unparse(call).split())[:80]}` gives back a tensor and changes none"
            yield _finding(context, scope, call, name, what, None, Certainty.CERTAIN)
        return
    name = dotted(func)
    if "?" in name or not _CONVERTS.search(name.rpartition(".")[2]) or name.split(".")[0] in scope.names:
        return
    found = context.world.name(scope.module, scope.qualname, name)
    function = context.world.function_record(found) if found.kind is Kind.FUNCTION else None
    tree = context.world.tree(found.module)
    node = function_node(tree, found.module, function) if function is not None and tree is not None else None
    given = [dotted(a) for a in (*call.args, *(k.value for k in call.keywords)) if _ROOTS.match(dotted(a))]
    if function is None or node is None or not given or function.is_async or function.is_generator:
        return
    if not function.arities or 0 in function.arities or _in_place(node):
        return
    what = f"`{name}()` gives back what it makes of `{given[0]}`, and the caller does not take it"
    yield _finding(context, scope, call, given[0], what, found, Certainty.LIKELY)


def _in_place(node: FunctionNode) -> bool:
    """Whether a function may change what it is given, or anything else that outlives it."""
    params = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    # Views and rebinding of a parameter lead back to it, so that any write through a local name counts.
    for child in walk(node):
        if isinstance(child, ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store | ast.Del):
            return True
        if isinstance(child, ast.AugAssign):
            return True
        if isinstance(child, ast.Call):
            name = dotted(child.func)
            last = name.rpartition(".")[2]
            if last.endswith("_") and not last.startswith("_") and not last.endswith("__"):
                return True
            if last in ("setattr", "register_parameter", "replace_parameter", "register_buffer"):
                return True
            if name.startswith("torch.ops.") or ("?" in name and isinstance(child.func, ast.Subscript)):
                return True
            passed = {dotted(a) for a in child.args}
            other = "." not in name and last not in _PURE | _HARMLESS
            if passed & params and other:
                return True  # another function may write to it
    return False


def _finding(
    context: Context,
    scope: Scope,
    call: ast.Call,
    name: str,
    what: str,
    callee: Resolution | None,
    certainty: Certainty,
) -> Result:
    return context.finding(
        ID,
        module=scope.module,
        line=call.lineno,
        symbol=scope.qualname,
        key=f"{name}:{dotted(call.func).rpartition('.')[2]}",
        severity=Severity.WARNING,
        certainty=certainty,
        message=what,
        trigger=f"{scope.qualname or 'importing the module'}",
        consequence=f"`{name}` stays as it was loaded; what reads it in the converted layout computes wrong numbers",
        suggestion=f"assign the result where `{name}` is read from, or delete the line",
        evidence=[context.cite_definition(callee)] if callee is not None else [],
        cause=f"{scope.module}:{scope.qualname} throws a conversion away",
        silent=True,
        attribution=Attribution.EXISTING,
    )

"""Members of two Enum classes are compared, or one is looked up among the keys of the other.

Members of an Enum equal nothing but themselves. A plugin that copies an upstream module has its own class of the
same name with the same members, and its values meet upstream's at the first comparison: ``==`` is False, ``!=`` is
True, ``in`` finds nothing, a dictionary raises KeyError. Backend dispatch takes its last branch, and the kernel
that was selected is not the one that runs. Members of ``IntEnum``, ``StrEnum`` and ``(str, Enum)`` compare by value
and are left alone.

Example: the plugin's oracle defines ``class MoeBackend(Enum)`` and its method asks
``self.backend == upstream.MoeBackend.TRITON``: never true.

Cannot see: values whose class no annotation, constructor or return type tells.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._enums import called, members_of
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.world import Kind, Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "ENU001"
TITLE = "Members of two Enum classes are compared or looked up"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for compare in scope.all(ast.Compare):
                yield from _compared(context, scope, compare)
            for subscript in scope.all(ast.Subscript):
                if isinstance(subscript.ctx, ast.Load):
                    yield from _looked_up(
                        context, scope, subscript.value, subscript.slice, subscript.lineno, ""
                    )
            for call in scope.all(ast.Call):
                func = call.func
                if isinstance(func, ast.Attribute) and func.attr == "get" and call.args:
                    yield from _looked_up(context, scope, func.value, call.args[0], call.lineno, "get")
            for display in scope.all(ast.Dict):
                yield from _display(context, scope, display)


def _compared(context: Context, scope: Scope, node: ast.Compare) -> Iterator[Result]:
    members = members_of(context)
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        one = members.of(left, scope)
        if isinstance(op, ast.In | ast.NotIn):
            others = _elements(context, scope, right)
        else:
            found = (
                members.of(right, scope) if isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) else None
            )
            others = [found] if found is not None else []
        # ``in`` is only wrong when nothing that is listed can match.
        if one is not None and others and all(o is not None and o.id != one.id for o in others):
            other = others[0]
            assert other is not None
            negative = isinstance(op, ast.NotEq | ast.NotIn | ast.IsNot)
            yield _finding(
                context,
                scope,
                node.lineno,
                one,
                other,
                what=f"`{_short(node)}` compares a member of {{0}} with {{1}}",
                consequence=f"the condition is always {negative}: the other branch is never taken",
                severity=Severity.WARNING,
                silent=True,
            )
        left = right


def _elements(context: Context, scope: Scope, node: ast.expr) -> list[Resolution | None]:
    """Enum classes of what is listed; a table of the module counts by its keys. [] when something is unknown."""
    members = members_of(context)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        found = [members.of(e, scope) for e in node.elts]
        return found if None not in found else []
    return [*_keys(context, scope, node)]


def _keys(context: Context, scope: Scope, node: ast.expr) -> list[Resolution]:
    """Enum classes of the keys of a dictionary that is written out where ``node`` leads; [] when unknown."""
    table, where = _table(context, scope, node)
    if table is None or where is None or not table.keys:
        return []
    members = members_of(context)
    found = [members.of(key, where) if key is not None else None for key in table.keys]
    return [f for f in found if f is not None] if None not in found else []


def _table(context: Context, scope: Scope, node: ast.expr) -> tuple[ast.Dict | None, Scope | None]:
    if isinstance(node, ast.Dict):
        return node, scope
    if not isinstance(node, ast.Name):
        return None, None
    if node.id in scope.names:
        values = [a.value for a in scope.all(ast.Assign) if any(_is(t, node.id) for t in a.targets)]
        value = values[0] if len(values) == 1 else None
        return (value, scope) if isinstance(value, ast.Dict) else (None, None)
    found = context.world.name(scope.module, scope.qualname, node.id)
    if found.kind is not Kind.VALUE or context.world.tree(found.module) is not context.plugin:
        return None, None
    where = context.inference.scopes(found.module)[0]
    values = []
    for stmt in where.nodes:
        if isinstance(stmt, ast.Assign):
            values += [stmt.value for t in stmt.targets if _is(t, found.qualname)]
        elif isinstance(stmt, ast.AnnAssign):
            values += [stmt.value] if _is(stmt.target, found.qualname) and stmt.value is not None else []
        elif (
            isinstance(stmt, ast.Subscript)
            and not isinstance(stmt.ctx, ast.Load)
            and _is(stmt.value, found.qualname)
        ):
            return None, None  # filled elsewhere too
    value = values[0] if len(values) == 1 else None
    return (value, where) if isinstance(value, ast.Dict) else (None, None)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _looked_up(
    context: Context, scope: Scope, table: ast.expr, key: ast.expr, line: int, how: str
) -> Iterator[Result]:
    if not isinstance(table, ast.Name | ast.Dict):
        return
    one = members_of(context).of(key, scope)
    if one is None:
        return
    keys = _keys(context, scope, table)
    if keys and all(k.id != one.id for k in keys):
        raises = how == ""
        yield _finding(
            context,
            scope,
            line,
            one,
            keys[0],
            what=f"`{_short(key)}` of {{0}} is looked up among keys that are members of {{1}}",
            consequence="KeyError" if raises else "the default is taken every time",
            severity=Severity.ERROR if raises else Severity.WARNING,
            silent=not raises,
        )


def _display(context: Context, scope: Scope, node: ast.Dict) -> Iterator[Result]:
    """Keys of two classes of one name in one dictionary: half of them no lookup will find."""
    members = members_of(context)
    found = [c for key in node.keys if key is not None and (c := members.of(key, scope)) is not None]
    for cls in found[1:]:
        if cls.id != found[0].id and cls.qualname == found[0].qualname:
            yield _finding(
                context,
                scope,
                node.lineno,
                cls,
                found[0],
                what="a dictionary has keys of {0} beside keys of {1}",
                consequence="a lookup by a member of the one finds nothing that is stored under the other",
                severity=Severity.WARNING,
                silent=True,
            )
            return


def _finding(
    context: Context,
    scope: Scope,
    line: int,
    one: Resolution,
    other: Resolution,
    *,
    what: str,
    consequence: str,
    severity: Severity,
    silent: bool,
) -> Result:
    first, second = called(context.world, one, other)
    return context.finding(
        ID,
        module=scope.module,
        line=line,
        symbol=scope.qualname,
        key=f"{one.id}:{other.id}:{what[:60]}",
        severity=severity,
        certainty=Certainty.LIKELY,
        message=what.format(f"`{first}`", f"`{second}`")
        + ": two classes, whose members never equal each other",
        trigger=f"{scope.qualname or 'importing the module'}, whichever member it is",
        consequence=consequence,
        suggestion=f"use one class on both sides: import `{other.module}.{other.qualname}`",
        evidence=[context.cite_definition(one), context.cite_definition(other)],
        cause=f"{one.id} and {other.id} are two classes",
        silent=silent,
        attribution=Attribution.EXISTING,
    )


def _short(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 80 else text[:77] + "..."

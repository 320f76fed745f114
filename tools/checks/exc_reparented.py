"""A handler of the plugin no longer catches what upstream raises.

Upstream gave one of its exception classes another base. A plugin that catches the old base, or whose tests
expect it, lets the exception through from then on; nothing at the handler shows it.

Example: ``ValidationError(ValueError)`` became ``ValidationError(RuntimeError)``; the plugin wraps the call
that raises it in ``except ValueError``.

Cannot see: raises further than three calls away from the guarded line.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.infer import Form, Scope
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "EXC001"
TITLE = "A handler no longer catches an upstream exception"
SEVERITY = Severity.WARNING

_DEPTH = 3


def run(context: Context) -> Iterable[Result]:
    """Findings for ``except`` and ``pytest.raises`` around calls that raise a re-parented exception."""
    if context.before is None:
        return
    for cls, lost in _reparented(context):
        raisers = _raisers(context, cls)
        now = _ancestors(context, cls)
        for scope, node, names, body in _guards(context):
            caught = {r.id for n in names if (r := _exception(context, scope, n)) is not None}
            if not caught & lost or caught & now:
                continue
            for call in (c for stmt in body for c in ast.walk(stmt) if isinstance(c, ast.Call)):
                reached = _reached(context, scope, call)
                if reached in raisers:
                    yield _finding(context, scope, node, cls, sorted(caught & lost)[0], raisers[reached])
                    break


def _finding(
    context: Context, scope: Scope, node: ast.AST, cls: Resolution, base: str, raiser: tuple[str, int]
) -> Result:
    where, name = context.version(context.role), base.rpartition(":")[2]
    assert context.before is not None
    return context.finding(
        ID,
        module=scope.module,
        line=getattr(node, "lineno", 1),
        symbol=scope.qualname,
        key=f"{cls.id} not {name}",
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=(
            f"`{cls.qualname}` is no {name} any more in {where}: this handler of {name} no longer catches it;"
            f" it is raised at `{context.upstream.paths[raiser[0]]}:{raiser[1]}`"
        ),
        trigger=f"`{scope.qualname or scope.module}` runs into `{cls.qualname}`",
        consequence=f"`{cls.qualname}` passes the handler and ends the caller",
        suggestion=f"catch `{cls.qualname}` itself (from `{cls.module}`)",
        evidence=[
            context.before.cite_definition(cls),
            context.cite_definition(cls),
            context.cite(context.upstream, *raiser),
        ],
        cause=f"{cls.id} re-parented",
    )


def _reparented(context: Context) -> Iterator[tuple[Resolution, frozenset[str]]]:
    """Exception classes of both releases, with the ancestors they lost."""
    assert context.before is not None
    old = {(m, c.qualname): c for m, c in context.before.upstream.classes()}
    for module, record in context.upstream.classes():
        was = old.get((module, record.qualname))
        if (
            was is None
            or record.in_function
            or not record.qualname.endswith(("Error", "Exception", "Warning"))
        ):
            continue
        cls = Resolution(Kind.CLASS, module, record.qualname)
        lost = _ancestors(context.before, cls) - _ancestors(context, cls)
        if lost:
            yield cls, frozenset(lost)


def _ancestors(context: Context, cls: Resolution) -> frozenset[str]:
    out: set[str] = set()
    for owner in context.world.mro(cls).classes:
        out.add(owner.id)
        known = getattr(builtins, owner.qualname, None) if owner.module == "builtins" else None
        if isinstance(known, type):
            out.update(f"builtins:{c.__name__}" for c in known.__mro__ if c is not object)
    return frozenset(out)


def _raisers(context: Context, cls: Resolution) -> dict[str, tuple[str, int]]:
    """Functions that construct the exception, or call one that does: id -> where it is constructed."""
    out: dict[str, tuple[str, int]] = {}
    name = cls.qualname.rpartition(".")[2]
    for module, call in context.upstream.calls_by_name.get(name, ()):
        if call.scope and context.world.name(module, call.scope, call.callee).id == cls.id:
            out.setdefault(f"{module}:{call.scope}", (module, call.line))
    layer = list(out)
    for _ in range(_DEPTH - 1):
        found: list[str] = []
        for identity in layer:
            module, _, qualname = identity.partition(":")
            owner, _, last = qualname.rpartition(".")
            for caller, call in context.upstream.calls_by_name.get(last, ()):
                mine = caller == module and call.callee in (f"self.{last}", f"cls.{last}") and owner
                direct = "." not in call.callee and (
                    context.world.name(caller, call.scope, call.callee).id == identity
                )
                where = f"{caller}:{call.scope}"
                if call.scope and (mine or direct) and where not in out:
                    out[where] = out[identity]
                    found.append(where)
        layer = found
    return out


def _guards(context: Context) -> Iterator[tuple[Scope, ast.AST, list[ast.expr], list[ast.stmt]]]:
    """(scope, place, what is caught, what is guarded)."""
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.nodes:
                if isinstance(node, ast.Try):
                    for handler in node.handlers:
                        if handler.type is not None:
                            elements = (
                                handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
                            )
                            yield scope, handler, elements, node.body
                elif isinstance(node, ast.With):
                    for item in node.items:
                        value = item.context_expr
                        if (
                            isinstance(value, ast.Call)
                            and dotted(value.func).endswith("raises")
                            and value.args
                        ):
                            yield scope, node, [value.args[0]], node.body


def _exception(context: Context, scope: Scope, node: ast.expr) -> Resolution | None:
    name = dotted(node)
    return None if "?" in name else context.world.name(scope.module, scope.qualname, name)


def _reached(context: Context, scope: Scope, call: ast.Call) -> str:
    """Id of the function that the call runs."""
    found = context.inference.of(call.func, scope)
    if found is None:
        return ""
    if found.form is Form.CLASS:
        owner = context.world.class_member(found.ref, "__init__")
        return owner.id if owner is not None else ""
    return found.ref.id if found.form in (Form.FUNCTION, Form.METHOD) else ""

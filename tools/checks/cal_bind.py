"""A call that does not bind to what it reaches on the target.

Parameters were added, removed, renamed or made keyword-only upstream, or a dataclass gained a required field.
The call raises ``TypeError`` as soon as it runs, which on the device may be minutes into loading a model. Calls
of the plugin's own functions are bound as well: a copied file is often brought up to date while its callers are
not.

Example: upstream's ``convert(..., layer=None)`` became ``convert(..., moe_config)``; the plugin still passes
``layer=layer``. Loading an unquantized MoE model raises ``TypeError: unexpected keyword argument 'layer'``.

Cannot see: calls whose target cannot be read (values from registries, ``getattr``), functions wrapped by a
decorator that changes what they accept, and arguments of the right name with another meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._calls import Callee, arguments, callee_of, describe, plugin_calls
from tools.checks._guards import guarded, never_runs
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.signature import Misfit, Problem, bind, render
from tools.findings import Certainty, Severity

ID = "CAL001"
TITLE = "Call that does not bind"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for module, scope, call in plugin_calls(context):
        callee = callee_of(context, scope, call)
        if callee is None:
            found = context.inference.of(call.func, scope)
            if found is not None and context.world.tree(found.ref.module) is context.upstream:
                yield context.unresolved(
                    ID,
                    module=module,
                    line=call.lineno,
                    symbol=scope.qualname,
                    reason="what it accepts cannot be read: a decorator, a metaclass, a base outside both packages, "
                    "or a replacement by the plugin",
                    subject=found.ref.id,
                )
            continue
        problems = bind(callee.params, arguments(call))
        if not problems or never_runs(context, scope, call):
            continue
        if guarded(context, module, call.lineno, "TypeError"):
            continue  # a shim that serves two signatures
        yield _report(context, module, scope, call, callee, problems)


def _report(
    context: Context, module: str, scope: Scope, call: ast.Call, callee: Callee, problems: tuple[Problem, ...]
) -> Result:
    world = context.world
    own = world.tree(callee.owner.module) is context.plugin
    where = "the plugin" if own else context.version(context.role)
    message = (
        "; ".join(describe(p, callee) for p in problems)
        + f" ({where}: `{callee.label}{render(callee.params)}`)"
    )
    symbol = scope.qualname
    line = _line(call, problems)
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol=symbol,
        key=f"{callee.symbol.id}:{','.join(sorted(p.misfit + p.name for p in problems))}",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
        message=message,
        trigger=f"calling `{symbol}`" if symbol else f"importing `{module}`",
        consequence=f"TypeError: {_raised(problems[0], callee)}",
        suggestion=_suggestion(context, callee, problems),
        evidence=[context.cite_definition(callee.owner), *_upstream_call(context, callee, problems)],
        cause=f"{callee.owner.id} signature",
    )


def _line(call: ast.Call, problems: tuple[Problem, ...]) -> int:
    """The keyword concerned where there is one, else the call."""
    names = {p.name for p in problems if p.misfit in (Misfit.UNKNOWN_KEYWORD, Misfit.MULTIPLE_VALUES)}
    lines = [k.value.lineno for k in call.keywords if k.arg in names]
    return lines[0] if lines else call.lineno


def _raised(problem: Problem, callee: Callee) -> str:
    name = callee.label if callee.function is not None and callee.function.in_class else f"{callee.label}()"
    name = name if name.endswith(")") else f"{name}()"
    if problem.misfit is Misfit.UNKNOWN_KEYWORD:
        return f"{name} got an unexpected keyword argument '{problem.name}'"
    if problem.misfit is Misfit.MISSING_ARGUMENT:
        return f"{name} missing required argument '{problem.name}'"
    if problem.misfit is Misfit.MULTIPLE_VALUES:
        return f"{name} got multiple values for argument '{problem.name}'"
    return f"{name} {problem.detail.replace('takes', 'takes at most')}"


def _suggestion(context: Context, callee: Callee, problems: tuple[Problem, ...]) -> str:
    unknown = [p.name for p in problems if p.misfit is Misfit.UNKNOWN_KEYWORD]
    missing = [p.name for p in problems if p.misfit is Misfit.MISSING_ARGUMENT]
    if len(unknown) == 1 and len(missing) == 1:
        return f"pass `{missing[0]}=` in place of `{unknown[0]}=`, if it means the same; see the definition cited"
    parts = []
    if unknown:
        parts.append("drop " + ", ".join(f"`{n}=`" for n in unknown))
    if missing:
        parts.append("pass " + ", ".join(f"`{n}=`" for n in missing))
    if any(p.misfit is Misfit.TOO_MANY_POSITIONAL for p in problems):
        parts.append(f"pass only what `{callee.signature}` takes")
    if any(p.misfit is Misfit.MULTIPLE_VALUES for p in problems):
        parts.append("pass the arguments by keyword")
    return ("; ".join(parts) or "follow the definition cited") + _example_text(context, callee)


def _example_text(context: Context, callee: Callee) -> str:
    return "; upstream's own call is cited" if _upstream_calls(context, callee) else ""


def _upstream_call(context: Context, callee: Callee, problems: tuple[Problem, ...]) -> list[str]:
    """How upstream itself calls it: the value to pass can be read there."""
    wanted = {p.name for p in problems if p.misfit is Misfit.MISSING_ARGUMENT}
    calls = _upstream_calls(context, callee)
    calls.sort(key=lambda item: (-len(wanted & set(item[1])), item[0], item[2]))
    return [context.cite(context.upstream, module, line, line + 6) for module, _, line in calls[:1]]


def _upstream_calls(context: Context, callee: Callee) -> list[tuple[str, tuple[str, ...], int]]:
    if context.world.tree(callee.owner.module) is not context.upstream:
        return []
    name = callee.symbol.qualname.rpartition(".")[2]
    if name == "__init__":
        return []
    return [(m, c.keywords, c.line) for m, c in context.upstream.calls_by_name.get(name, ())]

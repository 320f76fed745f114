"""Arguments passed by position land in other parameters than upstream means.

Upstream inserted a parameter in the middle, or the plugin's override kept an older order, and the call still
binds: nothing is raised, and every later value goes one parameter too far. Both directions are looked at:
upstream calling an override of the plugin, and the plugin calling upstream.

Example: ``count_blocks(request, tokens, total)`` became ``count_blocks(request, tokens, local, total)`` with
a default for ``total``; the plugin's ``count_blocks(r, t, n)`` now passes its total as ``local``.

Cannot see: parameters that changed places and names at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tools.checks._binding import arguments
from tools.checks._callers import callers_of
from tools.checks._classes import classes_of
from tools.checks.base import Context, Result
from tools.code.infer import Form, Type
from tools.code.records import Call, Function, Param, ParamKind
from tools.code.signature import bind, is_property, keeps_signature, render, without_receiver
from tools.code.world import Kind
from tools.findings import Certainty, Level, Severity

ID = "OVR003"
TITLE = "Arguments shift to other parameters"
SEVERITY = Severity.WARNING

Params = tuple[Param, ...]


def run(context: Context) -> Iterable[Result]:
    """Findings for overrides in another order, and for positional calls across an inserted parameter."""
    yield from _overrides(context)
    if context.before is not None:
        yield from _calls(context)


def positional(params: Sequence[Param]) -> list[str]:
    """Names in the order that positional arguments fill."""
    return [p.name for p in params if p.kind in (ParamKind.POSITIONAL_ONLY, ParamKind.POSITIONAL_OR_KEYWORD)]


def shifted(meant: Sequence[Param], got: Sequence[Param], nargs: int) -> tuple[str, str] | None:
    """The first (meant, filled) pair that differs although both sides know the meant name elsewhere."""
    left, right = positional(meant), positional(got)
    for one, other in zip(left[:nargs], right[:nargs], strict=False):
        if one != other:
            # A mere rename keeps its place; a shift has the name in another one.
            return (one, other) if one in right or other in left else None
    return None


def _overrides(context: Context) -> Iterator[Result]:
    callers = callers_of(context)
    for override in classes_of(context).overrides:
        own, theirs = override.function, override.upstream
        if is_property(own) or is_property(theirs) or not keeps_signature(own):
            continue
        mine, meant = without_receiver(own), without_receiver(theirs)
        if shifted(meant, mine, 99) is None:
            continue

        def shifts(call: Call, meant: Params = meant, mine: Params = mine) -> bool:
            return shifted(meant, mine, call.nargs) is not None and not bind(mine, arguments(call))

        for site in callers.sites(override.seat, override.name, theirs, shifts):
            pair = shifted(meant, mine, site.call.nargs)
            assert pair is not None
            where = context.version(context.role)
            yield context.finding(
                ID,
                module=override.owner.module,
                line=own.line,
                symbol=override.symbol,
                key=override.name,
                severity=Severity.WARNING,
                certainty=site.certainty,
                level=Level.SIGNATURE,
                silent=True,
                message=(
                    f"{where} passes `{pair[0]}` by position at"
                    f" `{context.upstream.paths[site.module]}:{site.call.line}`, and the override"
                    f" `{override.symbol}` receives it as `{pair[1]}`"
                ),
                trigger=f"`{site.call.scope}` calls `{site.call.callee}`",
                consequence="values land in the wrong parameters and nothing is raised",
                suggestion=f"bring the parameters into the target's order: `{override.name}{render(meant)}`",
                evidence=[
                    context.cite(context.upstream, site.module, site.call.line, site.call.line + 6),
                    context.cite(
                        context.upstream, override.upstream_owner.module, theirs.line, theirs.line + 8
                    ),
                ],
                cause=override.cause,
            )
            break


def _calls(context: Context) -> Iterator[Result]:
    """Positional calls of the plugin that bind in both releases, to different parameters."""
    assert context.before is not None
    moved = _reordered(context)
    for module in sorted(context.plugin.modules):
        for call in context.plugin.calls(module):
            if call.nargs < 2 or call.star or call.callee.rpartition(".")[2] not in moved:
                continue
            old = _callee(context.before, module, call)
            if old is None or context.world.tree(old[0].ref.module) is not context.upstream:
                continue
            new = _callee(context, module, call)
            if new is None or new[0].ref.id != old[0].ref.id or new[1].params == old[1].params:
                continue
            was, now = without_receiver(old[1]), without_receiver(new[1])
            pair = shifted(was, now, call.nargs)
            if pair is None or bind(was, arguments(call)) or bind(now, arguments(call)):
                continue
            where = context.version(context.role)
            name = new[0].ref.qualname
            yield context.finding(
                ID,
                module=module,
                line=call.line,
                symbol=call.scope,
                key=f"{new[0].ref.id} call",
                severity=Severity.WARNING,
                certainty=Certainty.CERTAIN if new[0].form is Form.FUNCTION else Certainty.LIKELY,
                level=Level.SIGNATURE,
                silent=True,
                message=(
                    f"`{name}{render(was)}` became `{name}{render(now)}` in {where}: the positional call"
                    f" passes `{pair[0]}` as `{pair[1]}`"
                ),
                trigger=f"`{call.scope or module}` calls `{call.callee}`",
                consequence="values land in the wrong parameters and nothing is raised",
                suggestion=f"pass by keyword: `{pair[0]}=…`, and decide what `{pair[1]}` is to be",
                evidence=[context.cite_definition(new[0].ref), context.before.cite_definition(old[0].ref)],
                cause=f"{new[0].ref.id} signature",
            )


def _reordered(context: Context) -> frozenset[str]:
    """Last parts of names of upstream functions whose positional parameters changed places since base."""
    assert context.before is not None
    old = {(m, f.qualname): f for fs in callers_of(context.before).named.values() for m, f in fs}
    out = set()
    for name, functions in callers_of(context).named.items():
        for module, function in functions:
            was = old.get((module, function.qualname))
            if was is not None and was.params != function.params and shifted(was.params, function.params, 99):
                out.add(name)
    return frozenset(out)


def _callee(context: Context, module: str, call: Call) -> tuple[Type, Function] | None:
    """The upstream function a call of the plugin reaches, as far as names and annotations tell."""
    callers = callers_of(context)
    head, dot, last = call.callee.rpartition(".")
    if not dot:
        found = context.world.name(module, call.scope, call.callee)
        known = Type(Form.FUNCTION, found) if found.kind is Kind.FUNCTION else None
    elif head.startswith("super()"):
        return None
    else:
        receiver = callers.receiver(module, call)
        known = context.inference.attribute(receiver, last) if receiver is not None else None
    if known is None or known.form not in (Form.FUNCTION, Form.METHOD):
        return None
    function = context.world.function_record(known.ref)
    if function is None or not keeps_signature(function):
        return None
    return known, function

"""A method of the plugin cannot take a call that upstream makes.

A plugin class overrides a method of an upstream class, or stands in for that class, and a call in the
target passes what the override does not accept, or leaves out what it requires. Only calls that can meet the
plugin's class count: on ``self`` inside its bases, on a value declared as one of its bases, or of a name that
no other class of upstream could serve. Where no caller breaks, parameters new in the target are a note.

Example: the plugin's ``MyImpl.forward(self, layer, query)`` overrides ``Impl.forward``; the target's layer
now calls ``self.impl.forward(self, query, scale=s)``: a TypeError at the first request.

Cannot see: calls through ``__call__`` of modules, through strings (``collective_rpc``) or containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks._binding import arguments, describe
from tools.checks._callers import Callers, Site, callers_of
from tools.checks._classes import Override, classes_of
from tools.checks.base import Context, Result
from tools.code.records import Param, ParamKind
from tools.code.signature import bind, is_property, keeps_signature, render, without_receiver
from tools.findings import Certainty, Decision, Level, Severity

ID = "OVR001"
TITLE = "An override cannot take a call of the target"
SEVERITY = Severity.ERROR

_DISPATCHED = frozenset(
    {"forward_oot", "forward_cuda", "forward_native", "forward_cpu", "forward_xpu", "forward_hip"}
)
"""Reached through ``CustomOp.forward(*args)``; what a layer is called with is another check's matter."""


def run(context: Context) -> Iterable[Result]:
    """Findings for every override whose parameters differ from the overridden method's."""
    callers = callers_of(context)
    for override in classes_of(context).overrides:
        if _comparable(override):
            yield from _judge(context, callers, override)


def _comparable(override: Override) -> bool:
    own, theirs = override.function, override.upstream
    if override.name.startswith("__") or override.name in _DISPATCHED:
        return False
    if is_property(own) or is_property(theirs) or not keeps_signature(own):
        return False
    return _shape(without_receiver(own)) != _shape(without_receiver(theirs))


def _shape(params: Iterable[Param]) -> list[tuple[str, ParamKind, bool]]:
    return [(p.name, p.kind, p.default is None) for p in params]


def _judge(context: Context, callers: Callers, override: Override) -> Iterator[Result]:
    own = without_receiver(override.function)
    sites = callers.sites(
        override.seat, override.name, override.upstream, lambda call: bool(bind(own, arguments(call)))
    )
    broken = [
        (site, describe(bind(own, arguments(site.call))))
        for site in sites
        if not callers.is_open(override, site)
    ]
    if broken:
        yield _error(context, override, broken)
    elif context.before is not None:
        yield from _new_parameters(context, override)


def _error(context: Context, override: Override, broken: list[tuple[Site, str]]) -> Result:
    broken.sort(key=lambda pair: (pair[0].certainty.rank, pair[0].module, pair[0].call.line))
    site, why = broken[0]
    upstream, where = context.upstream, context.version(context.role)
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    theirs = render(without_receiver(override.upstream))
    return context.finding(
        ID,
        module=override.owner.module,
        line=override.function.line,
        symbol=override.symbol,
        key=override.name,
        severity=Severity.ERROR,
        certainty=site.certainty,
        level=Level.SIGNATURE,
        message=(
            f"`{override.symbol}` overrides `{override.upstream_owner.qualname}.{override.name}`, and {where}"
            f" calls it at `{upstream.paths[site.module]}:{site.call.line}`{more} in a way it cannot take:"
            f" {why}"
        ),
        trigger=f"`{site.call.scope or site.module}` calls `{site.call.callee}`",
        consequence=f"TypeError in `{site.module}:{site.call.scope}`",
        suggestion=f"take the parameters of {where}: `{override.name}{theirs}`, and act on the new ones",
        evidence=[
            *(context.cite(upstream, s.module, s.call.line, s.call.line + 8) for s, _ in broken[:3]),
            context.cite(
                upstream, override.upstream_owner.module, override.upstream.line, _head_end(override)
            ),
        ],
        cause=override.cause,
    )


def _head_end(override: Override) -> int:
    return min(override.upstream.end_line, override.upstream.line + 11)


def _new_parameters(context: Context, override: Override) -> Iterator[Result]:
    """Parameters that upstream's method gained since base and the override does not take."""
    assert context.before is not None
    member = context.before.world.own_member(override.upstream_owner, override.name)
    old = context.before.world.function_record(member) if member is not None else None
    if old is None:
        return
    known = {p.name for p in old.params}
    own = without_receiver(override.function)
    if any(p.kind in (ParamKind.VAR_KEYWORD, ParamKind.VAR_POSITIONAL) for p in own):
        return
    gained = [
        p
        for p in without_receiver(override.upstream)
        if p.name not in known
        and p.kind not in (ParamKind.VAR_KEYWORD, ParamKind.VAR_POSITIONAL)
        and p.name not in {o.name for o in own}
    ]
    if not gained or len(own) >= len(without_receiver(override.upstream)):
        return
    required = [p for p in gained if p.required]
    names = ", ".join(f"`{p.name}`" for p in gained)
    where = context.version(context.role)
    yield context.finding(
        ID,
        module=override.owner.module,
        line=override.function.line,
        symbol=override.symbol,
        key=override.name,
        severity=Severity.WARNING if required else Severity.NOTE,
        certainty=Certainty.LIKELY if required else Certainty.POSSIBLE,
        decision=Decision.UPDATE,
        level=Level.SIGNATURE,
        message=(
            f"`{override.upstream_owner.qualname}.{override.name}` takes {names} in {where};"
            f" the override `{override.symbol}` does not"
        ),
        trigger=f"a caller that passes {names}",
        consequence="TypeError when a caller passes it; none was found in the target",
        suggestion=f"take {names} and say in a note why it may be ignored, where it may",
        evidence=[
            context.cite(
                context.upstream, override.upstream_owner.module, override.upstream.line, _head_end(override)
            )
        ],
        cause=override.cause,
    )

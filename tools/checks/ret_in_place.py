"""A caller still hands over the buffer that a method no longer fills.

Upstream turned a method that wrote into ``output=`` into one that returns its result. The plugin's override
followed, a caller of it inside the plugin did not: it passes a parameter that is gone, or ignores the result.

Example: ``def forward(self, x, output)`` became ``def forward(self, x)`` that returns; the plugin's layer
still calls ``self.impl.forward(x, output=out)``: TypeError.

Cannot see: buffers that are passed by position.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks._callers import callers_of
from tools.checks._classes import Override, classes_of
from tools.checks.base import Context, Result
from tools.code.records import Call, Function, ParamKind
from tools.code.signature import without_receiver
from tools.findings import Certainty, Level, Severity

ID = "RET003"
TITLE = "A caller passes the buffer that a method no longer takes"
SEVERITY = Severity.ERROR

_BUFFERS = frozenset({"out", "output", "outputs", "result", "dst"})


def run(context: Context) -> Iterable[Result]:
    """Findings for call sites in the plugin."""
    if context.before is None:
        return
    for override in classes_of(context).overrides:
        member = context.before.world.own_member(override.upstream_owner, override.name)
        old = context.before.world.function_record(member) if member is not None else None
        gone = _gone(old, override) if old is not None else frozenset()
        for keyword in sorted(gone):
            for module, call in _calls(context, override, keyword):
                yield _finding(context, override, keyword, module, call)


def _gone(old: Function, override: Override) -> frozenset[str]:
    """Buffers that base's method took, and neither the target's nor the plugin's does."""
    for function in (override.function, override.upstream):
        if any(p.kind is ParamKind.VAR_KEYWORD for p in function.params):
            return frozenset()
    now = {p.name for f in (override.function, override.upstream) for p in f.params}
    return frozenset(p.name for p in without_receiver(old) if p.name in _BUFFERS and p.name not in now)


def _calls(context: Context, override: Override, keyword: str) -> Iterator[tuple[str, Call]]:
    callers = callers_of(context)
    ours = {override.seat.cls.id, override.owner.id, *override.seat.family}
    for module, call in context.plugin.calls_by_name.get(override.name, ()):
        if keyword not in call.keywords or "." not in call.callee or call.callee.startswith("super()"):
            continue
        known = callers.receiver(module, call)
        if known is None or any(c.id in ours for c in context.world.mro(known.ref).classes):
            yield module, call


def _finding(context: Context, override: Override, keyword: str, module: str, call: Call) -> Result:
    where = context.version(context.role)
    name = f"{override.upstream_owner.qualname}.{override.name}"
    return context.finding(
        ID,
        module=module,
        line=call.line,
        symbol=call.scope,
        key=f"{override.name} {keyword}",
        severity=Severity.ERROR,
        certainty=Certainty.LIKELY,
        level=Level.SIGNATURE,
        message=(
            f"still passes `{keyword}=` to `{override.name}`: `{name}` returns its result in {where}, and the"
            f" override `{override.symbol}` followed"
        ),
        trigger=f"calling `{call.scope or module}`",
        consequence=f"TypeError: unexpected keyword argument '{keyword}'",
        suggestion=f"use what `{override.name}` returns, and drop `{keyword}=`",
        evidence=[
            context.cite(context.plugin, override.owner.module, override.function.line),
            context.cite(context.upstream, override.upstream_owner.module, override.upstream.line),
        ],
        cause=override.cause,
    )

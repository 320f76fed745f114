"""An override of another kind than the method it overrides.

Upstream made a method a coroutine, a property, a static or a class method, and its callers use it so; the
plugin's override is still a plain method. The parameters fit, the way of calling does not.

Example: ``async def finish(self)`` in the target, awaited by the engine; the plugin's ``def finish(self)``
returns None: ``TypeError: object NoneType can't be used in 'await' expression``.

Cannot see: reads of properties outside the classes of the family.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.checks._callers import Callers, Site, callers_of
from tools.checks._classes import Override, classes_of
from tools.checks.base import Context, Result
from tools.code.infer import Form
from tools.code.records import Function
from tools.code.signature import is_property, is_static
from tools.findings import Level, Severity

ID = "OVR005"
TITLE = "An override of another kind than the target expects"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for overrides whose kind breaks a caller."""
    callers = callers_of(context)
    for override in classes_of(context).overrides:
        if override.name.startswith("__") or not _matters(override.function, override.upstream):
            continue
        sites = callers.sites(override.seat, override.name, override.upstream, lambda call: True)
        for site in sites:
            why = _breaks(context, callers, override, site)
            if why:
                yield _finding(context, override, site, why)
                break


def _kind(function: Function) -> str:
    if is_property(function):
        return "property"
    if is_static(function):
        return "static method"
    kind = "class method" if "classmethod" in function.decorators else "method"
    if function.is_async:
        return f"{'generator' if function.is_generator else 'coroutine'} {kind}"
    return kind


def _matters(own: Function, theirs: Function) -> bool:
    """Can a caller tell the two kinds apart?"""
    if is_property(theirs) or own.is_generator != theirs.is_generator:
        return False
    bound = is_static(own) or "classmethod" in own.decorators
    unbound = is_static(theirs) or "classmethod" in theirs.decorators
    return is_property(own) or own.is_async != theirs.is_async or (unbound and not bound)


def _breaks(context: Context, callers: Callers, override: Override, site: Site) -> str:
    own, theirs = override.function, override.upstream
    if is_property(own):
        return "calls what the property returns"
    awaited = _awaited(context, site)
    if awaited and theirs.is_async and not own.is_async and not set(own.arities) - {0}:
        return "awaits its result, which is None"
    if own.is_async and not theirs.is_async and not awaited:
        return "does not await it, so its body never runs"
    plain = not is_static(own) and "classmethod" not in own.decorators
    if plain and (is_static(theirs) or "classmethod" in theirs.decorators):
        receiver = callers.receiver(site.module, site.call)
        if receiver is not None and receiver.form is Form.CLASS:
            return "calls it on the class, where no instance is bound"
    return ""


def _awaited(context: Context, site: Site) -> bool:
    line = context.upstream.lines(site.module)[site.call.line - 1]
    return re.search(r"\bawait\b.*" + re.escape(site.call.callee.rpartition(".")[2]), line) is not None


def _finding(context: Context, override: Override, site: Site, why: str) -> Result:
    where = context.version(context.role)
    theirs = _kind(override.upstream)
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
            f"`{override.symbol}` is a {_kind(override.function)}, but `{override.upstream_owner.qualname}."
            f"{override.name}` is a {theirs} in {where}, and"
            f" `{context.upstream.paths[site.module]}:{site.call.line}` {why}"
        ),
        trigger=f"`{site.call.scope}` calls `{site.call.callee}`",
        consequence="TypeError, or a body that never runs",
        suggestion=f"make `{override.name}` a {theirs}",
        evidence=[
            context.cite(context.upstream, site.module, site.call.line),
            context.cite(context.upstream, override.upstream_owner.module, override.upstream.first_line),
        ],
        cause=override.cause,
    )

"""An override returns something else than the target's callers use.

Upstream's method began to return a value, another number of values, or an object whose attributes the caller
reads; the plugin's override returns what it did before. The parameters still fit, so nothing but the use of
the result shows it.

Example: ``Worker.compile_or_warm_up_model`` returns seconds in the target and the engine adds them up; the
plugin's override ends without a return: ``TypeError`` with ``NoneType`` after warming up.

Cannot see: results that travel through other functions before they are used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tools.checks._callers import Callers, Site, callers_of
from tools.checks._classes import Override, classes_of
from tools.checks._results import NOTHING, Kind, Use, annotated_count, count, gives_nothing, is_scalar, use_of
from tools.checks.base import Context, Result
from tools.code.records import Function
from tools.code.signature import is_property, keeps_signature
from tools.findings import Certainty, Level, Severity

ID = "RET002"
TITLE = "An override returns something else than the target uses"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for overrides whose result differs from that of the overridden method."""
    callers = callers_of(context)
    for override in classes_of(context).overrides:
        own, theirs = override.function, override.upstream
        if override.name.startswith("__") or is_property(own) or is_property(theirs):
            continue
        if own.is_generator or theirs.is_generator or not keeps_signature(own):
            continue
        yield from _judge(context, callers, override)


def _differs(context: Context, override: Override) -> str:
    """What the override returns, in words, where the upstream method returns something else."""
    own, theirs = override.function, override.upstream
    mine, meant = count(own), count(theirs)
    optional = (
        meant == NOTHING or not theirs.returns or "None" in theirs.returns or "Optional" in theirs.returns
    )
    valued = not optional and annotated_count(theirs.returns) != NOTHING
    valued = valued and theirs.returns not in ("Any", "typing.Any", "NoReturn") and not own.is_stub
    if valued and gives_nothing(context, override.owner.module, own):
        return "nothing"
    if mine is not None and meant is not None and mine > 1 and meant > 1 and mine != meant:
        return f"{mine} values"
    if is_scalar(own.returns) and theirs.returns and not is_scalar(theirs.returns):
        return f"`{own.returns}`"
    return ""


def _judge(context: Context, callers: Callers, override: Override) -> Iterator[Result]:
    gives = _differs(context, override)
    if not gives:
        yield from _changed_type(context, callers, override)
        return
    for site, use in _uses(context, callers, override):
        if _breaks(gives, use, override):
            yield _finding(context, override, gives, site, use)
            return
    old = _before(context, override)
    if old is not None and old.returns != override.upstream.returns:
        yield _finding(context, override, gives, None, None)


def _changed_type(context: Context, callers: Callers, override: Override) -> Iterator[Result]:
    """The override still promises what base's method promised, and the target's promises something else."""
    old, own, theirs = _before(context, override), override.function.returns, override.upstream.returns
    if old is None or not own or not old.returns or not theirs or _parts(own) != _parts(old.returns):
        return
    if _parts(own) & _parts(theirs) or _parts(own) & {"none", "any", "self"} or "Any" in theirs:
        return
    if any(word in text for text in (own, theirs, old.returns) for word in ("Optional", "Union")):
        return  # Two ways of writing one type are too easily taken for two types.
    for site, use in _uses(context, callers, override):
        if use.kind is not Kind.DROPPED:
            finding = _finding(context, override, f"`{own}`", site, replace(use, kind=Kind.VALUE))
            yield finding.model_copy(update={"severity": Severity.NOTE, "certainty": Certainty.POSSIBLE})
            return


def _parts(text: str) -> frozenset[str]:
    """Alternatives of an annotation, without quotes and module names."""
    return frozenset(re.sub(r"[\w.]+\.", "", part.strip("\"' ")).lower() for part in text.split("|"))


def _before(context: Context, override: Override) -> Function | None:
    if context.before is None:
        return None
    member = context.before.world.own_member(override.upstream_owner, override.name)
    return context.before.world.function_record(member) if member is not None else None


def _uses(context: Context, callers: Callers, override: Override) -> Iterator[tuple[Site, Use]]:
    found = callers.sites(override.seat, override.name, override.upstream, lambda call: True)
    for site in [*found, *_by_string(context, override.name)]:
        use = use_of(context, site.module, site.call)
        if use is not None:
            yield site, use


def _by_string(context: Context, name: str) -> Iterator[Site]:
    """``collective_rpc("name")``: every worker's method of that name runs, and the results come in a list."""
    for module, call in context.upstream.calls_by_name.get("collective_rpc", ()):
        text = "".join(context.upstream.lines(module)[call.line - 1 : call.line + 2])
        if f'collective_rpc("{name}"' in text.replace(" ", "") or f"collective_rpc('{name}'" in text:
            yield Site(module, call, Certainty.LIKELY)


def _breaks(gives: str, use: Use, override: Override) -> bool:
    if use.kind is Kind.UNPACKED:
        return gives != f"{use.count} values"
    if use.kind is Kind.ATTRIBUTE:
        return gives == "nothing" or gives.startswith("`")
    return use.kind is Kind.VALUE and gives == "nothing"


def _finding(context: Context, override: Override, gives: str, site: Site | None, use: Use | None) -> Result:
    where = context.version(context.role)
    theirs = override.upstream
    promise = f"`{theirs.returns}`" if theirs.returns else f"{count(theirs)} values"
    name = f"`{override.upstream_owner.qualname}.{override.name}`"
    severity, does = Severity.WARNING, "no caller that uses it was found"
    evidence = [context.cite(context.upstream, override.upstream_owner.module, theirs.line, theirs.line + 10)]
    if site is not None and use is not None:
        what = {
            Kind.UNPACKED: f"unpacks {use.count} values from it",
            Kind.ATTRIBUTE: f"reads `.{use.name}` of it",
        }.get(use.kind, "uses it")
        does = f"`{context.upstream.paths[site.module]}:{use.line}` {what}"
        severity = Severity.WARNING if use.kind is Kind.VALUE else Severity.ERROR
        evidence.insert(0, context.cite(context.upstream, site.module, site.call.line, use.line + 4))
    return context.finding(
        ID,
        module=override.owner.module,
        line=override.function.line,
        symbol=override.symbol,
        key=override.name,
        severity=severity,
        certainty=site.certainty if site is not None else Certainty.POSSIBLE,
        level=Level.SIGNATURE,
        message=f"`{override.symbol}` returns {gives}, but {name} returns {promise} in {where}, and {does}",
        trigger=f"`{site.call.scope}` calls `{site.call.callee}`" if site is not None else "a caller of it",
        consequence=(
            "TypeError, ValueError or AttributeError where the result is used"
            if severity is Severity.ERROR
            else "what the caller gets is not what it was written for; it fails or misleads where it is used"
        ),
        suggestion=f"return what {name} of {where} returns",
        evidence=evidence,
        cause=f"{override.root.id}.{override.name} returns",
    )

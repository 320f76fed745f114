"""An attention backend is registered for a member that upstream's enum lacks, or names itself so.

Upstream keys backends by the members of an enum; only ``CUSTOM`` is open. It also turns ``get_name()`` of the
selected backend back into a member when a layer is built, so a backend with a name of its own passes
registration and selection and then raises.

Example: ``get_name()`` returns ``"ACME_FLASH"``: ``ValueError: Unknown attention backend: 'ACME_FLASH'`` for
every model, although ``register_backend(AttentionBackendEnum.CUSTOM, …)`` succeeded.

Cannot see: names that ``get_name`` computes, and backends that nothing registers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.records import Function
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity
from tools.registry.lookups import lookups_of
from tools.registry.sites import ATTENTION, Registration, registrations

ID = "REG003"
TITLE = "Attention backend that upstream's enum does not know"
SEVERITY = Severity.ERROR

_BY_NAME = re.compile(r"\b(\w+)\[[\w.]*get_name\(\)\]")
_RETURNED = re.compile(r"^\s*return\s+[\"']([^\"']+)[\"']\s*(?:#.*)?$")


def run(context: Context) -> Iterable[Result]:
    """Judges the member that is registered for, and the name of the class that is registered."""
    tables = lookups_of(context)
    lookups: dict[str, tuple[str, int] | None] = {}
    seen: set[str] = set()
    for item in registrations(context):
        if item.kind != ATTENTION or item.owner is None or not item.key:
            continue
        members = tables.members(item.owner)
        if members is None:
            continue
        member = item.key.rpartition(".")[2]
        if member not in members:
            yield _no_member(context, item, member, list(members))
            continue
        cls = _class(context, item)
        if cls is None or cls.id in seen:
            continue
        seen.add(cls.id)
        found = _name(context, cls)
        if found is None or found[0] in members:
            continue
        enum = item.owner.qualname
        if enum not in lookups:
            lookups[enum] = _lookup(context, enum)
        site = lookups[enum]
        if site is not None:
            yield _no_name(context, cls, found, site, item.owner)


def _class(context: Context, item: Registration) -> Resolution | None:
    found = context.world.path(item.path) if item.path else item.value
    if found is None or found.kind is not Kind.CLASS:
        return None
    return found if context.world.tree(found.module) is context.plugin else None


def _lookup(context: Context, enum: str) -> tuple[str, int] | None:
    """Where upstream turns a backend's name into a member of ``enum``; None where it never does."""
    upstream = context.upstream
    for module in lookups_of(context).importers(enum):
        if b".get_name()]" in upstream.snapshot.read(upstream.paths[module]):
            for number, text in enumerate(upstream.lines(module), 1):
                match = _BY_NAME.search(text)
                if match is not None and match.group(1) == enum:
                    return module, number
    return None


def _name(context: Context, cls: Resolution) -> tuple[str, Resolution, Function] | None:
    """The text that ``get_name`` returns, when it is one text and the plugin's own."""
    found = context.world.class_member(cls, "get_name")
    if found is None or found.kind is not Kind.FUNCTION or found.module not in context.plugin.paths:
        return None
    record = context.world.function_record(found)
    if record is None:
        return None
    body = context.plugin.lines(found.module)[record.line : record.end_line]
    names = [m.group(1) for m in map(_RETURNED.match, body) if m is not None]
    returns = [text for text in body if text.strip().startswith("return")]
    return (names[0], found, record) if len(names) == 1 and len(returns) == 1 else None


def _no_member(context: Context, item: Registration, member: str, members: list[str]) -> Result:
    assert item.owner is not None
    where = context.version(context.role)
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=item.key,
        severity=Severity.ERROR,
        message=f"{item.owner.qualname} of {where} has no member {member}",
        trigger="when the registration runs",
        consequence=f"AttributeError: {member}",
        suggestion="Register for the member that took over"
        + (", or for CUSTOM." if "CUSTOM" in members else "."),
        evidence=[context.cite_definition(item.owner, whole=True)],
        cause=f"{item.owner.id} lost {member}",
    )


def _no_name(
    context: Context,
    cls: Resolution,
    found: tuple[str, Resolution, Function],
    site: tuple[str, int],
    enum: Resolution,
) -> Result:
    name, method, record = found
    where = context.version(context.role)
    return context.finding(
        ID,
        module=method.module,
        line=record.line,
        symbol=method.qualname,
        key=f"name {name}",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
        message=f"{cls.qualname}.get_name() returns {name!r}, which is no member of {enum.qualname} in {where}",
        trigger="the first attention layer that is built with this backend",
        consequence=f"ValueError: Unknown attention backend: {name!r}",
        suggestion="Return the name of the member it is registered for; a backend of one's own is CUSTOM.",
        evidence=[context.cite(context.upstream, *site), context.cite_definition(enum)],
        cause=f"{enum.id} has no {name}",
    )

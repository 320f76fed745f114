"""A class of the plugin cannot be constructed the way upstream constructs it.

Upstream constructs classes it was told of: through a registry (``register_oot``), a class put in place of its
own, or a class chosen by a backend or a path in the configuration. The constructor of the plugin's class must
take what those lines pass, however the class itself is spelled there.

Example: the target's engine resolves the scheduler class from the configuration and calls
``Scheduler(config, hash_block_size=n)``: the plugin's ``MyScheduler.__init__(self, config)`` raises.

Cannot see: constructions through ``**kwargs`` alone, and classes that are called through a container.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks._binding import arguments, describe
from tools.checks._callers import Site, callers_of
from tools.checks._classes import Seat, classes_of
from tools.checks._constructions import Constructions
from tools.checks.base import Context, Result
from tools.code.constructor import Constructor, constructor
from tools.code.signature import bind, render
from tools.code.world import Resolution
from tools.findings import Level, Severity

ID = "OVR002"
TITLE = "A class of the plugin cannot take the target's construction"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for every plugin class with a constructor of its own."""
    constructions = Constructions(callers_of(context))
    seen: set[str] = set()
    for seat in classes_of(context).met:
        own = constructor(context.world, seat.cls)
        if own is None or context.world.tree(own.owner.module) is not context.plugin or own.owner.id in seen:
            continue
        for finding in _judge(context, constructions, seat, own):
            seen.add(own.owner.id)
            yield finding


def _judge(context: Context, constructions: Constructions, seat: Seat, own: Constructor) -> Iterator[Result]:
    broken: list[tuple[Site, str, Resolution]] = []
    for site, base in constructions.of(seat):
        problems = bind(own.params, arguments(site.call))
        theirs = constructor(context.world, base) if problems else None
        if theirs is not None and not bind(theirs.params, arguments(site.call)):
            broken.append((site, describe(problems), theirs.owner))
    if not broken:
        return
    broken.sort(key=lambda b: (b[0].certainty.rank, b[0].module, b[0].call.line))
    site, why, owner = broken[0]
    where = context.version(context.role)
    symbol = own.function.qualname if own.function is not None else seat.cls.qualname
    record = context.world.class_record(own.owner)
    line = own.function.line if own.function is not None else record.line if record is not None else 1
    path = context.upstream.paths[site.module]
    more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
    role = "is put in place of" if seat.replaced else "is chosen as"
    yield context.finding(
        ID,
        module=own.owner.module,
        line=line,
        symbol=symbol,
        key="constructor",
        severity=Severity.ERROR,
        certainty=site.certainty,
        level=Level.SIGNATURE,
        message=(
            f"`{seat.cls.qualname}` {role} `{owner.qualname}`, and {where} constructs it at"
            f" `{path}:{site.call.line}`{more} in a way `__init__{render(own.params)}` cannot take: {why}"
        ),
        trigger=f"`{site.call.scope or site.module}` constructs `{seat.cls.qualname}`",
        consequence=f"TypeError in `{site.module}:{site.call.scope}`",
        suggestion=f"take the parameters of `{owner.qualname}.__init__` in {where} and hand them on",
        evidence=[
            *(
                context.cite(context.upstream, s.module, s.call.line, s.call.line + 10)
                for s, _, _ in broken[:3]
            ),
            context.cite_definition(owner),
        ],
        cause=f"{owner.id} signature",
    )

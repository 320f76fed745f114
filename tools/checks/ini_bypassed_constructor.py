"""A constructor skips the one that sets what inherited methods read.

A plugin class that derives from an upstream class and calls ``super(Parent, self).__init__()``, names an
older ancestor, or calls nothing at all, copies what the skipped constructor did on the day it was written.
The check follows the constructors that really run, with the helpers they call on self, and lists attributes
that only a skipped constructor assigns and that a method of the class reads. Out-of-tree platforms skip
constructors to get round backend selection, so this is how a new attribute upstream reaches them.

Example: ``class MyGate(Gate)`` calls ``super(Gate, self).__init__()`` and copies ``Gate.__init__``. Upstream
adds ``self.allow_fp32 = …`` there and ``forward`` reads it: AttributeError on the first forward.

Cannot see: attributes set through computed names (such a class is not judged), and readers outside the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tools.checks._doubts import class_level, declared_by_protocol, later_writer, lent, shared
from tools.checks._platforms import facts
from tools.checks._reads import Read, reads
from tools.checks._source import Facts
from tools.checks._state import Method, Run, constants, construction, find, follow
from tools.checks._uses import called_plainly, entries, stored_outside
from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "INI001"
TITLE = "Inherited code reads attributes that no constructor sets"
SEVERITY = Severity.ERROR
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class Missing:
    """One attribute nobody assigns."""

    attr: str
    read: Read
    skipped: Method
    line: int
    """Where the skipped constructor assigns it."""
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with one class."""

    cls: Resolution
    start: Method
    done: Run
    missing: tuple[Missing, ...]
    doubtful: tuple[tuple[Missing, str], ...]


def run(context: Context) -> Iterable[Result]:
    """See the module's docstring."""
    before = {v.cls.id: v for v in _verdicts(context.before)} if context.before is not None else {}
    for verdict in _verdicts(context):
        old = before.get(verdict.cls.id)
        known = {m.attr for m in old.missing} if old is not None else set()
        for age in ("old", "new"):
            for severity in (Severity.ERROR, Severity.WARNING):
                part = [
                    m
                    for m in verdict.missing
                    if (context.before is None or m.attr in known) == (age == "old")
                    and (m.certainty is Certainty.POSSIBLE) == (severity is Severity.WARNING)
                ]
                if part:
                    yield _finding(context, verdict, part, severity, age)
        for missing, reason in verdict.doubtful:
            yield context.unresolved(
                ID,
                module=verdict.cls.module,
                line=verdict.start.function.line,
                symbol=verdict.start.function.qualname,
                reason=reason,
                subject=missing.attr,
            )


def _verdicts(context: Context) -> list[Verdict]:
    key = f"{ID} verdicts {context.role}"
    found = context.shared.get(key)
    if found is None:
        platform = facts(context)
        found = [v for v in _judged(context, platform) if v.missing or v.doubtful]
        context.shared[key] = found
    return found  # type: ignore[return-value]


def _judged(context: Context, platform: Facts) -> Iterator[Verdict]:
    world = context.world
    for module, record in context.plugin.classes():
        cls = Resolution(Kind.CLASS, module, record.qualname)
        if record.in_function or world.own_member(cls, "__init__") is None:
            continue
        parents = [c for c in world.mro(cls).classes[1:] if c.kind is Kind.CLASS]
        if not any(world.tree(c.module) is context.upstream for c in parents):
            continue
        start = find(world, cls, "__init__")
        if start is None:
            continue
        done = construction(world, cls, start)
        skipped = [
            m
            for c in parents
            if world.own_member(c, "__init__") is not None
            and (m := find(world, c, "__init__")) is not None
            and m.key not in done.methods
        ]
        served = world.class_member(cls, "__getattr__") is not None
        if done.anything or served or not skipped or lent(context, cls):
            yield Verdict(cls, start, done, (), ())
            continue
        yield _missing(context, cls, start, done, skipped, platform)


def _missing(
    context: Context,
    cls: Resolution,
    start: Method,
    done: Run,
    skipped: list[Method],
    platform: Facts,
) -> Verdict:
    world = context.world
    lost: dict[str, tuple[Method, int]] = {}
    for method in skipped:
        other = follow(world, cls, method)
        for attr, writes in other.writes.items():
            if attr not in done.writes and attr not in lost and not class_level(context, cls, attr):
                lost[attr] = (method, writes[0][1])
    if not lost:
        return Verdict(cls, start, done, (), ())
    missing: list[Missing] = []
    doubtful: list[tuple[Missing, str]] = []
    about = replace(platform, known=constants(done))
    found, reached = reads(world, cls, entries(context, cls), about)
    for attr, read in _first_reads(found, set(lost)).items():
        optional = (
            read.conditions
            or declared_by_protocol(context, cls, read.entry)
            or not called_plainly(context, read.entry, platform)
        )
        certainty = Certainty.POSSIBLE if optional else Certainty.LIKELY
        item = Missing(attr, read, *lost[attr], certainty)
        writer, always = later_writer(context, cls, attr, reached)
        if writer and (always or read.conditions):
            doubtful.append((item, f"set only by {writer}, which may or may not run before it is read"))
            continue
        outside = stored_outside(context, attr)
        if outside is not None:
            doubtful.append(
                (item, f"an attribute of this name is stored from outside in {outside[0]}:{outside[1]}")
            )
            continue
        if attr in shared(context, cls):
            doubtful.append((item, "the upstream class it was copied from skips the same constructor"))
            continue
        missing.append(item)
    return Verdict(cls, start, done, tuple(missing), tuple(doubtful))


def _first_reads(found: list[Read], wanted: set[str]) -> dict[str, Read]:
    """The read that is under the fewest conditions, by attribute."""
    best: dict[str, Read] = {}
    for read in found:
        if read.attr in wanted:
            kept = best.get(read.attr)
            if kept is None or read.conditions < kept.conditions:
                best[read.attr] = read
    return dict(sorted(best.items()))


def _finding(context: Context, verdict: Verdict, part: list[Missing], severity: Severity, age: str) -> Result:
    world, cls = context.world, verdict.cls
    shown = ", ".join(_with_reader(m) for m in part[:_SHOWN])
    if len(part) > _SHOWN:
        shown += f" and {len(part) - _SHOWN} more"
    skipped = part[0].skipped
    first = part[0].read
    sure = severity is Severity.ERROR
    condition = "" if sure else "When the read is reached: "
    evidence = [
        context.cite(tree, m.owner.module, line)
        for item in part[:_SHOWN]
        for m, line in ((item.read.method, item.read.line), (item.skipped, item.line))
        if (tree := world.tree(m.owner.module)) is not None
    ]
    return context.finding(
        ID,
        module=cls.module,
        line=_bypass_line(context, verdict),
        symbol=verdict.start.function.qualname,
        key=f"{severity}:{age}",
        severity=severity,
        certainty=Certainty.LIKELY if sure else Certainty.POSSIBLE,
        message=(
            f"`{cls.qualname}.__init__` does not run `{skipped.owner.qualname}.__init__`, and nothing else "
            f"that certainly runs sets {shown}"
        ),
        trigger=f"calling `{first.entry}` of a `{cls.qualname}`",
        consequence=f"{condition}AttributeError: '{cls.qualname}' object has no attribute '{part[0].attr}'",
        suggestion=(
            f"set {', '.join(f'`{m.attr}`' for m in part)} as `{skipped.owner.qualname}.__init__` does "
            f"(`{skipped.owner.module}:{part[0].line}`), or run that constructor"
        ),
        evidence=evidence,
        cause=f"{skipped.owner.id}.__init__ sets {part[0].attr}",
    )


def _with_reader(missing: Missing) -> str:
    read = missing.read
    return f"`{missing.attr}` (read by `{read.method.function.qualname}`, `{read.method.owner.module}:{read.line}`)"


def _bypass_line(context: Context, verdict: Verdict) -> int:
    """The line of the call that skips, or of ``def __init__`` when there is none."""
    for call in context.plugin.calls(verdict.cls.module):
        if call.scope == verdict.start.function.qualname and call.callee.endswith(".__init__"):
            return call.line
    return verdict.start.function.line

"""A copy lacks a method of its original that upstream calls.

Upstream adds a method to a class and calls it from another file. A plugin class that was copied from it, and
does not derive from it, has no such method. Where the caller asks with ``hasattr`` first, a feature is silently
not used; where it does not, the call raises. What the copy lacked before the upgrade is listed too.

Example: the proposer calls ``model.compact_topk_indices()`` on models that have ``set_skip_topk``; the
plugin's copy of the model gained the one and not the other: AttributeError on the first draft step.

Cannot see: whether the copy is ever what the caller holds, which is why nothing here is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks._copies import Copy, copies
from tools.checks._uses import outside_calls
from tools.checks.base import Context, Result
from tools.code.records import Call, Function
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "PLT003"
TITLE = "Copy without a method that upstream calls on the original"
SEVERITY = Severity.WARNING


@dataclass(frozen=True, slots=True)
class Lack:
    """One method the copy does not have."""

    name: str
    owner: Resolution
    function: Function
    calls: tuple[tuple[str, Call], ...]


def run(context: Context) -> Iterable[Result]:
    before = {p.cls.id: p for p in copies(context.before)} if context.before is not None else {}
    for pair in copies(context):
        own: list[Lack] = []
        borrowed: dict[str, list[Lack]] = {}
        for lack in _lacks(context, pair):
            here = lack.owner.id == pair.original.id
            (own if here else borrowed.setdefault(lack.owner.id, [])).append(lack)
        earlier = before.get(pair.cls.id)
        known = {n.name for n in own}
        if context.before is not None:
            known = {n.name for n in _lacks(context.before, earlier)} if earlier is not None else set()
        for age in ("old", "new"):
            part = [n for n in own if (n.name in known) == (age == "old")]
            if part:
                yield _finding(context, pair, part, age)
        for lacks in borrowed.values():
            yield _ancestor(context, pair, lacks)


def _lacks(context: Context, pair: Copy) -> Iterator[Lack]:
    world = context.world
    have = world.instance_attributes(pair.cls)
    seen: set[str] = set()
    for owner in world.mro(pair.original).classes:
        if world.tree(owner.module) is not context.upstream:
            continue
        for name, function in (
            context.upstream.namespace(owner.module).methods.get(owner.qualname, {}).items()
        ):
            if name.startswith("__") or name in have or name in seen:
                continue
            seen.add(name)
            calls = tuple(
                (module, call)
                for module, call in outside_calls(context.upstream, name)
                if module != owner.module and not _means_a_module(context, module, call)
            )
            if calls:
                yield Lack(name, owner, function, calls)


def _means_a_module(context: Context, module: str, call: Call) -> bool:
    """``helpers.name()`` where helpers is an imported module or class."""
    head = call.callee.rpartition(".")[0]
    if head.split(".")[0] in ("self", "?", "super()", "cls"):
        return False
    return context.world.name(module, call.scope, head).kind is not Kind.MISSING


def _finding(context: Context, pair: Copy, lacks: list[Lack], age: str) -> Result:
    record = context.world.class_record(pair.cls)
    assert record is not None
    names = ", ".join(f"{lack.name}()" for lack in lacks)
    return context.finding(
        ID,
        module=pair.cls.module,
        line=record.line,
        symbol=pair.cls.qualname,
        key=age,
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,
        message=(
            f"{pair.cls.qualname} has no {names}, which {pair.original.qualname}, its original, has "
            f"and upstream calls from outside"
        ),
        trigger=", ".join(f"{n.calls[0][0]}:{n.calls[0][1].line} calls {n.name}()" for n in lacks),
        consequence=(
            f"AttributeError: '{pair.cls.qualname}' object has no attribute '{lacks[0].name}'; behind hasattr, "
            f"a feature that is never used"
        ),
        suggestion=f"Take {names} over from {pair.original.module}:{lacks[0].function.line}, or say why not.",
        evidence=[
            evidence
            for lack in lacks
            for evidence in (
                context.cite_definition(Resolution(Kind.FUNCTION, lack.owner.module, lack.function.qualname)),
                context.cite(context.upstream, lack.calls[0][0], lack.calls[0][1].line),
            )
        ],
        cause=f"{pair.original.id} members",
    )


def _ancestor(context: Context, pair: Copy, lacks: list[Lack]) -> Result:
    """The original inherits what upstream calls; the copy has no such base."""
    record = context.world.class_record(pair.cls)
    assert record is not None
    owner = lacks[0].owner
    names = ", ".join(f"{lack.name}()" for lack in lacks)
    module, call = lacks[0].calls[0]
    return context.finding(
        ID,
        module=pair.cls.module,
        line=record.line,
        symbol=pair.cls.qualname,
        key=f"base {owner.qualname}",
        severity=Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        message=(
            f"{pair.original.qualname} derives from {owner.qualname}, its copy {pair.cls.qualname} does not "
            f"and lacks {names}"
        ),
        trigger=f"{module}:{call.line}",
        consequence=f"what {owner.qualname} announces is not there for the copy",
        suggestion=f"Derive from {owner.module}:{owner.qualname} too, if the copy supports what it stands for.",
        evidence=[context.cite_definition(owner), context.cite(context.upstream, module, call.line)],
        cause=f"{pair.original.id} derives from {owner.qualname}",
        silent=True,
    )

"""An inherited lookup that another class answers now.

A plugin class inherits a method from upstream. In the target the override that answered is deleted, so a
grandparent's default answers instead, or a new mixin stands before the class that did. Nothing is raised: the
call binds, and something else runs.

Example: ``Builder.build`` passes ``num_query_per_req`` on; upstream deletes it, and ``BuilderBase.build`` with
its default of 1 answers for the plugin's ``MyBuilder(Builder)``. Draft acceptance halves.

A warning when the plugin itself calls the method, else a note: upstream's callers changed with it.

Cannot see: whether callers changed together with the lookup. A definer that moved, was renamed, or whose body
is nearly the same is not reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from tools.checks._uses import is_entry
from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "MRO001"
TITLE = "Inherited lookup answered by another class"
SEVERITY = Severity.WARNING
_ALIKE = 0.6
"""Share of equal lines from which on two bodies count as one that moved along the hierarchy."""


@dataclass(frozen=True, slots=True)
class Shift:
    """``name`` on ``cls``: who answered in base, and who does in target."""

    cls: Resolution
    name: str
    old: Resolution
    new: Resolution
    deleted: bool
    """The old definer is still an ancestor, without the method."""


def run(context: Context) -> Iterable[Result]:
    if context.before is None:
        return
    seen: set[tuple[str, str, str]] = set()
    for module, record in context.plugin.classes():
        if record.in_function:
            continue
        for shift in _shifts(context, context.before, Resolution(Kind.CLASS, module, record.qualname)):
            key = (shift.old.id, shift.new.id, shift.name)
            if key not in seen:
                seen.add(key)
                yield _finding(context, context.before, shift, record.line)


def _shifts(context: Context, before: Context, cls: Resolution) -> Iterator[Shift]:
    now, then = context.world, before.world
    old_classes = [c for c in then.mro(cls).classes if then.tree(c.module) is before.upstream]
    new_classes = [c for c in now.mro(cls).classes if now.tree(c.module) is context.upstream]
    if not old_classes or not new_classes:
        return
    if [c.id for c in old_classes] == [c.id for c in new_classes] and all(
        _same_names(context, before, c) for c in new_classes
    ):
        return
    old_names = {c.qualname for c in old_classes}
    new_names = {c.qualname for c in new_classes}
    for name in sorted(_methods(before, old_classes) & _methods(context, new_classes)):
        old, new = then.definer(cls, name), now.definer(cls, name)
        if (
            name.startswith("__")
            or old is None
            or new is None
            or then.tree(old.module) is not before.upstream
            or now.tree(new.module) is not context.upstream
            or old.qualname == new.qualname
            or old.qualname not in context.upstream.defined  # merged into another
            or (old.qualname not in new_names and new.qualname not in old_names)
        ):
            continue
        deleted = old.qualname in new_names
        # An override added below the class that answered is upstream's own refinement of it.
        refined = deleted and any(c.qualname == old.qualname for c in now.mro(new).classes[1:])
        if not refined and not _alike(context, before, name, old, new) and is_entry(context, name):
            yield Shift(cls, name, old, new, deleted)


def _methods(context: Context, classes: list[Resolution]) -> set[str]:
    return {
        name
        for c in classes
        if c.kind is Kind.CLASS
        for name in context.upstream.namespace(c.module).methods.get(c.qualname, {})
    }


def _same_names(context: Context, before: Context, cls: Resolution) -> bool:
    if cls.kind is not Kind.CLASS or cls.module not in before.upstream.paths:
        return False
    old = before.upstream.namespace(cls.module).methods.get(cls.qualname, {})
    return old.keys() == context.upstream.namespace(cls.module).methods.get(cls.qualname, {}).keys()


def _alike(context: Context, before: Context, name: str, old: Resolution, new: Resolution) -> bool:
    first = before.upstream.namespace(old.module).functions.get(f"{old.qualname}.{name}")
    second = context.upstream.namespace(new.module).functions.get(f"{new.qualname}.{name}")
    if first is None or second is None or first.text_hash == second.text_hash:
        return True
    a = [n.strip() for n in before.upstream.lines(old.module)[first.line : first.end_line] if n.strip()]
    b = [n.strip() for n in context.upstream.lines(new.module)[second.line : second.end_line] if n.strip()]
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= _ALIKE


def _finding(context: Context, before: Context, shift: Shift, line: int) -> Result:
    old = before.world.own_member(shift.old, shift.name)
    new = context.world.own_member(shift.new, shift.name)
    assert old is not None
    assert new is not None
    how = "no longer defines it" if shift.deleted else "is no ancestor any more"
    return context.finding(
        ID,
        module=shift.cls.module,
        line=line,
        symbol=shift.cls.qualname,
        key=shift.name,
        severity=Severity.WARNING if context.plugin.calls_by_name.get(shift.name) else Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        message=(
            f"{shift.cls.qualname}.{shift.name} was answered by {shift.old.qualname}, which {how}; "
            f"now {shift.new.qualname} answers with another body"
        ),
        trigger=f"{shift.name}() of a {shift.cls.qualname}",
        consequence="other code runs than before, without an error: values that the old method passed are not passed",
        suggestion=(
            f"Compare {shift.old.qualname}.{shift.name} of {context.version('base')} with "
            f"{shift.new.module}:{shift.new.qualname}.{shift.name} and define what this platform needs."
        ),
        evidence=[before.cite_definition(old), context.cite_definition(new)],
        cause=f"{shift.old.id}.{shift.name} answered by {shift.new.id}",
        silent=True,
    )

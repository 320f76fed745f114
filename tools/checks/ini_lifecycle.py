"""An overridden step of the weights' life no longer sets what an inherited step reads.

A quantization method allocates parameters on the layer, converts them after loading, builds a quant config from
them and executes. A plugin class that overrides one step and inherits the others has to leave on the layer, or on
itself, everything that upstream's version of that step leaves there. The check compares what upstream's step sets
with what the plugin's own step sets, helpers and ``super()`` followed, and looks for inherited steps that read the
rest: group size, zero points, sorted indices, markers such as ``is_transposed``.

Example: upstream's ``create_weights`` registers ``w13_g_idx``; the plugin's does not, and the inherited
``process_weights_after_loading`` sorts ``layer.w13_g_idx``: AttributeError while loading.

Cannot see: attributes that the layer's own class sets, or names that are computed (such a class is not judged).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tools.checks._lifecycle import (
    ALLOCATE,
    CONFIG,
    CONVERT,
    EXECUTE,
    Access,
    Touch,
    access,
    methods_of_plugin,
    own,
)
from tools.checks._state import find, follow
from tools.checks._uses import stored_outside
from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "INI004"
TITLE = "Inherited step reads what an overridden step no longer sets"
SEVERITY = Severity.ERROR
_ORDER = (ALLOCATE, CONVERT, CONFIG, EXECUTE)


def run(context: Context) -> Iterable[Result]:
    for cls in methods_of_plugin(context):
        bases = context.world.mro(cls).classes[1:]
        if not any(b.kind is Kind.CLASS and context.world.tree(b.module) is context.upstream for b in bases):
            continue
        if any(b.kind is not Kind.CLASS for b in bases if b.id not in ("abc:ABC",) and not _plain(b)):
            continue
        for place, step in enumerate(_ORDER[:2]):
            if own(context, cls, step):
                yield from _on_layer(context, cls, step, _ORDER[place + 1 :])
                yield from _on_self(context, cls, step, _ORDER[place + 1 :])


def _plain(base: Resolution) -> bool:
    return base.id.startswith(("torch", "abc", "typing", "enum"))


def _overridden(context: Context, cls: Resolution, step: str) -> Resolution | None:
    """Upstream's class whose version of ``step`` the plugin's replaces."""
    world = context.world
    owner = world.definer(cls, step)
    while owner is not None and world.tree(owner.module) is context.plugin:
        owner = world.definer(cls, step, after=owner)
    return owner


def _readers(context: Context, cls: Resolution, later: tuple[str, ...]) -> list[str]:
    return [s for s in later if find(context.world, cls, s) is not None and not own(context, cls, s)]


def _on_layer(context: Context, cls: Resolution, step: str, later: tuple[str, ...]) -> Iterator[Result]:
    original = _overridden(context, cls, step)
    if original is None:
        return
    theirs = access(context, original, step)
    ours = [access(context, cls, s) for s in (ALLOCATE, CONVERT)]
    if theirs.anything or any(a.anything for a in ours):
        return
    kept = set().union(*(a.stored for a in ours))
    lost = {t.attr: t for t in theirs.stores if t.attr not in kept}
    for reader in _readers(context, cls, later) if lost else ():
        found = access(context, cls, reader)
        for touch in _first(found, lost):
            if not _elsewhere(context, touch.attr):
                yield _finding(context, cls, step, original, lost[touch.attr], touch, reader, "layer")


def _first(found: Access, lost: dict[str, Touch]) -> list[Touch]:
    """The plainest read of each attribute that is lost, those that are asked for first left out."""
    best: dict[str, Touch] = {}
    for touch in found.reads:
        if touch.attr in lost and touch.attr not in found.tested and touch.attr not in found.stored:
            known = best.get(touch.attr)
            if known is None or (known.guarded and not touch.guarded):
                best[touch.attr] = touch
    return [best[name] for name in sorted(best)]


def _elsewhere(context: Context, attr: str) -> bool:
    """Whether the plugin stores an attribute of this name on some object other than self."""
    for module, record in context.plugin.modules.items():
        if attr in record.attr_stores:
            pattern = re.compile(rf"\.{attr}\s*(?::[^=]+)?=(?!=)|[\"']{attr}[\"']")
            if any(pattern.search(line) for line in context.plugin.lines(module)):
                return True
    return False


def _on_self(context: Context, cls: Resolution, step: str, later: tuple[str, ...]) -> Iterator[Result]:
    """Attributes of the method itself that only upstream's step sets."""
    world = context.world
    original = _overridden(context, cls, step)
    start, mine = (find(world, original, step) if original is not None else None), find(world, cls, step)
    init = find(world, cls, "__init__")
    if original is None or start is None or mine is None:
        return
    theirs, ours = follow(world, cls, start), follow(world, cls, mine)
    made = follow(world, cls, init) if init is not None else None
    if theirs.anything or ours.anything or (made is not None and made.anything):
        return
    known = set(ours.writes) | (set(made.writes) if made is not None else set())
    lost = {
        attr: Touch(attr, writes[0][0].owner.module, writes[0][1], False)
        for attr, writes in theirs.writes.items()
        if attr not in known and world.class_member(cls, attr) is None
    }
    for reader in _readers(context, cls, later) if lost else ():
        method = find(world, cls, reader)
        if method is None:
            continue
        run_of = follow(world, cls, method)
        for reached in run_of.methods.values():
            for attr, line in reached.function.self_reads:
                if attr in lost and attr not in run_of.writes and stored_outside(context, attr) is None:
                    touch = Touch(attr, reached.owner.module, line, True)
                    yield _finding(context, cls, step, original, lost.pop(attr), touch, reader, "self")


def _finding(
    context: Context,
    cls: Resolution,
    step: str,
    original: Resolution,
    lost: Touch,
    read: Touch,
    reader: str,
    where: str,
) -> Result:
    world = context.world
    own_step = find(world, cls, step)
    assert own_step is not None
    module, line = own_step.owner.module, own_step.function.line
    trees = [(world.tree(t.module), t) for t in (lost, read)]
    severity = Severity.WARNING if read.guarded else Severity.ERROR
    owner = cls.qualname if where == "self" else "the layer"
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol=own_step.function.qualname,
        key=f"{where}.{lost.attr}:{reader}",
        severity=severity,
        certainty=Certainty.POSSIBLE if read.guarded else Certainty.LIKELY,
        message=(
            f"`{own_step.function.qualname}` does not set `{where}.{lost.attr}`, as `{original.qualname}.{step}` does; "
            f"the inherited `{reader}` reads it ({read.module}:{read.line})"
        ),
        trigger=f"`{reader}` of a `{cls.qualname}`",
        consequence=f"AttributeError: {owner} has no attribute '{lost.attr}'"
        + (", where the condition around it holds" if read.guarded else ""),
        suggestion=f"set `{where}.{lost.attr}` as {lost.module}:{lost.line} does, or override `{reader}` too",
        evidence=[context.cite(tree, t.module, t.line) for tree, t in trees if tree is not None],
        cause=f"{original.id}.{step} sets {lost.attr}",
    )

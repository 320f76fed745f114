"""A platform hook that upstream's GPU platforms answer and the plugin's platform does not.

Upstream asks the platform through methods of its ``Platform`` interface. A new hook comes with a default that
suits no accelerator, and the CUDA platform overrides it at once. The plugin's platform inherits the default:
a body that raises ends start-up, a default of False switches a feature off without a word.

Example: ``Platform.support_static_graph_mode`` returns False, ``CudaPlatform`` returns True, the config reads
it. On the plugin's platform CUDA graphs are switched off and everything still works, several times slower.

Cannot see: hooks whose default computes something, unless two of upstream's platforms replace it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks._platforms import facts, interface, own_platforms, rivals
from tools.checks._source import Facts, conditions, constant_returned, dead, function_node, guarded_nodes
from tools.checks._uses import outside_calls
from tools.checks.base import Context, Result
from tools.code.records import Function
from tools.code.signature import is_property
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "PLT001"
TITLE = "Platform hook that only upstream's platforms answer"
SEVERITY = Severity.ERROR
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Hook:
    """One hook the plugin leaves to the default."""

    name: str
    default: Function
    answers: dict[str, tuple[Resolution, Function]]
    """Upstream platform -> what it defines."""
    uses: tuple[tuple[str, int, bool], ...]
    """(module, line, whether nothing decides if it is reached) of reads in upstream."""


def run(context: Context) -> Iterable[Result]:
    base = interface(context)
    own = own_platforms(context)
    if base is None or not own:
        return
    world = context.world
    others = rivals(context)
    platform = facts(context)
    asked = context.upstream.namespace(base.module).methods.get(base.qualname, {})
    for name, default in sorted(asked.items()):
        if name.startswith("__"):
            continue
        lacking = [cls for cls in own if (d := world.definer(cls, name)) is not None and d.id == base.id]
        answers = _answers(context, base, others, name)
        if not lacking or "cuda" not in answers:
            continue
        uses = tuple(_uses(context, name, platform))
        if uses:
            place = _place(context, lacking, whole=len(lacking) == len(own))
            yield from _judge(context, base, place, Hook(name, default, answers, uses))


def _answers(
    context: Context, base: Resolution, others: dict[str, list[Resolution]], name: str
) -> dict[str, tuple[Resolution, Function]]:
    """Which upstream platforms define ``name`` themselves, in all of their variants."""
    world = context.world
    out = {}
    for rival, classes in others.items():
        definers = [world.definer(cls, name) for cls in classes]
        if classes and all(d is not None and d.id != base.id for d in definers):
            first = definers[0]
            function = world.method(classes[0], name)
            if first is not None and function is not None:
                out[rival] = (first, function)
    return out


def _place(context: Context, lacking: list[Resolution], *, whole: bool) -> Resolution:
    """The plugin class to change: what all platforms share when all lack the hook."""
    if not whole:
        return lacking[0]
    shared = [
        cls
        for cls in context.world.mro(lacking[0]).classes
        if context.world.tree(cls.module) is context.plugin
        and all(context.world.is_subclass(other, cls.id) for other in lacking)
    ]
    return shared[-1] if shared else lacking[0]


def _uses(context: Context, name: str, platform: Facts) -> Iterator[tuple[str, int, bool]]:
    """Calls on ``current_platform`` that the plugin's platform can reach."""
    platforms = f"{context.profile.upstream_package}.platforms"
    for module, call in outside_calls(context.upstream, name):
        if not call.callee.endswith(f"platform.{name}") or module.startswith(platforms):
            continue
        if not call.scope:
            yield module, call.line, True
            continue
        function = context.upstream.namespace(module).functions.get(call.scope)
        node = function_node(context.upstream, module, function) if function is not None else None
        if node is None:
            yield module, call.line, False
            continue
        for child, guards in guarded_nodes(node):
            if (
                isinstance(child, ast.Call)
                and child.lineno == call.line
                and dotted(child.func) == call.callee
                and not dead(guards, platform)
                and not any(isinstance(g.test, ast.Constant) for g in guards)
            ):
                yield module, call.line, not conditions(guards, platform)
                break


def _judge(context: Context, base: Resolution, place: Resolution, hook: Hook) -> Iterator[Result]:
    world = context.world
    owner, function = hook.answers["cuda"]
    cuda = _constant(context, owner, function)
    default = _constant(context, base, hook.default)
    plain = [u for u in hook.uses if u[2]]
    if hook.default.raises_not_implemented:
        severity = Severity.ERROR
        certainty = Certainty.LIKELY if plain else Certainty.POSSIBLE
        said, outcome = "raises NotImplementedError", "NotImplementedError"
    elif default is not None and cuda is not None:
        if default == cuda:
            return
        severity, certainty = Severity.WARNING, Certainty.LIKELY
        said = f"returns {default}, {owner.qualname} returns {cuda}"
        outcome = f"upstream acts on {default}: what {hook.name} announces is taken as not there, silently"
    elif is_property(function) or is_property(hook.default):
        severity, certainty = Severity.NOTE, Certainty.POSSIBLE
        said, outcome = "is generic", "the generic answer is used"
    else:
        severity = Severity.WARNING if len(hook.answers) > 1 and not hook.default.is_stub else Severity.NOTE
        certainty = Certainty.POSSIBLE
        said = f"returns {default}" if default is not None else "is generic"
        outcome = "the default of the interface is used instead of one made for a GPU"
    record = world.class_record(place)
    assert record is not None
    shown = [*plain, *(u for u in hook.uses if not u[2])][:_SHOWN]
    where = ", ".join(f"{module}:{line}" for module, line, _ in shown)
    more = f" and {len(hook.uses) - _SHOWN} more" if len(hook.uses) > _SHOWN else ""
    yield context.finding(
        ID,
        module=place.module,
        line=record.line,
        symbol=place.qualname,
        key=hook.name,
        severity=severity,
        certainty=certainty,
        message=(
            f"{place.qualname} does not define {hook.name}(): the default {said}; "
            f"overridden upstream for {', '.join(sorted(hook.answers))}"
        ),
        trigger=f"{where}{more}",
        consequence=outcome,
        suggestion=(
            f"Decide what {hook.name}() is on this platform and define it; "
            f"upstream's answer: {owner.module}:{function.line}."
        ),
        evidence=[
            context.cite_definition(Resolution(Kind.FUNCTION, base.module, hook.default.qualname)),
            context.cite_definition(Resolution(Kind.FUNCTION, owner.module, function.qualname)),
            *(context.cite(context.upstream, module, line) for module, line, _ in shown),
        ],
        cause=f"{base.id}.{hook.name}",
        silent=not hook.default.raises_not_implemented,
    )


def _constant(context: Context, owner: Resolution, function: Function) -> str | None:
    node = function_node(context.upstream, owner.module, function)
    found = constant_returned(node) if node is not None else None
    return repr(found.value) if found is not None else None

"""What the checks of patches share: whether a patch is ever applied, what it replaces, where that went."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tools.checks.base import Context
from tools.code.records import Call, typing_only
from tools.code.signature import Arguments
from tools.code.world import Kind, Resolution
from tools.compare.moves import Fate, Went, where_went
from tools.compare.patches import Patch, PatchKind


def applied(context: Context, module: str) -> bool:
    """False when nothing that the plugin imports on its own leads to ``module``."""
    key = f"pat:applied:{context.role}"
    reached = context.shared.get(key)
    if not isinstance(reached, frozenset):
        reached = context.shared[key] = _reached(context)
    # A plugin whose package imports nothing is entered in a way that cannot be seen.
    return module in reached or len(reached) < 2


def _reached(context: Context) -> frozenset[str]:
    plugin = context.plugin
    pending = [plugin.package]
    for targets in context.profile.entry_points.values():
        pending += [t.partition(":")[0] for t in targets]
    pending += [m for m in plugin.paths if m.rpartition(".")[2] == "platform"]
    seen: set[str] = set()
    while pending:
        module = pending.pop()
        if module in seen or module not in plugin.paths:
            continue
        seen.add(module)
        parent = module.rpartition(".")[0]
        pending.append(parent)
        for imported in plugin.modules[module].imports:
            source = plugin.absolute(module, imported)
            pending += [source, f"{source}.{imported.name}"]
    return frozenset(seen)


def original(context: Context, patch: Patch) -> Resolution:
    """What the patch's target is when the plugin leaves it alone."""
    return context.world.path(patch.target) if patch.attribute else context.world.module(patch.target_module)


def went(context: Context, patch: Patch) -> Went | None:
    """Where a target that base has is in the tree at hand; None when base cannot say."""
    if context.before is None:
        return None
    return where_went(context.before.upstream, context.upstream, patch.target_module, patch.attribute)


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do about a target that is gone."""

    text: str
    suggestion: str
    cite: str | None
    cause: str


def advice(context: Context, patch: Patch) -> Advice:
    """Message part, suggestion and evidence for a target that is not there."""
    found = went(context, patch)
    name = patch.attribute or patch.target_module
    # The same words as the import checks use, so that imports and patches of one move are shown together.
    module_gone = not context.world.module(patch.target_module).found
    cause = f"{patch.target_module} gone" if module_gone else f"{patch.target_module} lost names"
    if found is None or found.kind is Fate.PRESENT:
        return Advice("", f"drop the patch, or name what replaced `{name}`", None, cause)
    if not found.found:
        return Advice(
            "nothing of that name or with a similar body is left",
            f"remove the patch; check whether what it worked around still exists without `{name}`",
            None,
            cause,
        )
    verb = {Fate.RENAMED: "was renamed to", Fate.PRIVATE: "was made private as"}.get(found.kind, "is now")
    resolved = context.world.path(found.dotted)
    suggestion = f"patch `{found.dotted}`, after comparing its body with what the replacement was written for"
    holders = binders(context, found.module, found.name)
    if holders:
        suggestion += f"; it is bound by name in {listed(holders)}, which must be patched too"
    return Advice(
        f"it {verb} `{found.dotted}` ({found.how})",
        suggestion,
        context.cite_definition(resolved) if resolved.found else None,
        cause,
    )


def binders(context: Context, module: str, name: str) -> tuple[str, ...]:
    """Upstream modules that bind ``module.name`` at module level and call it: a patch must reach them too."""
    out = []
    for holder, imported in context.upstream.importers.get((module, name), ()):
        if imported.scope or typing_only(imported.guard) or OTHER_DEVICE.search(holder):
            continue
        called = (m == holder for m, c in context.upstream.calls_by_name.get(imported.bound, ()))
        launched = (m == holder for m, c in context.upstream.calls_by_name.get(f"{imported.bound}?", ()))
        if any(called) or any(launched):
            out.append(holder)
    return tuple(dict.fromkeys(out))


def listed(names: Sequence[str], most: int = 5) -> str:
    """``a``, ``b`` and 3 more."""
    shown = ", ".join(f"`{n}`" for n in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


OTHER_DEVICE = re.compile(r"(^|[._])(cpu|xpu|tpu|rocm|hpu|neuron|aiter|tests?|benchmarks?)([._]|$)")
"""Modules that serve another device, or measure: they never run together with the plugin's patches."""


def arguments(call: Call) -> Arguments:
    """The call as ``bind`` takes it."""
    return Arguments(call.nargs, call.keywords, call.star, call.kwstar)


def raises_when_missing(patch: Patch) -> bool:
    """Decorators that name their target look it up first; a plain assignment does not."""
    return patch.kind is PatchKind.DECORATOR and not patch.allow_missing


def is_upstream(context: Context, found: Resolution) -> bool:
    """True for what upstream defines."""
    return found.kind is not Kind.EXTERNAL and context.world.tree(found.module) is context.upstream

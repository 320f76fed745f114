"""Where a missing thing went, and when a line of the plugin runs: texts that several checks share."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field

from tools.checks.base import Context
from tools.code.world import Kind
from tools.compare.moves import where_went
from tools.registry.startup import startup_of


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the target has instead. ``text`` goes into the message, ``suggestion`` says what to do."""

    text: str = ""
    suggestion: str = ""
    removed: bool = False
    evidence: tuple[str, ...] = field(default=())


def scope_symbol(scope: str) -> str:
    """Symbol of a finding in ``scope``: the function's qualified name, '' at module level."""
    return scope


def went(context: Context, module: str, name: str) -> Replacement:
    """Where ``module.name`` (or the module, for name '') is to be found in the target or the plugin."""
    world = context.world
    tree = world.tree(module)
    if tree is None:
        return Replacement()
    base = tree if tree is context.plugin else (context.before or context).upstream
    found = where_went(base, tree, module, name)
    what = f"`{module}.{name}`" if name else f"`{module}`"
    if not found.found or found.module == module and found.name == name:
        close = _close(context, module, name)
        if close:
            return Replacement(
                text=f"the module has `{close}`",
                suggestion=f"`from {module} import {close}`, if that is what was meant",
            )
        return Replacement(
            text="nothing there takes its place",
            suggestion=f"remove the use of {what}, or carry the code in the plugin with a note why",
            removed=True,
        )
    target = f"{found.module}.{found.name}" if found.name else found.module
    resolved = world.path(target)
    evidence = context.cite_definition(resolved) if resolved.found else None
    if name and found.name and found.name != name:
        text = f"`{name}` is now `{found.name}` in `{found.module}`"
        suggestion = f"`from {found.module} import {found.name}` and rename its uses"
    elif name:
        text = f"it is now in `{found.module}`"
        suggestion = f"`from {found.module} import {name}`"
    else:
        text = f"it is now `{found.module}`"
        suggestion = f"import from `{found.module}`"
    if resolved.kind is Kind.FUNCTION and name and _was_class(context, module, name):
        text += ", a function where it was a class"
        suggestion += "; it can no longer be subclassed or used in isinstance"
    return Replacement(text, suggestion, evidence=(evidence,) if evidence else ())


def _close(context: Context, module: str, name: str) -> str | None:
    """A public name of the module that differs by a prefix or a slip of the pen."""
    tree = context.world.tree(module)
    if tree is None or module not in tree.paths or not name:
        return None
    names = [n for n, b in tree.namespace(module).names.items() if b.functions or b.classes or b.assigns]
    for candidate in sorted(names, key=lambda n: (-len(n), n)):
        if len(candidate) > 4 and candidate != name and name.endswith(("_" + candidate, candidate)):
            return candidate
    matches = difflib.get_close_matches(name, sorted(names), n=1, cutoff=0.85)
    return matches[0] if matches else None


def _was_class(context: Context, module: str, name: str) -> bool:
    return context.before is not None and context.before.world.member(module, name).kind is Kind.CLASS


@dataclass(frozen=True, slots=True)
class Reach:
    """When a line runs. ``consequence`` continues the sentence that says what is raised."""

    trigger: str
    consequence: str
    lost: tuple[str, ...] = ()


def reach_of(context: Context, module: str, line: int, scope: str) -> Reach:
    """What raising at ``line`` of ``module`` means for a user."""
    if scope:
        return Reach(f"calling `{scope}`", " when it is called")
    startup = startup_of(context)
    radius = startup.blast_radius(module, line)
    if radius.raises_at_startup:
        lost = tuple(f"{r.kind} {r.key}" for r in radius.lost)
        text = f" during start-up (`{radius.stops}`)"
        if lost:
            text += f"; {len(lost)} registrations never happen"
        return Reach("every start of vLLM with the plugin", text, lost)
    return Reach(f"the first import of `{module}`", " when the module is imported")

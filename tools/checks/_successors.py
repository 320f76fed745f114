"""What the target has in the place of something that is gone: for messages, suggestions and evidence."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.checks.base import Context
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.compare.moves import where_went
from tools.registry.successors import successors


@dataclass(frozen=True, slots=True)
class Replacement:
    """What the target has instead. ``text`` goes into the message, ``suggestion`` says what to do."""

    text: str = ""
    suggestion: str = ""
    removed: bool = False
    evidence: tuple[str, ...] = field(default=())


_COMMON = 8
"""Modules. A name that more of them define for themselves (``logger``) has not gone from one to another."""


def went(context: Context, module: str, name: str) -> Replacement:
    """Where ``module.name`` (or the module, for name '') is to be found in the target or the plugin."""
    world = context.world
    tree = world.tree(module)
    if tree is None:
        return Replacement()
    base = tree if tree is context.plugin else (context.before or context).upstream
    found = where_went(base, tree, module, name)
    what = f"`{module}.{name}`" if name else f"`{module}`"
    homes = tree.defined.get(name, ())
    if len(homes) > _COMMON and name.islower():
        return Replacement(
            text=f"{len(homes)} modules there have a name like it, each its own",
            suggestion=f"define `{name}` where it is used, or import what was meant from where it is made",
            removed=True,
        )
    if not found.found or (found.module == module and found.name == name):
        return (
            _own_module(context, module, name)
            or _followed(context, module, name)
            or _similar(context, module, name)
            or Replacement(
                text="nothing there takes its place",
                suggestion=f"remove the use of {what}, or carry the code in the plugin with a note why",
                removed=True,
            )
        )
    target = f"{found.module}.{found.name}" if found.name else found.module
    resolved = world.path(target)
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
    return Replacement(text, suggestion, evidence=_definition(context, resolved) if resolved.found else ())


def _own_module(context: Context, module: str, name: str) -> Replacement | None:
    """Modules of the plugin that were moved or renamed as a whole; its earlier state is not at hand."""
    plugin = context.plugin
    if context.world.tree(module) is not plugin:
        return None
    last = module.rpartition(".")[2]
    if not name:
        found = successors(plugin, module)
        if len(found) != 1:
            return None
        return Replacement(
            text=f"its modules are now below `{found[0]}`"
            if found[0].rpartition(".")[2] != last
            else f"it is now `{found[0]}`",
            suggestion=f"`import {found[0]}`",
            evidence=tuple(e for e in (context.cite_absence(plugin, found[0]),) if e),
        )
    if last in name.split("_") and module in plugin.paths:
        parent = module.rpartition(".")[0]
        return Replacement(
            text=f"`{name}` reads like the former name of the module `{module}` itself",
            suggestion=f"`from {parent} import {last}`, or drop the line if it only ran the module",
        )
    return None


def _followed(context: Context, module: str, name: str) -> Replacement | None:
    """What upstream's own users of a removed name use now."""
    before = context.before
    if before is None or not name or context.world.tree(module) is not context.upstream:
        return None
    old, new = before.upstream, context.upstream
    for user, _ in old.importers.get((module, name), ()):
        if user not in new.paths:
            continue
        for cls, bases in _rebased(old, new, user, name):
            resolved = context.world.name(user, "", bases[0])
            if not resolved.found or resolved.kind is not Kind.CLASS:
                continue
            line = new.namespace(user).classes[cls].line
            return Replacement(
                text=f"upstream removed it: its own `{cls}` derives from `{bases[0]}` now",
                suggestion=f"follow `{user}`: `from {resolved.module} import {resolved.qualname}` is what it uses",
                evidence=(context.cite(new, user, line), *_definition(context, resolved)),
            )
    return None


def _rebased(old: Tree, new: Tree, user: str, name: str) -> Iterator[tuple[str, list[str]]]:
    """(class, its new bases) for classes of ``user`` that derived from ``name``."""
    for qualname, record in old.namespace(user).classes.items():
        plain = [b.partition("[")[0] for b in record.bases]
        later = new.namespace(user).classes.get(qualname)
        if name in plain and later is not None:
            fresh = [b for b in (t.partition("[")[0] for t in later.bases) if b not in plain]
            if fresh:
                yield qualname, fresh


def _definition(context: Context, resolved: Resolution) -> tuple[str, ...]:
    cited = context.cite_definition(resolved)
    return (cited,) if cited is not None else ()


def _similar(context: Context, module: str, name: str) -> Replacement | None:
    close = _close(context, module, name)
    if close is None:
        return None
    found = _definition(context, context.world.member(module, close))
    if context.before is not None and context.before.world.member(module, name).found:
        return Replacement(
            text=f"upstream removed it; `{close}` is still there",
            suggestion=f"see whether `{module}.{close}` serves, or carry the code in the plugin with a note why",
            evidence=found,
        )
    return Replacement(
        text=f"the module has `{close}`",
        suggestion=f"`from {module} import {close}`, if that is what was meant",
        evidence=found,
    )


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

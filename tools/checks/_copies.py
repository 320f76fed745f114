"""Plugin classes that stand beside an upstream class they were copied from, instead of deriving from it."""

from __future__ import annotations

from dataclasses import dataclass

from tools.checks.base import Context
from tools.code.world import Kind, Resolution

_SHORTEST = 8
"""Letters that a shared end of two class names must have to say anything."""


@dataclass(frozen=True, slots=True)
class Copy:
    """``cls`` of the plugin and the upstream class it mirrors."""

    cls: Resolution
    original: Resolution


def upstream_module(context: Context, module: str) -> str:
    """Where the profile says that code of a plugin module came from."""
    profile = context.profile
    rules = [r for r in profile.path_rules if module == r.plugin or module.startswith(r.plugin + ".")]
    if rules:
        rule = max(rules, key=lambda r: len(r.plugin))
        return rule.upstream + module[len(rule.plugin) :]
    return profile.upstream_package + module[len(profile.plugin_package) :]


def copies(context: Context) -> tuple[Copy, ...]:
    """Every plugin class with an original that it does not derive from, in the order of the files."""
    key = f"copies {context.role}"
    found = context.shared.get(key)
    if found is None:
        found = context.shared[key] = tuple(_find(context))
    return found  # type: ignore[return-value]


def _find(context: Context) -> list[Copy]:
    world = context.world
    out = []
    for module, record in context.plugin.classes():
        if record.in_function or "." in record.qualname:
            continue
        cls = Resolution(Kind.CLASS, module, record.qualname)
        original = original_of(context, module, record.qualname)
        if original is None or world.is_subclass(cls, original.id):
            continue
        # A base that is in neither package is known not to hold upstream's methods; one that is lost is not.
        readable = all(c.kind in (Kind.CLASS, Kind.EXTERNAL) for c in world.mro(cls).classes)
        if readable and _similar(context, cls, original):
            out.append(Copy(cls, original))
    return out


def _similar(context: Context, cls: Resolution, original: Resolution) -> bool:
    """True when the class has at least half of what the original defines itself."""
    own = context.plugin.namespace(cls.module).methods.get(cls.qualname, {})
    theirs = context.upstream.namespace(original.module).methods.get(original.qualname, {})
    return len(theirs) < 2 * len(own.keys() & theirs.keys()) + 2


def original_of(context: Context, module: str, name: str) -> Resolution | None:
    """The upstream class that the names of a plugin class and its module point at."""
    home = upstream_module(context, module)
    if home in context.upstream.paths:
        classes = context.upstream.namespace(home).classes
        if name in classes:
            return Resolution(Kind.CLASS, home, name)
        ends = [c for c in classes if len(c) >= _SHORTEST and name.endswith(c)]
        if ends:
            return Resolution(Kind.CLASS, home, max(ends, key=len))
    for candidate in (name, *_without_first_word(name)):
        places = [
            place
            for place in context.upstream.defined.get(candidate, ())
            if candidate in context.upstream.namespace(place).classes
        ]
        if len(places) == 1 and len(candidate) >= _SHORTEST:
            return Resolution(Kind.CLASS, places[0], candidate)
    return None


def _without_first_word(name: str) -> list[str]:
    """``MacaFlashAttentionBackend`` -> ``FlashAttentionBackend``."""
    for index in range(1, len(name)):
        if name[index].isupper() and not name[index - 1].isupper():
            return [name[index:]]
    return []

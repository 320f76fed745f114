"""The platform class that the entry point names, and its methods that upstream calls."""

from __future__ import annotations

import ast

from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution, World

PARENT_ONLY = ("pre_register_and_update", "check_and_update_config", "apply_config_platform_defaults")
"""Hooks that run where arguments are parsed and the configuration is built, not in workers."""


def platform_classes(world: World, path: str) -> list[Resolution]:
    """Classes that class path ``path`` may denote; several where the module chooses one at import."""
    found = world.path(path)
    if found.kind is Kind.CLASS:
        return [found]
    tree = world.tree(found.module)
    if found.kind is not Kind.VALUE or tree is None:
        return []
    bindings = tree.namespace(found.module).names.get(found.qualname)
    out: list[Resolution] = []
    for assign in bindings.assigns if bindings is not None else ():
        try:
            value = ast.parse(assign.value, mode="eval")
        except SyntaxError:
            continue
        for node in ast.walk(value):
            if isinstance(node, ast.Name | ast.Attribute) and "?" not in dotted(node):
                cls = world.name(found.module, "", dotted(node))
                if cls.kind is Kind.CLASS and cls not in out:
                    out.append(cls)
    return out


def platform_interface(world: World, cls: Resolution) -> Resolution | None:
    """The last upstream class on the MRO of ``cls``: what upstream's callers know of a platform."""
    bases = [c for c in world.mro(cls).classes if world.tree(c.module) is world.upstream]
    classes = [c for c in bases if c.kind is Kind.CLASS]
    return classes[-1] if classes else None


def hooks(world: World, cls: Resolution) -> list[Resolution]:
    """Methods of the plugin's platform class that override upstream's interface.

    Those that run in one process only come last, so that what they alone reach can be told.
    """
    interface = platform_interface(world, cls)
    if interface is None:
        return []
    out: dict[str, Resolution] = {}
    for owner in world.mro(cls).classes:
        if owner.kind is not Kind.CLASS or world.tree(owner.module) is not world.plugin:
            continue
        methods = world.plugin.namespace(owner.module).methods.get(owner.qualname, {})
        for name in methods:
            if name not in out and world.class_member(interface, name) is not None:
                out[name] = Resolution(Kind.FUNCTION, owner.module, f"{owner.qualname}.{name}")
    return [out[name] for name in sorted(out, key=lambda n: n in PARENT_ONLY)]

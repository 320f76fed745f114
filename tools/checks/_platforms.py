"""The plugin's platform class, and how the platforms inside upstream answer the same questions."""

from __future__ import annotations

from tools.checks._source import IN_TREE, Facts
from tools.checks.base import Context
from tools.code.world import Kind, Resolution, World

_RIVALS = ("cuda", "rocm", "xpu")
"""Modules below ``platforms`` whose classes show what a GPU platform is expected to answer."""


def interface(context: Context) -> Resolution | None:
    """Upstream's ``Platform`` base class."""
    found = context.world.member(f"{context.profile.upstream_package}.platforms.interface", "Platform")
    return found if found.kind is Kind.CLASS else None


def own_platforms(context: Context) -> list[Resolution]:
    """Plugin classes below upstream's ``Platform`` from which no other of them derives."""
    base = interface(context)
    if base is None:
        return []
    found = [
        cls
        for module, record in context.plugin.classes()
        if not record.in_function
        and context.world.is_subclass(cls := Resolution(Kind.CLASS, module, record.qualname), base.id)
    ]
    inner = {parent.id for cls in found for parent in context.world.mro(cls).classes[1:]}
    return [cls for cls in found if cls.id not in inner]


def rivals(context: Context) -> dict[str, list[Resolution]]:
    """Upstream's GPU platforms by module name, each as the classes no other of the module derives from."""
    base = interface(context)
    out: dict[str, list[Resolution]] = {}
    if base is None:
        return out
    for name in _RIVALS:
        module = f"{context.profile.upstream_package}.platforms.{name}"
        if module not in context.upstream.paths:
            continue
        classes = [
            cls
            for qualname in context.upstream.namespace(module).classes
            if context.world.is_subclass(cls := Resolution(Kind.CLASS, module, qualname), base.id)
        ]
        inner = {parent.id for cls in classes for parent in context.world.mro(cls).classes[1:]}
        out[name] = [cls for cls in classes if cls.id not in inner]
    return out


def facts(context: Context) -> Facts:
    """What conditions on the platform come to when the plugin's platform is in use."""
    own = own_platforms(context)
    closed = frozenset(
        hook for hook in IN_TREE if not any(_by_plugin(context.world, cls, hook) for cls in own)
    )
    types = {_device_type(context, cls) for cls in own}
    return Facts(closed, types.pop() if len(types) == 1 else "")


def _device_type(context: Context, cls: Resolution) -> str:
    owner = context.world.definer(cls, "device_type")
    record = context.world.class_record(owner) if owner is not None else None
    values = [a.items for a in record.assigns if a.name == "device_type"] if record is not None else []
    return values[0][0] if values and values[0] else ""


def _by_plugin(world: World, cls: Resolution, name: str) -> bool:
    definer = world.definer(cls, name)
    return definer is not None and world.tree(definer.module) is world.plugin

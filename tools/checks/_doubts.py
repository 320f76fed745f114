"""What speaks against an attribute being missing, or against anybody noticing."""

from __future__ import annotations

from tools.checks._copies import original_of
from tools.checks._state import construction, find, follow
from tools.checks.base import Context
from tools.code.world import Kind, Resolution


def lent(context: Context, cls: Resolution) -> bool:
    """True for classes that only lend their constructor: ``Base.__init__(self)`` in classes not below them."""
    name = cls.qualname
    return any(
        call.callee == f"{name}.__init__" for _, call in context.plugin.calls_by_name.get("__init__", ())
    ) and not context.plugin.calls_by_name.get(name)


def declared_by_protocol(context: Context, cls: Resolution, entry: str) -> bool:
    """True for methods of an optional interface: whether anybody calls them depends on the features in use."""
    for owner in context.world.mro(cls).classes:
        record = context.world.class_record(owner) if owner.kind is Kind.CLASS else None
        protocol = record is not None and any(
            base.partition("[")[0].rpartition(".")[2] == "Protocol" for base in record.bases
        )
        if protocol and context.world.own_member(owner, entry) is not None:
            return True
    return False


def shared(context: Context, cls: Resolution) -> set[str]:
    """Attributes that the upstream original of ``cls`` leaves out too, for it skips the same constructors."""
    world = context.world
    original = original_of(context, cls.module, cls.qualname)
    start = find(world, original, "__init__") if original is not None else None
    if original is None or start is None or world.is_subclass(cls, original.id):
        return set()
    done = construction(world, original, start)
    return {
        attr
        for owner in world.mro(original).classes[1:]
        if (other := find(world, owner, "__init__")) is not None and other.key not in done.methods
        for attr in follow(world, original, other).writes
        if attr not in done.writes
    }


def class_level(context: Context, cls: Resolution, attr: str) -> bool:
    """True when a class body on the MRO gives the attribute a value."""
    for owner in context.world.mro(cls).classes:
        found = context.world.own_member(owner, attr)
        if found is None:
            continue
        if found.kind is not Kind.VALUE:
            return True
        record = context.world.class_record(owner)
        if record is not None and any(a.name == attr and a.value for a in record.assigns):
            return True
    return False


def later_writer(
    context: Context, cls: Resolution, attr: str, reached: set[tuple[str, str]]
) -> tuple[str, bool]:
    """A method reached after construction that stores the attribute, and whether always."""
    writer = ""
    world = context.world
    for owner in world.mro(cls).classes:
        tree = world.tree(owner.module) if owner.kind is Kind.CLASS else None
        if tree is None:
            continue
        for name, function in tree.namespace(owner.module).methods.get(owner.qualname, {}).items():
            writes = [w for w in function.self_writes if w.attr == attr]
            if name == "__init__" or not writes:
                continue
            if (owner.id, function.qualname) in reached:
                writer = f"{owner.qualname}.{name}"
                if not all(w.conditional for w in writes):
                    return writer, True
    return writer, False

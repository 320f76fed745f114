"""Which attributes an object of a class may have, as far as both packages tell."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from tools.checks.base import Context
from tools.code.records import ANY_ATTRIBUTE
from tools.code.world import Kind, Resolution


class Presence(StrEnum):
    """Whether an attribute exists."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


_ENUM = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})
_ENUM_ATTRIBUTES = frozenset(
    {"name", "value", "_value_", "_name_", "__members__", "_member_map_", "_member_names_", "_missing_"}
)
_MODULE_ATTRIBUTES = frozenset(
    {
        "_apply", "_buffers", "_call_impl", "_forward_hooks", "_forward_pre_hooks", "_get_name",
        "_load_from_state_dict", "_modules", "_named_members", "_parameters",
        "_register_load_state_dict_pre_hook", "_version", "add_module", "apply", "bfloat16", "buffers",
        "call_super_init", "children", "compile", "cpu", "cuda", "double", "dump_patches", "eval",
        "extra_repr", "float", "forward", "get_buffer", "get_extra_state", "get_parameter", "get_submodule",
        "half", "ipu", "load_state_dict", "modules", "mtia", "named_buffers", "named_children",
        "named_modules", "named_parameters", "parameters", "register_backward_hook", "register_buffer",
        "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
        "register_full_backward_pre_hook", "register_load_state_dict_post_hook",
        "register_load_state_dict_pre_hook", "register_module", "register_parameter",
        "register_state_dict_post_hook", "register_state_dict_pre_hook", "requires_grad_",
        "set_extra_state", "set_submodule", "share_memory", "state_dict", "to", "to_empty", "train",
        "training", "type", "xpu", "zero_grad",
    }
)  # fmt: skip
_TUPLE_ATTRIBUTES = frozenset(
    {"_asdict", "_fields", "_replace", "_make", "_field_defaults", "count", "index"}
)
_MODEL_ATTRIBUTES = frozenset(
    {
        "__fields__", "__fields_set__", "construct", "copy", "dict", "from_orm", "json", "model_computed_fields",
        "model_config", "model_construct", "model_copy", "model_dump", "model_dump_json", "model_extra",
        "model_fields", "model_fields_set", "model_json_schema", "model_parametrized_name", "model_post_init",
        "model_rebuild", "model_validate", "model_validate_json", "model_validate_strings", "parse_file",
        "parse_obj", "parse_raw", "schema", "schema_json", "update_forward_refs", "validate",
    }
)  # fmt: skip
_KNOWN_BASES: dict[str, frozenset[str]] = {
    "torch.nn:Module": _MODULE_ATTRIBUTES,
    "torch:nn.Module": _MODULE_ATTRIBUTES,
    "torch.nn.modules.module:Module": _MODULE_ATTRIBUTES,
    "typing:NamedTuple": _TUPLE_ATTRIBUTES,
    "pydantic:BaseModel": _MODEL_ATTRIBUTES,
    **{f"enum:{name}": _ENUM_ATTRIBUTES for name in _ENUM},
}
"""External bases whose attributes are known, so that a class with them can still be judged."""


_COMPUTED = {"__getattr__", "__getattribute__", "__dict__", ANY_ATTRIBUTE}
"""Stored or defined by a class whose attributes cannot be listed."""
_EXTRA = re.compile(r"""extra['"]?\s*[=:]\s*['"]allow""")


@dataclass(frozen=True, slots=True)
class Family:
    """The attributes of one class in one world."""

    names: frozenset[str]
    opaque: tuple[str, ...]
    """External bases whose attributes are unknown."""
    is_enum: bool


def family(context: Context, cls: Resolution) -> Family | None:
    """None when attributes are computed (``__getattr__``, ``setattr`` with any name, a metaclass)."""
    table: dict[str, Family | None] = context.shared.setdefault("families", {})  # type: ignore[assignment]
    if cls.id not in table:
        table[cls.id] = _family(context, cls)
    return table[cls.id]


def _family(context: Context, cls: Resolution) -> Family | None:
    world = context.world
    names = set(world.instance_attributes(cls)) | _nested(context, cls)
    opaque: list[str] = []
    is_enum = False
    for owner in world.mro(cls).classes:
        if owner.kind is not Kind.CLASS:
            known = _KNOWN_BASES.get(owner.id)
            if known is None:
                opaque.append(owner.id)
            else:
                names |= known
            is_enum = is_enum or owner.id.startswith("enum:")
            continue
        if _COMPUTED & world.instance_attributes(owner):
            return None
        names |= _slots_and_patches(context, owner)
        for patch in context.patched.get(f"{owner.module}.{owner.qualname}", ()):
            # The plugin puts a class of its own in its place; who imports it when, gets either.
            if patch.replacement is None or patch.replacement.kind is not Kind.CLASS:
                return None
            names |= world.instance_attributes(patch.replacement)
        record = world.class_record(owner)
        if record is not None and any(
            a.name == "model_config" and _EXTRA.search(a.value) for a in record.assigns
        ):
            return None
        for decorator in record.decorators if record else ():
            names |= _stored_by(context, owner, decorator)
        for key, value in record.keywords if record else ():
            if key == "metaclass":
                meta = world.name(owner.module, "", value)
                if meta.kind is Kind.CLASS and world.class_member(meta, "__getattr__") is not None:
                    return None
                if meta.kind is Kind.CLASS:
                    names |= world.instance_attributes(meta)
    names |= {
        "__class__",
        "__dict__",
        "__doc__",
        "__module__",
        "__name__",
        "__qualname__",
        "__mro__",
        "__bases__",
    }
    names |= {
        "__subclasses__",
        "__annotations__",
        "__init__",
        "__new__",
        "__eq__",
        "__hash__",
        "__repr__",
        "__str__",
    }
    names |= {"__slots__", "__dataclass_fields__", "__post_init__", "mro", "__call__", "__members__"}
    return Family(frozenset(names), tuple(opaque), is_enum)


def _nested(context: Context, cls: Resolution) -> set[str]:
    """Names of classes defined inside the classes of the MRO."""
    names: set[str] = set()
    for owner in context.world.mro(cls).classes:
        tree = context.world.tree(owner.module)
        if owner.kind is Kind.CLASS and tree is not None:
            prefix = owner.qualname + "."
            for qualname in tree.namespace(owner.module).classes:
                if qualname.startswith(prefix) and "." not in qualname[len(prefix) :]:
                    names.add(qualname[len(prefix) :])
    return names


def _stored_by(context: Context, cls: Resolution, decorator: str) -> set[str]:
    """Names that the module of a decorator stores on objects, perhaps on the class it gets."""
    found = context.world.name(cls.module, "", decorator.partition("(")[0])
    tree = context.world.tree(found.module) if found.found else None
    return (
        set(tree.modules[found.module].attr_stores)
        if tree is not None and found.module in tree.modules
        else set()
    )


def _slots_and_patches(context: Context, cls: Resolution) -> set[str]:
    """Attributes that the plugin adds from outside, and those declared in ``__slots__``."""
    prefix = f"{cls.module}.{cls.qualname}."
    names = {target[len(prefix) :] for target in context.patched if target.startswith(prefix)}
    record = context.world.class_record(cls)
    for assign in record.assigns if record else ():
        if assign.name == "__slots__":
            names.update(assign.items)
    return names


def presence(context: Context, cls: Resolution, name: str) -> Presence:
    """Whether an object of ``cls`` has ``name``; subclasses are not asked."""
    found = family(context, cls)
    if found is None:
        return Presence.UNKNOWN
    if name in found.names:
        return Presence.PRESENT
    if name in context.upstream.attr_stores or name in context.plugin.attr_stores:
        return Presence.UNKNOWN  # stored from outside somewhere, perhaps on this
    if found.opaque:
        before = context.before
        if before is not None and before.world.class_record(cls) is not None:
            # What an unreadable base has did not change with upstream: seen before, readable then, gone now.
            earlier = family(before, cls)
            if earlier is not None and name in earlier.names and earlier.opaque == found.opaque:
                return Presence.ABSENT
        return Presence.UNKNOWN
    return Presence.ABSENT


def descendants(context: Context, cls: Resolution) -> list[Resolution]:
    """Classes of either package that derive from ``cls``."""
    out: list[Resolution] = []
    seen = {cls}
    queue = [cls]
    while queue:
        current = queue.pop()
        for tree in (context.upstream, context.plugin):
            for module, record in tree.subclasses.get(current.qualname.rpartition(".")[2], ()):
                child = Resolution(Kind.CLASS, module, record.qualname)
                if child not in seen and current in context.world.mro(child).classes:
                    seen.add(child)
                    out.append(child)
                    queue.append(child)
    return out

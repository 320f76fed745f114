"""What constructing a class accepts: ``__init__`` along the MRO, or what a dataclass generates."""

from __future__ import annotations

from dataclasses import dataclass

from tools.code.records import Class, Function, Param, ParamKind
from tools.code.signature import keeps_signature, without_receiver
from tools.code.world import Kind, Resolution, World

_DATACLASS = frozenset({"dataclass", "pydantic_dataclass"})
_NAMED_TUPLES = frozenset({"typing:NamedTuple"})
_MODELS = frozenset({"pydantic:BaseModel", "pydantic_settings:BaseSettings"})
_STRUCTS = frozenset({"msgspec:Struct"})


@dataclass(frozen=True, slots=True)
class Constructor:
    """``params`` without the receiver, defined by ``owner``; ``function`` is None when generated."""

    params: tuple[Param, ...]
    owner: Resolution
    function: Function | None
    generated: bool = False


def constructor(world: World, cls: Resolution) -> Constructor | None:
    """None where the source does not decide: opaque bases, metaclasses, ``__new__``, wrapping decorators."""
    mro = world.mro(cls)
    for owner in mro.classes:
        if owner.kind is not Kind.CLASS:
            if owner.id in _NAMED_TUPLES | _MODELS | _STRUCTS:
                return _generated(world, cls, owner.id)
            return None
        record = world.class_record(owner)
        if record is None:
            return None
        if any(key == "metaclass" and "ABCMeta" not in value for key, value in record.keywords):
            return None
        init = world.own_member(owner, "__init__")
        if init is not None:
            function = world.function_record(init) if init.kind is Kind.FUNCTION else None
            if function is None or not keeps_signature(function):
                return None
            return Constructor(without_receiver(function), owner, function)
        if is_dataclass(world, owner, record):
            return _generated(world, owner, "dataclass")
        if world.own_member(owner, "__new__") is not None:
            return None
    return None if mro.opaque else Constructor((), cls, None)


def is_dataclass(world: World, cls: Resolution, record: Class) -> bool:
    """True for ``@dataclass``, pydantic's, and upstream decorators that apply one of them."""
    for text in record.decorators:
        name = text.partition("(")[0]
        if name.rpartition(".")[2] in _DATACLASS:
            return "init=False" not in text
        found = world.name(cls.module, "", name) if name.replace(".", "").isidentifier() else None
        if found is not None and found.kind is Kind.FUNCTION:
            function = world.function_record(found)
            tree = world.tree(found.module)
            if function is not None and tree is not None and found.qualname == "config":
                return True
            if function is not None and any("dataclass_transform" in d for d in function.decorators):
                return True
    return False


def _generated(world: World, cls: Resolution, kind: str) -> Constructor | None:
    """Fields of every readable class on the MRO, base first, as the standard library orders them."""
    fields: dict[str, Param] = {}
    for owner in reversed(world.mro(cls).classes):
        if owner.kind is not Kind.CLASS:
            continue
        record = world.class_record(owner)
        if record is None:
            return None
        keyword_only = kind in _MODELS or any("kw_only=True" in d for d in record.decorators)
        if kind in _STRUCTS:
            keyword_only = ("kw_only", "True") in record.keywords
        for assign in record.assigns:
            annotation = assign.annotation
            if annotation is None:
                continue
            if annotation.rpartition(".")[2] == "KW_ONLY":
                keyword_only = True
                continue
            if annotation.startswith(("ClassVar", "typing.ClassVar")) or "init=False" in assign.value:
                fields.pop(assign.name, None)
                continue
            if kind in _MODELS and (assign.name.startswith("_") or "alias=" in assign.value):
                if "alias=" in assign.value:
                    return None
                continue
            fields[assign.name] = Param(
                assign.name,
                ParamKind.KEYWORD_ONLY
                if keyword_only or "kw_only=True" in assign.value
                else ParamKind.POSITIONAL_OR_KEYWORD,
                _default(assign.value),
                annotation,
            )
    params = [p for p in fields.values() if p.kind is not ParamKind.KEYWORD_ONLY]
    params += [p for p in fields.values() if p.kind is ParamKind.KEYWORD_ONLY]
    if kind in _MODELS:
        # Models ignore or keep unknown keywords unless told to forbid them.
        params.append(Param("extra", ParamKind.VAR_KEYWORD))
    return Constructor(tuple(params), cls, None, generated=True)


def _default(value: str) -> str | None:
    """Default as text; ``field(...)`` and ``Field(...)`` count only with a default or a factory."""
    if not value:
        return None
    callee = value.partition("(")[0].rpartition(".")[2]
    if callee in ("field", "Field"):
        inner = value.partition("(")[2].lstrip()
        if "default" in inner:
            return value
        if (
            callee == "Field"
            and inner
            and not inner.startswith((")", "..."))
            and not _starts_with_keyword(inner)
        ):
            return value
        return None
    return value


def _starts_with_keyword(text: str) -> bool:
    head, equals, _ = text.partition("=")
    return bool(equals) and head.strip().isidentifier()

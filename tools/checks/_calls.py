"""Calls of the plugin with what they reach and what they supply."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tools.checks.base import Context
from tools.code.constructor import constructor
from tools.code.infer import Form, Scope, Type
from tools.code.records import Function, Param
from tools.code.signature import Arguments, Misfit, Problem, keeps_signature, render, without_receiver
from tools.code.world import Kind, Resolution


@dataclass(frozen=True, slots=True)
class Callee:
    """What a call reaches. ``label`` is how messages call it; ``symbol`` is the class or function."""

    label: str
    symbol: Resolution
    params: tuple[Param, ...]
    function: Function | None
    owner: Resolution
    """Where the parameters are written: the class of the constructor, or the function."""
    generated: bool = False

    @property
    def signature(self) -> str:
        """As messages show it."""
        return f"{self.label}{render(self.params)}"


def arguments(call: ast.Call) -> Arguments:
    """What ``call`` supplies."""
    star = sum(isinstance(a, ast.Starred) for a in call.args)
    return Arguments(
        positional=len(call.args) - star,
        keywords=tuple(k.arg for k in call.keywords if k.arg is not None),
        star=bool(star),
        kwstar=any(k.arg is None for k in call.keywords),
    )


def plugin_calls(context: Context) -> Iterator[tuple[str, Scope, ast.Call]]:
    """Every (module, scope, call) of the plugin."""
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.all(ast.Call):
                yield module, scope, node


def callee_of(context: Context, scope: Scope, call: ast.Call) -> Callee | None:
    """What ``call`` reaches, when that is a function or class of one of the packages; None when unknown."""
    func = call.func
    if isinstance(func, ast.Attribute) and _is_super(func.value):
        assert isinstance(func.value, ast.Call)
        return _super_callee(context, scope, func.value, func.attr)
    found = context.inference.of(func, scope)
    return callable_of(context, found) if found is not None else None


def callable_of(context: Context, found: Type) -> Callee | None:
    """The parameters behind a type that is called."""
    if found.form is Form.CLASS:
        built = constructor(context.world, found.ref)
        if built is None or _replaced(context, found.ref, "__init__"):
            return None
        label = found.ref.qualname
        return Callee(label, found.ref, built.params, built.function, built.owner, built.generated)
    if found.form not in (Form.FUNCTION, Form.METHOD):
        return None
    function = context.world.function_record(found.ref)
    if function is not None and is_patched(context, found.ref):
        standing_in = _standing_in(context, found)
        if standing_in is None:
            return None
        found, function = standing_in, context.world.function_record(standing_in.ref)
    if function is None or not keeps_signature(function):
        return None
    params = without_receiver(function) if found.form is Form.METHOD else function.params
    return Callee(found.ref.qualname, found.ref, params, function, found.ref)


def is_patched(context: Context, symbol: Resolution) -> bool:
    """True when the plugin replaces ``symbol``, so that its own source says nothing about what runs."""
    dotted = f"{symbol.module}.{symbol.qualname}"
    if dotted in context.patched:
        return True
    owner = dotted.rpartition(".")[0]
    return owner in context.patched


def _standing_in(context: Context, found: Type) -> Type | None:
    """What the plugin has put in the place of a patched function, or of a method of a patched class."""
    dotted = f"{found.ref.module}.{found.ref.qualname}"
    owner, _, name = dotted.rpartition(".")
    for target, method in ((dotted, ""), (owner, name)):
        patches = context.patched.get(target, ())
        if len(patches) == 1 and (replacement := patches[0].replacement) is not None:
            if not method:
                return Type(found.form, replacement) if replacement.kind is Kind.FUNCTION else None
            member = context.world.class_member(replacement, method)
            if member is not None and member.kind is Kind.FUNCTION:
                return Type(found.form, member)
    return None


def _replaced(context: Context, cls: Resolution, method: str) -> bool:
    return any(
        f"{c.module}.{c.qualname}.{method}" in context.patched
        or f"{c.module}.{c.qualname}" in context.patched
        for c in context.world.mro(cls).classes
    )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def super_start(context: Context, scope: Scope, call: ast.Call) -> tuple[Resolution, Resolution] | None:
    """(class of self, class after which the lookup starts) of ``super()`` or ``super(X, self)``."""
    if scope.cls is None:
        return None
    if not call.args:
        return scope.cls, scope.cls
    found = context.inference.of(call.args[0], scope)
    if found is None or found.form is not Form.CLASS:
        return None
    return scope.cls, found.ref


def _super_callee(context: Context, scope: Scope, call: ast.Call, method: str) -> Callee | None:
    start = super_start(context, scope, call)
    if start is None:
        return None
    cls, after = start
    world = context.world
    mro = world.mro(cls)
    if after not in mro.classes:
        return None
    if _used_as_mixin(context, cls):
        return None  # what comes after this class depends on whose MRO it is in
    definer = world.definer(cls, method, after=after)
    if definer is None:
        if method == "__init__" and not mro.opaque:
            return Callee("object.__init__", Resolution(Kind.EXTERNAL, "builtins", "object"), (), None, cls)
        if method == "__init__":
            return _generated_init(context, cls, after)
        return None
    behind = mro.classes[mro.classes.index(after) + 1 : mro.classes.index(definer)]
    if any(c.kind is not Kind.CLASS for c in behind):
        return None  # something unreadable is asked first
    if method == "__init__" and (generated := _generated_init(context, cls, after)) is not None:
        return generated
    function = world.method(cls, method, after=after)
    if function is None or not keeps_signature(function):
        return None
    symbol = Resolution(Kind.FUNCTION, definer.module, f"{definer.qualname}.{method}")
    if is_patched(context, symbol):
        return None
    return Callee(symbol.qualname, symbol, without_receiver(function), function, symbol)


def _generated_init(context: Context, cls: Resolution, after: Resolution) -> Callee | None:
    """The constructor of the first class behind ``after`` when a dataclass generates it."""
    classes = context.world.mro(cls).classes
    for owner in classes[classes.index(after) + 1 :]:
        if owner.kind is not Kind.CLASS:
            return None
        if context.world.own_member(owner, "__init__") is not None:
            return None
        built = constructor(context.world, owner)
        if built is not None and built.generated and built.owner == owner:
            return Callee(owner.qualname, owner, built.params, None, owner, generated=True)
    return None


def _used_as_mixin(context: Context, cls: Resolution) -> bool:
    """True when a class of the plugin derives from ``cls`` and from something else as well."""
    name = cls.qualname.rpartition(".")[2]
    return any(len(sub.bases) > 1 for _, sub in context.plugin.subclasses.get(name, ()))


def describe(problem: Problem, callee: Callee) -> str:
    """One problem in words."""
    if problem.misfit is Misfit.UNKNOWN_KEYWORD:
        return f"`{callee.label}` takes no argument `{problem.name}`"
    if problem.misfit is Misfit.MISSING_ARGUMENT:
        return f"`{callee.label}` requires `{problem.name}`, which this call does not supply"
    if problem.misfit is Misfit.MULTIPLE_VALUES:
        return f"`{callee.label}` gets `{problem.name}` twice: by position and by keyword"
    return f"`{callee.label}` takes fewer positional arguments ({problem.detail})"

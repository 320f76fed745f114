"""What type an expression of the plugin has, as far as annotations, constructors and assignments tell.

Deliberately modest: a name bound twice to different things, or narrowed by ``isinstance`` or ``hasattr``, is
unknown. What is answered is meant to be right, since calls and attribute reads are judged by it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeVar

from tools.code.records import Function
from tools.code.shapes import FunctionNode, Shape, shape_of, shapes_of
from tools.code.signature import is_property
from tools.code.world import Kind, Resolution, World

_DEPTH = 12
N = TypeVar("N", bound=ast.AST)


class Form(StrEnum):
    """How a value relates to its ``ref``."""

    MODULE = "module"
    CLASS = "class"
    INSTANCE = "instance"
    FUNCTION = "function"
    METHOD = "method"
    """Bound: the receiver is already supplied."""


@dataclass(frozen=True, slots=True)
class Type:
    """``ref`` is the module, class or function; ``receiver`` the class through which a method was found."""

    form: Form
    ref: Resolution
    receiver: Resolution | None = None
    exact: bool = False
    """Instances: constructed here, so no subclass is meant."""


class Names(Mapping[str, "Type | None"]):
    """What a function's names are, worked out when asked for. None: bound, but to something unknown."""

    def __init__(self, outer: Names | None, fixed: dict[str, Type | None], bound: frozenset[str]) -> None:
        self._outer, self._fixed, self._bound = outer, fixed, bound
        self.pending: dict[str, Callable[[], Type | None]] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._fixed or name in self._bound or (self._outer is not None and name in self._outer)

    def __getitem__(self, name: str) -> Type | None:
        if name in self._fixed:
            return self._fixed[name]
        if name in self._bound:
            self._fixed[name] = None  # what refers to itself is unknown
            if name in self.pending:
                self._fixed[name] = self.pending.pop(name)()
            return self._fixed[name]
        if self._outer is not None:
            return self._outer[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._fixed.keys() | self._bound | set(self._outer or ())

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(slots=True)
class Scope:
    """One function (or the module body) with what its names are known to be."""

    module: str
    qualname: str
    node: FunctionNode | ast.Module
    cls: Resolution | None
    """The class whose body holds the function directly."""
    names: Names
    narrowed: frozenset[str]
    nodes: list[ast.AST]
    """As :func:`tools.code.shapes.own_nodes` gives them."""
    by_type: dict[type[ast.AST], list[ast.AST]]
    """The same by exact type."""

    def all(self, kind: type[N]) -> list[N]:
        """Nodes of exactly this type, in source order."""
        return self.by_type.get(kind, [])  # type: ignore[return-value]


def annotation_names(text: str) -> list[str]:
    """Class names an annotation allows, without None: ``A | None`` -> ["A"]; [] when it is not that plain."""
    text = text.strip().strip("\"'")
    for wrapper in ("Optional[", "typing.Optional["):
        if text.startswith(wrapper) and text.endswith("]"):
            text = text[len(wrapper) : -1].strip().strip("\"'")
    names = []
    for part in text.split("|"):
        name = part.strip().strip("\"'")
        if name == "None":
            continue
        if not all(piece.isidentifier() for piece in name.split(".")):
            return []
        names.append(name)
    return names


class Inference:
    """Types of expressions in the plugin's own code."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._memo: dict[int, Type | None] = {}
        self._scopes: dict[str, list[Scope]] = {}
        self._single: dict[tuple[str, str], Scope | None] = {}

    def scopes(self, module: str) -> list[Scope]:
        """Every function of ``module``, outer ones first, and the module body as the first of all."""
        found = self._scopes.get(module)
        if found is None:
            made: dict[Shape | None, Scope] = {}
            for shape in shapes_of(self.world.plugin, module):
                made[shape] = self._scope(module, shape, made.get(shape.outer) if shape.outer else None)
            found = self._scopes[module] = list(made.values())
        return found

    def scope_of(self, module: str, qualname: str) -> Scope | None:
        """One function of either package, without reading its siblings; None when it is not there."""
        key = (module, qualname)
        if key not in self._single:
            tree = self.world.tree(module)
            shape = shape_of(tree, module, qualname) if tree is not None else None
            self._single[key] = self._nested(module, shape) if shape is not None else None
        return self._single[key]

    def _nested(self, module: str, shape: Shape) -> Scope:
        outer = self._nested(module, shape.outer) if shape.outer is not None else None
        return self._scope(module, shape, outer)

    def _scope(self, module: str, shape: Shape, outer: Scope | None) -> Scope:
        cls = Resolution(Kind.CLASS, module, shape.owner) if shape.owner is not None else None
        fixed: dict[str, Type | None] = {}
        parameters: dict[str, ast.expr | None] = {}
        if not isinstance(shape.node, ast.Module):
            args = shape.node.args
            ordinary = [*args.posonlyargs, *args.args, *args.kwonlyargs]
            parameters = {a.arg: a.annotation for a in ordinary}
            fixed = {a.arg: None for a in (args.vararg, args.kwarg) if a is not None}
            if ordinary and cls is not None and "staticmethod" not in shape.decorators:
                form = Form.CLASS if "classmethod" in shape.decorators else Form.INSTANCE
                fixed[ordinary[0].arg] = Type(form, cls)
        # A parameter that is assigned to, or a name of an outer function bound again, is unknown.
        taken = {n for n in shape.bound if n in parameters or (outer is not None and n in outer.names)}
        fixed.update(dict.fromkeys(taken))
        names = Names(outer.names if outer else None, fixed, shape.bound | parameters.keys())
        scope = Scope(
            module, shape.qualname, shape.node, cls, names, shape.narrowed, shape.nodes, shape.by_type
        )
        for name, annotation in parameters.items():
            if name not in fixed:
                names.pending[name] = partial(self._annotated, module, shape.qualname, annotation)
        for name, value in shape.assigned.items():
            if name not in fixed:
                names.pending[name] = partial(self.of, value, scope)
        for name, annotation in shape.annotated.items():
            if name not in fixed:
                names.pending[name] = partial(self._annotated, module, shape.qualname, annotation)
        return scope

    def _annotated(self, module: str, scope: str, annotation: ast.expr | None) -> Type | None:
        if annotation is None:
            return None
        return self.annotation(module, scope, ast.unparse(annotation))

    def annotation(self, module: str, scope: str, text: str) -> Type | None:
        """Instance type that annotation ``text`` in ``scope`` of ``module`` (of either package) names."""
        names = annotation_names(text)
        if len(names) != 1:
            return None
        found = self.world.name(module, scope, names[0])
        if not found.found and names[0].isidentifier():
            found = self._typing_import(module, names[0]) or found
        return Type(Form.INSTANCE, found) if found.kind is Kind.CLASS else None

    def _typing_import(self, module: str, name: str) -> Resolution | None:
        """Names imported under ``TYPE_CHECKING`` do not exist at run time but do name types."""
        tree = self.world.tree(module)
        assert tree is not None
        bindings = tree.namespace(module).names.get(name)
        for imported in bindings.imports if bindings else ():
            source = tree.absolute(module, imported)
            if imported.name not in ("", ".", "*"):
                return self.world.member(source, imported.name)
        return None

    # ---- expressions ----

    def of(self, node: ast.expr, scope: Scope, depth: int = 0) -> Type | None:
        """The type of ``node`` in ``scope``; None when unknown."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Name):
            if node.id in scope.names:
                return None if node.id in scope.narrowed else scope.names[node.id]
            return self._resolved(self.world.name(scope.module, scope.qualname, node.id))
        if not isinstance(node, ast.Attribute | ast.Call):
            return None
        # Many checks ask for the same expressions. Nodes live as long as their tree, so their id serves.
        key = id(node)
        if key not in self._memo:
            self._memo[key] = self._compound(node, scope, depth)
        return self._memo[key]

    def _compound(self, node: ast.Attribute | ast.Call, scope: Scope, depth: int) -> Type | None:
        if isinstance(node, ast.Attribute):
            owner = self.of(node.value, scope, depth + 1)
            return self.attribute(owner, node.attr) if owner is not None else None
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return None
        callee = self.of(node.func, scope, depth + 1)
        return self.result(callee) if callee is not None else None

    def _resolved(self, found: Resolution) -> Type | None:
        forms = {Kind.MODULE: Form.MODULE, Kind.CLASS: Form.CLASS, Kind.FUNCTION: Form.FUNCTION}
        form = forms.get(found.kind)
        if form is not None:
            return Type(form, found)
        if found.kind is Kind.VALUE:
            return self._value(found)
        return None

    def _value(self, found: Resolution) -> Type | None:
        """A module or class attribute with an annotation, or constructed by a call."""
        tree = self.world.tree(found.module)
        if tree is None:
            return None
        space = tree.namespace(found.module)
        owner, _, name = found.qualname.rpartition(".")
        if owner:
            record = space.classes.get(owner)
            assigns = [a for a in record.assigns if a.name == name] if record else []
        else:
            bindings = space.names.get(name)
            assigns = list(bindings.assigns) if bindings else []
        if len(assigns) != 1:
            return None
        if assigns[0].annotation is not None:
            return self.annotation(found.module, owner, assigns[0].annotation)
        if assigns[0].kind.startswith("call:"):
            return self._constructed(found.module, owner, assigns[0].kind[5:])
        return None

    def _constructed(self, module: str, scope: str, callee: str) -> Type | None:
        if not all(part.isidentifier() for part in callee.split(".")):
            return None
        found = self.world.name(module, scope, callee)
        if found.kind is Kind.CLASS:
            return Type(Form.INSTANCE, found, exact=True)
        if found.kind is Kind.FUNCTION:
            return self.result(Type(Form.FUNCTION, found))
        return None

    def attribute(self, owner: Type, name: str) -> Type | None:
        """The type of ``owner.name``."""
        world = self.world
        if owner.form is Form.MODULE:
            return self._resolved(world.member(owner.ref.module, name))
        if owner.form not in (Form.CLASS, Form.INSTANCE):
            return None
        found = world.class_member(owner.ref, name)
        if found is not None and found.kind is Kind.FUNCTION:
            function = world.function_record(found)
            if function is None:
                return None
            if is_property(function):
                return self._returned(found.module, function) if owner.form is Form.INSTANCE else None
            static = "staticmethod" in function.decorators
            bound = owner.form is Form.INSTANCE or "classmethod" in function.decorators
            return Type(Form.METHOD if bound and not static else Form.FUNCTION, found, owner.ref)
        if found is not None and found.kind is Kind.CLASS:
            return Type(Form.CLASS, found)
        if owner.form is Form.INSTANCE:
            stored = self._stored(owner.ref, name)
            if stored is not None:
                return stored
        if found is not None and found.kind is Kind.VALUE:
            return self._value(found)
        return None

    def _stored(self, cls: Resolution, name: str) -> Type | None:
        """Type of ``self.name`` when every assignment along the MRO agrees or only one tells."""
        types: set[Type] = set()
        for owner in self.world.mro(cls).classes:
            if owner.kind is not Kind.CLASS:
                continue
            tree = self.world.tree(owner.module)
            assert tree is not None
            for method in tree.namespace(owner.module).methods.get(owner.qualname, {}).values():
                for write in method.self_writes:
                    if write.attr == name:
                        hinted = self._hinted(owner.module, method, write.hint)
                        if hinted is None:
                            return None
                        types.add(hinted)
            if types:
                break
        return types.pop() if len(types) == 1 else None

    def _hinted(self, module: str, method: Function, hint: str) -> Type | None:
        kind, _, text = hint.partition(":")
        if kind == "ann":
            return self.annotation(module, method.qualname, text)
        if kind == "call":
            return self._constructed(module, method.qualname, text)
        if kind == "param":
            for param in method.params:
                if param.name == text and param.annotation:
                    return self.annotation(module, method.qualname, param.annotation)
        return None

    def result(self, callee: Type) -> Type | None:
        """The type a call of ``callee`` gives."""
        if callee.form is Form.CLASS:
            return Type(Form.INSTANCE, callee.ref, exact=True)
        if callee.form in (Form.FUNCTION, Form.METHOD):
            function = self.world.function_record(callee.ref)
            if function is None or function.is_async or function.is_generator:
                return None
            return self._returned(callee.ref.module, function)
        return None

    def _returned(self, module: str, function: Function) -> Type | None:
        if not function.returns or function.is_generator:
            return None
        return self.annotation(module, function.qualname, function.returns)

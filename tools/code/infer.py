"""What type an expression of the plugin has, as far as annotations, constructors and assignments tell.

Deliberately modest: a name bound twice to different things, or narrowed by ``isinstance`` or ``hasattr``, is
unknown. What is answered is meant to be right, since calls and attribute reads are judged by it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tools.code.extract import CHILD_FIELDS, dotted
from tools.code.records import Function
from tools.code.signature import is_property
from tools.code.world import Kind, Resolution, World

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_DEPTH = 12


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


@dataclass(slots=True)
class Scope:
    """One function of the plugin (or the module body) with what its names are known to be."""

    module: str
    qualname: str
    node: FunctionNode | ast.Module
    cls: Resolution | None
    names: dict[str, Type | None]
    """None: bound, but to something unknown."""
    narrowed: frozenset[str]
    nodes: list[ast.AST]
    """As :func:`own_nodes` gives them."""


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
        self._scopes: dict[str, list[Scope]] = {}
        self._single: dict[tuple[str, str], Scope | None] = {}

    def scopes(self, module: str) -> list[Scope]:
        """Every function of ``module``, outer ones first, and the module body as the first of all."""
        found = self._scopes.get(module)
        if found is None:
            tree = self.world.plugin
            found = []
            if not tree.modules[module].error:
                root = tree.syntax(module)
                found = [Scope(module, "", root, None, {}, frozenset(), own_nodes(root))]
                found += self._functions(module, root.body, "", None, found[0])
            self._scopes[module] = found
        return found

    def scope_of(self, module: str, qualname: str) -> Scope | None:
        """One function of either package, without reading its siblings; None when it is not there."""
        key = (module, qualname)
        if key not in self._single:
            self._single[key] = self._find_scope(module, qualname)
        return self._single[key]

    def _find_scope(self, module: str, qualname: str) -> Scope | None:
        tree = self.world.tree(module)
        if tree is None or module not in tree.modules or tree.modules[module].error:
            return None
        scope = Scope(module, "", tree.syntax(module), None, {}, frozenset(), [])
        body: list[ast.stmt] = scope.node.body
        cls: Resolution | None = None
        prefix = ""
        for part in qualname.split("."):
            node = _named(body, part)
            if node is None:
                return None
            prefix = f"{prefix}.{part}" if prefix else part
            body = node.body
            if isinstance(node, ast.ClassDef):
                cls = Resolution(Kind.CLASS, module, prefix)
            else:
                scope, cls = self._scope(module, prefix, node, cls, scope), None
        return scope if scope.qualname == qualname else None

    def _functions(
        self, module: str, body: list[ast.stmt], prefix: str, cls: Resolution | None, outer: Scope
    ) -> Iterator[Scope]:
        for stmt in body:
            if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
                qualname = f"{prefix}.{stmt.name}" if prefix else stmt.name
                scope = self._scope(module, qualname, stmt, cls, outer)
                yield scope
                yield from self._functions(module, stmt.body, qualname, None, scope)
            elif isinstance(stmt, ast.ClassDef):
                qualname = f"{prefix}.{stmt.name}" if prefix else stmt.name
                inner = Resolution(Kind.CLASS, module, qualname)
                yield from self._functions(module, stmt.body, qualname, inner, outer)
            else:
                for field in ("body", "orelse", "finalbody"):
                    yield from self._functions(module, getattr(stmt, field, []), prefix, cls, outer)
                for handler in getattr(stmt, "handlers", []):
                    yield from self._functions(module, handler.body, prefix, cls, outer)

    def _scope(
        self, module: str, qualname: str, node: FunctionNode, cls: Resolution | None, outer: Scope
    ) -> Scope:
        names: dict[str, Type | None] = {}
        if outer.qualname:
            names.update(outer.names)
        decorators = {dotted(d) for d in node.decorator_list}
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for index, argument in enumerate(arguments):
            names[argument.arg] = self._annotated(module, qualname, argument.annotation)
            if index == 0 and cls is not None and "staticmethod" not in decorators:
                form = Form.CLASS if "classmethod" in decorators else Form.INSTANCE
                names[argument.arg] = Type(form, cls)
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                names[extra.arg] = None
        nodes = own_nodes(node)
        narrowed = _narrowed(nodes) | (outer.narrowed if outer.qualname else set())
        scope = Scope(module, qualname, node, cls, names, frozenset(narrowed), nodes)
        self._bind_locals(scope)
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

    def _bind_locals(self, scope: Scope) -> None:
        # None is a type of its own here: bound to something unknown.
        bound: dict[str, list[Type | None]] = {}
        parameters = set(scope.names)
        for child in scope.nodes:
            if (
                isinstance(child, ast.Assign)
                and len(child.targets) == 1
                and isinstance(child.targets[0], ast.Name)
            ):
                bound.setdefault(child.targets[0].id, []).append(None)
            elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store | ast.Del):
                bound.setdefault(child.id, []).append(None)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                bound.setdefault(child.name, []).append(None)
        for child in scope.nodes:
            if isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
                bound[child.target.id] = [self._annotated(scope.module, scope.qualname, child.annotation)]
                continue
            name = _single_target(child)
            # Counted twice when bound once: as the statement, and as the name in it.
            if name is not None and len(bound[name]) == 2 and name not in parameters:
                assert isinstance(child, ast.Assign)
                scope.names[name] = None
                bound[name] = [self.of(child.value, scope)]
        for name, types in bound.items():
            scope.names[name] = types[0] if len(types) == 1 and name not in parameters else None

    # ---- expressions ----

    def of(self, node: ast.expr, scope: Scope, depth: int = 0) -> Type | None:
        """The type of ``node`` in ``scope``; None when unknown."""
        if depth > _DEPTH:
            return None
        if isinstance(node, ast.Name):
            if node.id in scope.names:
                return None if node.id in scope.narrowed else scope.names[node.id]
            return self._resolved(self.world.name(scope.module, scope.qualname, node.id))
        if isinstance(node, ast.Attribute):
            owner = self.of(node.value, scope, depth + 1)
            return self.attribute(owner, node.attr) if owner is not None else None
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "super":
                return None
            callee = self.of(node.func, scope, depth + 1)
            return self.result(callee) if callee is not None else None
        if isinstance(node, ast.Await):
            return None
        return None

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


def own_nodes(node: FunctionNode | ast.Module) -> list[ast.AST]:
    """Nodes of one function or module body in source order, without those of functions inside it.

    Class bodies inside a module body belong to it; decorators and defaults of inner functions do too.
    """
    out: list[ast.AST] = []
    stack: list[ast.AST] = list(reversed(node.body))
    is_module = isinstance(node, ast.Module)
    while stack:
        child = stack.pop()
        out.append(child)
        kind = type(child)
        if kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            stack.extend(reversed(child.decorator_list))  # type: ignore[attr-defined]
            continue
        if kind is ast.Lambda or (kind is ast.ClassDef and not is_module):
            continue
        for field in reversed(CHILD_FIELDS[kind]):
            value = getattr(child, field, None)
            if type(value) is list:
                stack.extend([item for item in reversed(value) if isinstance(item, ast.AST)])
            elif isinstance(value, ast.AST):
                stack.append(value)
    return out


def _named(body: list[ast.stmt], name: str) -> FunctionNode | ast.ClassDef | None:
    """The last definition of ``name`` in ``body``, also under conditions."""
    found: FunctionNode | ast.ClassDef | None = None
    for stmt in body:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if stmt.name == name:
                found = stmt
            continue
        inner = [s for field in ("body", "orelse", "finalbody") for s in getattr(stmt, field, [])]
        inner += [s for handler in getattr(stmt, "handlers", []) for s in handler.body]
        if inner:
            found = _named(inner, name) or found
    return found


def _single_target(node: ast.AST) -> str | None:
    """``x`` of ``x = …``."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _narrowed(nodes: list[ast.AST]) -> set[str]:
    """Names a function tests with ``isinstance``, ``hasattr`` and the like."""
    out = set()
    for child in nodes:
        if (
            type(child) is ast.Call
            and isinstance(child.func, ast.Name)
            and child.func.id in ("isinstance", "hasattr", "issubclass", "type", "getattr", "cast")
            and child.args
            and isinstance(child.args[0], ast.Name)
        ):
            out.add(child.args[0].id)
    return out

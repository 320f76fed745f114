"""Every place where the plugin replaces something inside upstream.

Decorators that name their target by string, assignments to attributes of upstream modules and classes,
``setattr``, redirects through ``sys.modules`` and mutations of upstream's tables.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tools.code.infer import Form, Inference, Scope, Type
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution, World


class PatchKind(StrEnum):
    """How a replacement is made."""

    DECORATOR = "decorator"
    ASSIGNMENT = "assignment"
    SETATTR = "setattr"
    SYS_MODULES = "sys.modules"
    TABLE = "table mutation"


@dataclass(frozen=True, slots=True)
class Patch:
    """One replacement. ``attribute`` is dotted below the module (``Class.method``), '' for whole modules."""

    kind: PatchKind
    target_module: str
    attribute: str
    module: str
    """Plugin module that makes it."""
    scope: str
    line: int
    replacement: Resolution | None
    """The plugin definition put there, where it can be read."""
    allow_missing: bool = False
    detail: str = ""
    """Tables: the mutating method, ``[]=`` or ``+=``. Assignments: the literal's type, such as ``list``."""

    @property
    def target(self) -> str:
        """Dotted path of what is replaced."""
        return f"{self.target_module}.{self.attribute}" if self.attribute else self.target_module


def find_patches(world: World, inference: Inference) -> tuple[Patch, ...]:
    """All patches of the plugin, in the order of modules and lines."""
    out: list[Patch] = []
    for module in sorted(world.plugin.modules):
        for scope in inference.scopes(module):
            out += _decorators(world, scope)
            for kind in (ast.Assign, ast.AugAssign, ast.Expr):
                for node in scope.all(kind):
                    out += _node_patches(world, inference, scope, node)
    return tuple(sorted(set(out), key=lambda p: (p.module, p.line, p.target)))


def _string(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _patch_call(world: World, scope: Scope, call: ast.expr, default: str) -> tuple[str, str, bool] | None:
    """(module, attribute, allow_missing) of ``patch("module", "attribute")``."""
    if not isinstance(call, ast.Call):
        return None
    name = dotted(call.func)
    if "?" in name or name.rpartition(".")[2] not in {
        d.rpartition(".")[2] for d in world.profile.patch_decorators
    }:
        return None
    found = world.name(scope.module, scope.qualname, name)
    if found.id.replace(":", ".") not in world.profile.patch_decorators:
        return None
    arguments = [_string(a) for a in call.args]
    keywords = {k.arg: k.value for k in call.keywords}
    module = arguments[0] if arguments else _string(keywords.get("target_module_path"))
    attribute = arguments[1] if len(arguments) > 1 else _string(keywords.get("target_attribute_name"))
    allow = keywords.get("allow_missing")
    missing_ok = isinstance(allow, ast.Constant) and allow.value is True
    if module is None or world.tree(module) is not world.upstream:
        return None
    return module, attribute or default, missing_ok


def _decorators(world: World, scope: Scope) -> Iterator[Patch]:
    """Decorated definitions directly in ``scope``."""
    definitions: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = [
        *scope.all(ast.FunctionDef),
        *scope.all(ast.AsyncFunctionDef),
        *scope.all(ast.ClassDef),
    ]
    for node in definitions:
        for decorator in node.decorator_list:
            found = _patch_call(world, scope, decorator, node.name)
            if found is None:
                continue
            kind = Kind.CLASS if isinstance(node, ast.ClassDef) else Kind.FUNCTION
            qualname = f"{scope.qualname}.{node.name}" if scope.qualname else node.name
            yield Patch(
                PatchKind.DECORATOR,
                found[0],
                found[1],
                scope.module,
                qualname,
                decorator.lineno,
                Resolution(kind, scope.module, qualname),
                found[2],
            )


def _node_patches(world: World, inference: Inference, scope: Scope, node: ast.AST) -> Iterator[Patch]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(world, inference, scope, target, node.value)
        if isinstance(node.value, ast.Call):
            yield from _called(world, inference, scope, node.value)
    elif isinstance(node, ast.AugAssign):
        yield from _table(world, inference, scope, node.target, node.lineno, "+=")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _called(world, inference, scope, node.value)


def _owner(world: World, inference: Inference, scope: Scope, node: ast.expr) -> tuple[str, str] | None:
    """(upstream module, dotted class) that ``node`` denotes: something whose attributes can be replaced."""
    found: Type | None = inference.of(node, scope)
    if found is None or found.form not in (Form.MODULE, Form.CLASS):
        name = dotted(node)
        if "?" in name or name.split(".")[0] in scope.names:
            return None
        gone = _missing_import(world, scope, name)
        if gone is not None:
            return gone
        missing = world.name(scope.module, scope.qualname, name)
        # ``import vllm.a.gone`` then ``vllm.a.gone.f = g``: the owner itself is missing.
        if missing.kind is Kind.MISSING and world.tree(missing.module) is world.upstream:
            return missing.module, missing.qualname or _imported_name(world, scope, name)
        return None
    if world.tree(found.ref.module) is not world.upstream:
        return None
    return found.ref.module, found.ref.qualname if found.form is Form.CLASS else ""


def _missing_import(world: World, scope: Scope, name: str) -> tuple[str, str] | None:
    """``import a.b.gone`` says where the module ends in ``a.b.gone.C``: nothing else can."""
    plain = [i.module for i in world.plugin.modules[scope.module].imports if i.name == "" and i.level == 0]
    inside = [m for m in plain if name == m or name.startswith(f"{m}.")]
    module = max(inside, key=len, default="")
    if not module or world.tree(module) is not world.upstream or world.module(module).found:
        return None
    return module, name[len(module) + 1 :]


def _imported_name(world: World, scope: Scope, name: str) -> str:
    """What ``name`` is called below a module that is not there: ``from gone import C as D`` makes D a C."""
    head, _, rest = name.partition(".")
    for imported in world.plugin.modules[scope.module].imports:
        if imported.bound == head and imported.name not in ("", ".", "*"):
            return f"{imported.name}.{rest}" if rest else imported.name
    return ""


def _replacement(inference: Inference, scope: Scope, value: ast.expr) -> Resolution | None:
    if isinstance(value, ast.Call) and dotted(value.func) in ("staticmethod", "classmethod", "property"):
        value = value.args[0] if value.args else value
    found = inference.of(value, scope)
    if found is not None and found.form in (Form.CLASS, Form.FUNCTION):
        return found.ref
    return None


_LITERALS: dict[type[ast.expr], str] = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Tuple: "tuple",
}


def _join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def _assigned(
    world: World, inference: Inference, scope: Scope, target: ast.expr, value: ast.expr
) -> Iterator[Patch]:
    if isinstance(target, ast.Tuple | ast.List):
        for element in target.elts:
            yield from _assigned(world, inference, scope, element, value)
    elif isinstance(target, ast.Attribute):
        if isinstance(target.value, ast.Name) and target.value.id in ("self", "cls"):
            return
        owner = _owner(world, inference, scope, target.value)
        if owner is not None:
            yield Patch(
                PatchKind.ASSIGNMENT,
                owner[0],
                _join(owner[1], target.attr),
                scope.module,
                scope.qualname,
                target.lineno,
                _replacement(inference, scope, value),
                detail=_LITERALS.get(type(value), ""),
            )
    elif isinstance(target, ast.Subscript):
        if dotted(target.value) == "sys.modules":
            name = _string(target.slice)
            if name is not None and world.tree(name) is world.upstream:
                found = inference.of(value, scope)
                yield Patch(
                    PatchKind.SYS_MODULES,
                    name,
                    "",
                    scope.module,
                    scope.qualname,
                    target.lineno,
                    found.ref if found is not None and found.form is Form.MODULE else None,
                )
        else:
            yield from _table(world, inference, scope, target.value, target.lineno, "[]=")


def _called(world: World, inference: Inference, scope: Scope, call: ast.Call) -> Iterator[Patch]:
    name = dotted(call.func)
    if name == "setattr" and len(call.args) == 3:
        attribute = _string(call.args[1])
        owner = _owner(world, inference, scope, call.args[0])
        if attribute is not None and owner is not None:
            yield Patch(
                PatchKind.SETATTR,
                owner[0],
                _join(owner[1], attribute),
                scope.module,
                scope.qualname,
                call.lineno,
                _replacement(inference, scope, call.args[2]),
            )
    elif isinstance(call.func, ast.Call):
        found = _patch_call(world, scope, call.func, "")
        if found is not None and found[1]:
            yield Patch(
                PatchKind.DECORATOR,
                found[0],
                found[1],
                scope.module,
                scope.qualname,
                call.lineno,
                _replacement(inference, scope, call.args[0]) if call.args else None,
                found[2],
            )
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _MUTATORS:
        yield from _table(world, inference, scope, call.func.value, call.lineno, call.func.attr)


_MUTATORS = frozenset(
    {"append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "discard", "clear"}
)


def _table(
    world: World, inference: Inference, scope: Scope, container: ast.expr, line: int, how: str
) -> Iterator[Patch]:
    """A container that belongs to an upstream module or class."""
    name = dotted(container)
    head = name.split(".")[0]
    if "?" in name or head in scope.names or head in ("self", "cls", "super()"):
        return
    found = world.name(scope.module, scope.qualname, name)
    if (
        found.kind in (Kind.VALUE, Kind.MISSING)
        and world.tree(found.module) is world.upstream
        and found.qualname
    ):
        yield Patch(
            PatchKind.TABLE,
            found.module,
            found.qualname,
            scope.module,
            scope.qualname,
            line,
            None,
            detail=how,
        )

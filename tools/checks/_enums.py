"""Which Enum class an expression of the plugin is a member of, as far as names and annotations tell."""

from __future__ import annotations

import ast
import re

from tools.checks.base import Context
from tools.code.functions import function_node, walk
from tools.code.infer import Form, Scope
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution, World

_ENUMS = frozenset({"Enum", "Flag"})
_EQUAL_BY_VALUE = frozenset({"IntEnum", "StrEnum", "IntFlag", "ReprEnum", "str", "int", "bytes"})
_TUPLE = re.compile(r"^[\"']?(?:tuple|Tuple)\[(.*)\][\"']?$", re.DOTALL)


def is_enum(world: World, cls: Resolution) -> bool:
    """True for classes whose members equal nothing but themselves: plain ``Enum`` and ``Flag``."""
    if cls.kind is not Kind.CLASS:
        return False
    names = [(c.qualname or c.module).rpartition(".")[2] for c in world.mro(cls).classes[1:]]
    if not set(names) & _ENUMS or set(names) & _EQUAL_BY_VALUE:
        return False
    return not any(_redefines(world, c) for c in world.mro(cls).classes if c.kind is Kind.CLASS)


def _redefines(world: World, cls: Resolution) -> bool:
    return world.own_member(cls, "__eq__") is not None or world.own_member(cls, "__hash__") is not None


class Members:
    """Over the scopes of one context."""

    def __init__(self, context: Context) -> None:
        self.context, self.world, self.inference = context, context.world, context.inference

    def of(self, node: ast.expr, scope: Scope, depth: int = 0) -> Resolution | None:
        """The Enum class of ``node``; None when it is no member, or unknown."""
        if depth > 6:
            return None
        if isinstance(node, ast.Attribute):
            owner = self._named(node.value, scope)
            if owner is not None and is_enum(self.world, owner):
                member = self.world.own_member(owner, node.attr)
                return owner if member is not None and member.kind is Kind.VALUE else None
            if (
                isinstance(node.value, ast.Name)
                and scope.cls is not None
                and self._is_self(node.value, scope)
            ):
                stored = self._stored(scope.cls, node.attr, depth)
                if stored is not None:
                    return stored
        if isinstance(node, ast.Name) and node.id in scope.names:
            unpacked = self._unpacked(node.id, scope)
            if unpacked is not None:
                return self.element(unpacked[0], unpacked[1], scope)
        if isinstance(node, ast.Call) and (found := self._constructed(node, scope)) is not None:
            return found
        known = self.inference.of(node, scope)
        if known is not None and known.form is Form.INSTANCE and is_enum(self.world, known.ref):
            return known.ref
        return None

    def _constructed(self, call: ast.Call, scope: Scope) -> Resolution | None:
        owner = self._named(call.func, scope)
        return owner if owner is not None and is_enum(self.world, owner) else None

    def _named(self, node: ast.expr, scope: Scope) -> Resolution | None:
        name = dotted(node)
        if "?" in name or name.partition(".")[0] in scope.names:
            return None
        return self.world.name(scope.module, scope.qualname, name)

    @staticmethod
    def _is_self(node: ast.Name, scope: Scope) -> bool:
        args = getattr(scope.node, "args", None)
        return bool(args and args.args and args.args[0].arg == node.id)

    @staticmethod
    def _unpacked(name: str, scope: Scope) -> tuple[ast.expr, int] | None:
        """The call and the place of ``a, name = call()``, when nothing else binds the name."""
        found: list[tuple[ast.expr, int]] = []
        for node in scope.all(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Tuple):
                    found += [(node.value, i) for i, e in enumerate(target.elts) if dotted(e) == name]
                elif dotted(target) == name:
                    return None
        return found[0] if len(found) == 1 else None

    def _stored(self, cls: Resolution, attr: str, depth: int) -> Resolution | None:
        """What every ``self.attr = …`` of the nearest class that has one stores, when all agree."""
        for owner in self.world.mro(cls).classes:
            tree = self.world.tree(owner.module) if owner.kind is Kind.CLASS else None
            if tree is None:
                continue
            found: set[Resolution | None] = set()
            for function in tree.namespace(owner.module).methods.get(owner.qualname, {}).values():
                if not any(w.attr == attr for w in function.self_writes):
                    continue
                scope = self.inference.scope_of(owner.module, function.qualname)
                node = function_node(tree, owner.module, function)
                if scope is None or node is None:
                    return None
                for child in walk(scope.node):
                    if isinstance(child, ast.Assign):
                        found |= set(self._assigned(child, attr, scope, depth))
            found.discard(None)
            if found:
                return found.pop() if len(found) == 1 else None
        return None

    def _assigned(self, node: ast.Assign, attr: str, scope: Scope, depth: int) -> list[Resolution | None]:
        out = []
        for target in node.targets:
            if dotted(target) == f"self.{attr}":
                out.append(self.of(node.value, scope, depth + 1))
            elif isinstance(target, ast.Tuple):
                places = [i for i, e in enumerate(target.elts) if dotted(e) == f"self.{attr}"]
                out += [self.element(node.value, i, scope) for i in places]
        return out

    def element(self, call: ast.expr, index: int, scope: Scope) -> Resolution | None:
        """The Enum class of one element of the tuple that a function is annotated to return."""
        callee = self.inference.of(call.func, scope) if isinstance(call, ast.Call) else None
        if callee is None or callee.form not in (Form.FUNCTION, Form.METHOD):
            return None
        function = self.world.function_record(callee.ref)
        match = _TUPLE.match(function.returns) if function is not None and function.returns else None
        parts = _split(match[1]) if match is not None else []
        if index >= len(parts):
            return None
        return self.annotated(callee.ref.module, callee.ref.qualname, parts[index])

    def annotated(self, module: str, scope: str, text: str | None) -> Resolution | None:
        """The Enum class that an annotation names."""
        found = self.inference.annotation(module, scope, text) if text else None
        return found.ref if found is not None and is_enum(self.world, found.ref) else None


def _split(text: str) -> list[str]:
    """Elements of a subscript, commas inside brackets apart."""
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [*parts, text[start:].strip()]


def members_of(context: Context) -> Members:
    """One object for a context."""
    found = context.shared.get("enum members")
    if not isinstance(found, Members):
        found = context.shared["enum members"] = Members(context)
    return found


def called(world: World, cls: Resolution, other: Resolution) -> tuple[str, str]:
    """How messages tell two classes apart: by name, or by module where the names are equal."""
    if cls.qualname == other.qualname:
        return f"{cls.module}.{cls.qualname}", f"{other.module}.{other.qualname}"
    return cls.qualname, other.qualname

"""Which attributes an object has once its constructor has run.

A constructor is followed through ``super()``, ``super(X, self)``, ``Base.__init__(self)`` and the helpers it
calls on self. Methods are found as Python would find them on an instance of the class at hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from tools.checks._source import effects, function_node, self_name
from tools.code.records import Function
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution, World

_REGISTRARS = frozenset({"register_buffer", "register_parameter", "add_module", "register_module"})


@dataclass(frozen=True, slots=True)
class Method:
    """A method with the class that defines it."""

    owner: Resolution
    function: Function

    @property
    def key(self) -> tuple[str, str]:
        """Tells methods of one class apart."""
        return self.owner.id, self.function.qualname


@dataclass(slots=True)
class Run:
    """What runs when one method is called on an instance, as far as it is certain."""

    methods: dict[tuple[str, str], Method] = field(default_factory=dict)
    writes: dict[str, list[tuple[Method, int, object]]] = field(default_factory=dict)
    """Attribute -> (where, line, the constant stored or :data:`UNKNOWN`)."""
    anything: bool = False
    """Attributes are set by computed name, so that nothing can be called missing."""


UNKNOWN = object()
"""Stored value that is no constant."""


def find(world: World, cls: Resolution, name: str, after: Resolution | None = None) -> Method | None:
    """The method that ``name`` finds on an instance of ``cls``, behind ``after`` for ``super()``."""
    if after is not None:
        # The same class may have been reached by another way than the MRO came.
        after = next((c for c in world.mro(cls).classes if c.id == after.id), after)
    owner = world.definer(cls, name, after=after)
    if owner is None:
        return None
    member = world.own_member(owner, name)
    if member is None or member.kind is not Kind.FUNCTION:
        return None
    function = world.function_record(member)
    return Method(owner, function) if function is not None else None


def node_of(world: World, method: Method) -> FunctionNode | None:
    """The syntax of a method of either package."""
    tree = world.tree(method.owner.module)
    return function_node(tree, method.owner.module, method.function) if tree is not None else None


def called_method(
    world: World, cls: Resolution, method: Method, call: ast.Call, receiver: str
) -> Method | None:
    """What a call inside ``method`` reaches on the same object."""
    func = call.func
    if not isinstance(func, ast.Attribute):
        return None
    value = func.value
    if isinstance(value, ast.Name) and value.id == receiver:
        return find(world, cls, func.attr)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "super":
        after: Resolution | None = method.owner
        if value.args:
            name = dotted(value.args[0])
            after = (
                world.name(method.owner.module, method.function.qualname, name) if "?" not in name else None
            )
            if after is None or after.kind is not Kind.CLASS:
                return None
            if not world.is_subclass(cls, after.id):
                return None
        return find(world, cls, func.attr, after)
    if (
        call.args
        and isinstance(call.args[0], ast.Name)
        and call.args[0].id == receiver
        and "?" not in dotted(value)
    ):
        base = world.name(method.owner.module, method.function.qualname, dotted(value))
        if base.kind is Kind.CLASS:
            # Any class will do: a function does not ask what its first argument is.
            return find(world, base, func.attr)
    return None


def _misplaced(world: World, cls: Resolution, method: Method, call: ast.Call) -> bool:
    if not (isinstance(call.func, ast.Name) and call.func.id == "super" and call.args):
        return False
    name = dotted(call.args[0])
    named = world.name(method.owner.module, method.function.qualname, name) if "?" not in name else None
    return named is not None and named.kind is Kind.CLASS and not world.is_subclass(cls, named.id)


def follow(world: World, cls: Resolution, start: Method) -> Run:
    """Everything that calling ``start`` on an instance of ``cls`` may execute on that instance."""
    out = Run()
    pending = [start]
    while pending:
        method = pending.pop()
        if method.key in out.methods:
            continue
        out.methods[method.key] = method
        node = node_of(world, method)
        receiver = self_name(node) if node is not None else ""
        if node is None or not receiver:
            continue
        for child in effects(node):
            if isinstance(child, ast.Call):
                reached = called_method(world, cls, method, child, receiver)
                if reached is not None:
                    pending.append(reached)
                # super(X, self) outside the MRO raises: what would be missing after it does not matter.
                out.anything = out.anything or _misplaced(world, cls, method, child)
                _by_call(world, out, method, child, receiver)
            else:
                _by_assignment(out, method, child, receiver)
    return out


_CONSTRUCTIONS: WeakKeyDictionary[World, dict[str, Run]] = WeakKeyDictionary()


def construction(world: World, cls: Resolution, start: Method) -> Run:
    """:func:`follow` from the constructor of ``cls``, worked out once."""
    known = _CONSTRUCTIONS.setdefault(world, {})
    if cls.id not in known:
        known[cls.id] = follow(world, cls, start)
    return known[cls.id]


def _by_assignment(out: Run, method: Method, node: ast.AST, receiver: str) -> None:
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = node.value.value if isinstance(node.value, ast.Constant) else UNKNOWN
        for target in targets:
            for name, line in _stored(target, receiver):
                direct = isinstance(target, ast.Attribute)
                out.writes.setdefault(name, []).append((method, line, value if direct else UNKNOWN))
    elif isinstance(node, ast.For | ast.AsyncFor | ast.AugAssign):
        for name, line in _stored(node.target, receiver):
            out.writes.setdefault(name, []).append((method, line, UNKNOWN))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        for name, line in _stored(node.optional_vars, receiver):
            out.writes.setdefault(name, []).append((method, line, UNKNOWN))


def _stored(target: ast.expr, receiver: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(target):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == receiver
        ):
            yield node.attr, node.lineno


def _by_call(world: World, out: Run, method: Method, call: ast.Call, receiver: str) -> None:
    name = dotted(call.func)
    last = name.rpartition(".")[2]
    if name == f"{receiver}.__dict__.update":
        out.anything = True
    elif name in ("setattr", "object.__setattr__") and len(call.args) == 3:
        if isinstance(call.args[0], ast.Name) and call.args[0].id == receiver:
            _named(out, method, call.args[1], call.lineno)
    elif last in _REGISTRARS and name == f"{receiver}.{last}":
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "name"), None)
        if given is not None:
            _named(out, method, given, call.lineno)
    else:
        _by_helper(world, out, method, call, receiver)


def _named(out: Run, method: Method, name: ast.expr, line: int) -> None:
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        out.writes.setdefault(name.value, []).append((method, line, UNKNOWN))
    else:
        out.anything = True


def _by_helper(world: World, out: Run, method: Method, call: ast.Call, receiver: str) -> None:
    """``prepare(self)``: what a function stores on the object it is given."""
    places = [i for i, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == receiver]
    if not places or not isinstance(call.func, ast.Name):
        return
    found = world.name(method.owner.module, method.function.qualname, call.func.id)
    function = world.function_record(found) if found.kind is Kind.FUNCTION else None
    tree = world.tree(found.module)
    if function is None or tree is None or places[0] >= len(function.params):
        return
    node = function_node(tree, found.module, function)
    parameter = function.params[places[0]].name
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            if isinstance(child.value, ast.Name) and child.value.id == parameter:
                out.writes.setdefault(child.attr, []).append((method, call.lineno, UNKNOWN))
        elif (
            isinstance(child, ast.Call)
            and dotted(child.func) == "setattr"
            and len(child.args) == 3
            and dotted(child.args[0]) == parameter
        ):
            _named(out, method, child.args[1], call.lineno)


def constants(done: Run) -> dict[str, object]:
    """Attributes that the run stores one constant in, always the same."""
    out = {}
    for name, writes in done.writes.items():
        values = [value for _, _, value in writes]
        if all(value is not UNKNOWN and value == values[0] for value in values):
            out[name] = values[0]
    return out

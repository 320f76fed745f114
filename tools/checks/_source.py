"""What runs inside a function: its effects, and the conditions under which they happen."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

from tools.code.functions import function_node, walk
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted

__all__ = ["function_node", "walk"]

_EFFECTS: WeakKeyDictionary[FunctionNode, list[ast.AST]] = WeakKeyDictionary()
_KINDS = (ast.Call, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor, ast.withitem)


def effects(node: FunctionNode) -> list[ast.AST]:
    """Calls and bindings anywhere in a function, inner ones included."""
    found = _EFFECTS.get(node)
    if found is None:
        found = _EFFECTS[node] = [child for child in walk(node) if isinstance(child, _KINDS)]
    return found


def self_name(node: FunctionNode) -> str:
    """The receiver of a method; '' for static methods."""
    if any(dotted(d) == "staticmethod" for d in node.decorator_list):
        return ""
    arguments = [*node.args.posonlyargs, *node.args.args]
    return arguments[0].arg if arguments else ""


@dataclass(frozen=True, slots=True)
class Guard:
    """One condition that must hold (``wanted`` True) or fail for code to run."""

    test: ast.expr
    wanted: bool
    soft: bool = False
    """Left behind by an ``if`` that handles a special case and leaves: code after it is the usual path."""
    loop: bool = False


Guards = tuple[Guard, ...]


def loops_apart(guards: Guards) -> Guards:
    """Without loops: something is there to be gone through."""
    return tuple(g for g in guards if not g.loop)


def guarded_nodes(node: FunctionNode) -> Iterator[tuple[ast.AST, Guards]]:
    """Every node of a function with the conditions under which it runs.

    Conditions are those of enclosing ``if``, conditional expressions and short circuits, and of earlier
    ``if`` statements that leave the function. Loops over something count as a condition of their own.
    Bodies of inner functions and ``except`` handlers are left out.
    """
    yield from _block(node.body, ())


def _block(body: list[ast.stmt], guards: Guards) -> Iterator[tuple[ast.AST, Guards]]:
    for stmt in body:
        yield from _statement(stmt, guards)
        if isinstance(stmt, ast.If):
            if leaves(stmt.body) and not leaves(stmt.orelse):
                guards = (*guards, Guard(stmt.test, False, soft=_special(stmt)))
            elif leaves(stmt.orelse) and not leaves(stmt.body):
                guards = (*guards, Guard(stmt.test, True))


def _statement(stmt: ast.stmt, guards: Guards) -> Iterator[tuple[ast.AST, Guards]]:
    yield stmt, guards
    if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    if isinstance(stmt, ast.If):
        yield from _expression(stmt.test, guards)
        yield from _block(stmt.body, (*guards, Guard(stmt.test, True)))
        yield from _block(stmt.orelse, (*guards, Guard(stmt.test, False)))
    elif isinstance(stmt, ast.While):
        yield from _expression(stmt.test, guards)
        yield from _block(stmt.body, (*guards, Guard(stmt.test, True)))
    elif isinstance(stmt, ast.For | ast.AsyncFor):
        yield from _expression(stmt.iter, guards)
        yield from _expression(stmt.target, guards)
        yield from _block(stmt.body, (*guards, Guard(stmt.iter, True, loop=True)))
    elif isinstance(stmt, ast.With | ast.AsyncWith):
        for item in stmt.items:
            yield from _expression(item.context_expr, guards)
            if item.optional_vars is not None:
                yield from _expression(item.optional_vars, guards)
        yield from _block(stmt.body, guards)
    elif isinstance(stmt, ast.Try):
        tried = Guard(ast.Constant("nothing raises"), True)
        yield from _block(stmt.body, (*guards, tried) if stmt.handlers else guards)
        yield from _block(stmt.orelse, guards)
        yield from _block(stmt.finalbody, guards)
    elif isinstance(stmt, ast.Match):
        yield from _expression(stmt.subject, guards)
        for case in stmt.cases:
            yield from _block(case.body, (*guards, Guard(stmt.subject, True)))
    else:
        for child in ast.iter_child_nodes(stmt):
            yield from _expression(child, guards)


def _expression(node: ast.AST, guards: Guards) -> Iterator[tuple[ast.AST, Guards]]:
    yield node, guards
    if isinstance(node, ast.Lambda):
        return
    if isinstance(node, ast.IfExp):
        yield from _expression(node.test, guards)
        yield from _expression(node.body, (*guards, Guard(node.test, True)))
        yield from _expression(node.orelse, (*guards, Guard(node.test, False)))
    elif isinstance(node, ast.BoolOp):
        wanted = isinstance(node.op, ast.And)
        for value in node.values:
            yield from _expression(value, guards)
            guards = (*guards, Guard(value, wanted))
    else:
        for child in ast.iter_child_nodes(node):
            yield from _expression(child, guards)


def constant_returned(node: FunctionNode) -> ast.Constant | None:
    """The constant a function gives back, where its body is nothing else."""
    body = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) == 1 and isinstance(body[0], ast.Return) and isinstance(body[0].value, ast.Constant):
        return body[0].value
    return None


def leaves(body: list[ast.stmt]) -> bool:
    """True when a block always ends its function, or its turn of a loop."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.Return | ast.Raise | ast.Continue | ast.Break):
        return True
    if isinstance(last, ast.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ast.With) and leaves(last.body)


def _special(stmt: ast.If) -> bool:
    """``if special: return …`` as opposed to ``if not wanted: return``; a raise is no path at all."""
    if isinstance(stmt.body[-1], ast.Raise):
        return True
    test = stmt.test
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return False
    is_none = isinstance(test, ast.Compare) and any(isinstance(op, ast.Is) for op in test.ops)
    return not is_none


IN_TREE = frozenset({"is_cuda", "is_rocm", "is_xpu", "is_cpu", "is_tpu", "is_hpu", "is_neuron", "is_zen_cpu"})
"""Platform predicates that an out-of-tree platform answers with False unless it overrides them."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the platform and of one object."""

    closed: frozenset[str] = frozenset()
    """Predicates of ``current_platform`` that are False."""
    device_type: str = ""
    known: Mapping[str, object] = field(default_factory=dict)
    """Attributes of the receiver that hold one constant."""
    receiver: str = ""

    def about(self, receiver: str) -> Facts:
        """The same, where the object is called ``receiver``."""
        return replace(self, receiver=receiver)


def truth(node: ast.expr, facts: Facts) -> bool | None:
    """What a condition comes to; None if unknown."""
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        value = truth(node.operand, facts)
        return None if value is None else not value
    if isinstance(node, ast.BoolOp):
        values = [truth(v, facts) for v in node.values]
        decisive = isinstance(node.op, ast.Or)
        if decisive in values:
            return decisive
        return None if None in values else not decisive
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in facts.closed:
        return False if dotted(node.func.value).rpartition(".")[2] == "current_platform" else None
    name = _own_attribute(node, facts)
    if name is not None:
        return bool(facts.known[name])
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node.left, node.ops[0], node.comparators[0], facts)
    return None


def _own_attribute(node: ast.expr, facts: Facts) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in facts.known:
        return node.attr if node.value.id == facts.receiver else None
    return None


def _compared(left: ast.expr, op: ast.cmpop, right: ast.expr, facts: Facts) -> bool | None:
    if not isinstance(right, ast.Constant):
        return None
    if isinstance(op, ast.Is | ast.IsNot) and right.value is None:
        name = _own_attribute(left, facts)
        return None if name is None else (facts.known[name] is None) is isinstance(op, ast.Is)
    asks_type = dotted(left).endswith((".device_type", "device.type"))
    if isinstance(op, ast.Eq | ast.NotEq) and facts.device_type and asks_type:
        return (facts.device_type == right.value) is isinstance(op, ast.Eq)
    return None


def dead(guards: Guards, facts: Facts) -> bool:
    """True when one of the conditions certainly does not hold."""
    return any(truth(g.test, facts) is (not g.wanted) for g in guards)


def conditions(guards: Guards, facts: Facts) -> int:
    """How many conditions are left open, special cases that left before apart."""
    return sum(not g.soft and truth(g.test, facts) is not g.wanted for g in guards)

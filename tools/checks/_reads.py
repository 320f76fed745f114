"""Which attributes the methods of an object read on it, and under which conditions."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tools.checks._source import Facts, Guards, dead, guarded_nodes, self_name, walk
from tools.checks._state import Method, called_method, find, node_of
from tools.code.shapes import FunctionNode
from tools.code.signature import is_property
from tools.code.syntax import dotted
from tools.code.world import Resolution, World


@dataclass(frozen=True, slots=True)
class Read:
    """A read of an attribute on self."""

    @property
    def conditions(self) -> int:
        """How many conditions decide whether it happens, special cases that left before apart."""
        return sum(not g.soft for g in self.guards)

    attr: str
    method: Method
    line: int
    guards: Guards
    entry: str
    """The method that somebody calls from outside, through which this one is reached."""


def reads(
    world: World,
    cls: Resolution,
    entries: list[str],
    facts: Facts,
) -> tuple[list[Read], set[tuple[str, str]]]:
    """Reads of attributes on self in what ``entries`` reach on an instance of ``cls``; and those methods."""
    out: list[Read] = []
    seen: set[tuple[str, str]] = set()
    pending: list[tuple[Method, Guards, str]] = []
    for entry in entries:
        start = find(world, cls, entry)
        if start is not None:
            pending.append((start, (), entry))
    while pending:
        # Unconditional ones first, so that a method is judged by the plainest way to it.
        index = next((i for i, item in enumerate(pending) if not item[1]), 0)
        method, outer, entry = pending.pop(index)
        if method.key in seen:
            continue
        seen.add(method.key)
        node = node_of(world, method)
        receiver = self_name(node) if node is not None else ""
        if node is None or not receiver:
            continue
        tested = _tested(node, receiver)
        about = facts.about(receiver)
        for child, inner in guarded_nodes(node):
            if dead(inner, about):
                continue
            guards = (*outer, *inner)
            if isinstance(child, ast.Call):
                reached = called_method(world, cls, method, child, receiver)
                if reached is not None and reached.function.qualname.rpartition(".")[2] != "__init__":
                    pending.append((reached, guards, entry))
            elif (
                isinstance(child, ast.Attribute)
                and isinstance(child.ctx, ast.Load)
                and isinstance(child.value, ast.Name)
                and child.value.id == receiver
                and child.attr not in tested
            ):
                out.append(Read(child.attr, method, child.lineno, guards, entry))
                prop = find(world, cls, child.attr)
                if prop is not None and is_property(prop.function):
                    pending.append((prop, guards, entry))
    return out, seen


def _tested(node: FunctionNode, receiver: str) -> set[str]:
    """Attributes that a method sets itself, asks for with hasattr, or whose absence it catches."""
    out = set()
    for child in walk(node):
        if (
            isinstance(child, ast.Call)
            and dotted(child.func) in ("hasattr", "getattr")
            and len(child.args) > 1
        ):
            name = child.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                out.add(name.value)
        elif isinstance(child, ast.Attribute) and isinstance(child.ctx, ast.Store):
            if isinstance(child.value, ast.Name) and child.value.id == receiver:
                out.add(child.attr)
        elif isinstance(child, ast.Try):
            caught = {dotted(h.type).rpartition(".")[2] for h in child.handlers if h.type is not None}
            if caught & {"AttributeError", "Exception"}:
                for inner in child.body:
                    out |= {n.attr for n in ast.walk(inner) if isinstance(n, ast.Attribute)}
    return out

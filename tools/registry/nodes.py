"""Steps of a dispatch chain as a tree of nodes, and what is made of such trees."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tools.code.syntax import dotted
from tools.code.world import Resolution
from tools.registry.values import Frame


@dataclass(slots=True)
class Node:
    """One step with what follows from it."""

    role: str
    name: str
    where: str
    path: str = ""
    line: int = 0
    when: str = ""
    note: str = ""
    fallback: bool = False
    children: list[Node] = field(default_factory=list)
    ref: Resolution | None = None
    """Definition behind the step."""
    frame: Frame | None = None

    @property
    def ends(self) -> bool:
        """True when the step is a component outside, or leads to one."""
        return self.where == "outside" or any(c.ends for c in self.children)


def chooses(node: Node) -> bool:
    """Whether something is selected here or below: an oracle, experts, a kernel."""
    return any(n.role not in ("wrapper", "kernel boundary", "class", "torch op") for n in nodes([node]))


def collapsed(node: Node) -> Node:
    """``node``, where what runs in upstream alone is reduced to where it ends."""
    inner = list(nodes(node.children))
    plain = node.where == "upstream" and node.role in ("wrapper", "method", "class", "torch op")
    if plain and not any(n.where == "plugin" or chooses(n) for n in inner):
        ends = {n.name: n for n in reversed(inner) if n.where == "outside"}
        leaves = [ends[name] for name in dict.fromkeys(n.name for n in inner if n.where == "outside")]
        hops = sum(n.where == "upstream" for n in inner)
        children = [replace(leaf, children=[]) for leaf in leaves]
        note = node.note
        if hops:
            note = f"{note}; " if note else ""
            note += f"through {hops} more function{'s' * (hops > 1)} of upstream"
        return replace(node, children=children, note=note)
    return replace(node, children=[collapsed(c) for c in node.children])


def nodes(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node, parents first."""
    for root in roots:
        yield root
        yield from nodes(root.children)


def branches(
    body: list[ast.stmt], guards: tuple[str, ...] = ()
) -> Iterator[tuple[ast.Return, tuple[str, ...]]]:
    """Each ``return`` of a function with the conditions written around it and before it."""
    for stmt in body:
        if isinstance(stmt, ast.Return):
            yield stmt, guards
        elif isinstance(stmt, ast.If):
            test = ast.unparse(stmt.test)
            yield from branches(stmt.body, (*guards, test))
            yield from branches(stmt.orelse, (*guards, f"not ({test})"))
        elif isinstance(stmt, ast.For | ast.While | ast.With | ast.Try):
            yield from branches(stmt.body, guards)
            yield from branches(getattr(stmt, "orelse", []), guards)
            for handler in getattr(stmt, "handlers", ()):
                yield from branches(
                    handler.body, (*guards, f"except {dotted(handler.type) if handler.type else ''}")
                )

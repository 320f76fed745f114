"""Dispatch chains and the support table, arranged as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.report.text import clip, joined
from tools.findings import Chain, ChainStep, Decision, InventoryRow, SupportCell, SupportFact

_TREE_LINES = 24
"""Lines of one chain in Markdown; report.html has all of them."""


@dataclass
class Step:
    """One step with those that follow from it."""

    step: ChainStep
    children: list[Step] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether the branch is unfolded at first."""
        return self.step.depth < 2


def tree(chain: Chain) -> list[Step]:
    """The steps of a chain as they hang together; a step that skips levels hangs on the last one above it."""
    roots: list[Step] = []
    path: list[Step] = []
    for step in chain.steps:
        while path and path[-1].step.depth >= step.depth:
            path.pop()
        node = Step(step)
        (path[-1].children if path else roots).append(node)
        path.append(node)
    return roots


def fallbacks(chain: Chain) -> list[ChainStep]:
    """Where code of the plugin hands over to upstream's own."""
    return [step for step in chain.steps if step.fallback]


def short_name(name: str) -> str:
    """``module:Qual.name`` without the module's package."""
    module, colon, qualname = name.rpartition(":")
    return f"{module.rpartition('.')[2]}:{qualname}" if colon else name


def tree_text(chain: Chain) -> str:
    """A chain as indented lines: how it branches, and what the plugin itself calls outside."""
    lines: list[str] = []
    above: dict[int, ChainStep] = {}
    left = 0
    for step in chain.steps:
        above[step.depth] = step
        parent = above.get(step.depth - 1) if step.depth else None
        inside = (
            parent is not None and parent.where == "upstream" and step.where != "plugin" and not step.fallback
        )
        if step.role == "import" or (inside and step.role in ("kernel boundary", "wrapper")):
            continue
        if len(lines) >= _TREE_LINES:
            left += 1
            continue
        where = f" {step.path}:{step.line}" if step.path else ""
        when = f" when {clip(step.when, 70)}" if step.when else ""
        mark = " <- falls back to upstream" if step.fallback else ""
        lines.append(f"{'  ' * step.depth}{step.role}: {clip(short_name(step.name), 80)}{where}{when}{mark}")
    if left:
        lines.append(f"... {left} more in report.html")
    return "\n".join(lines)


def ends(chain: Chain, shown: int = 4) -> str:
    """The components outside that a chain ends in, as a phrase."""
    names = [short_name(name) for name in chain.boundaries[:shown]]
    more = len(chain.boundaries) - shown
    return joined([*names, f"{more} more"] if more > 0 else names) or "nothing outside that could be followed"


def facts_by_verdict(cell: SupportCell) -> list[tuple[str, list[SupportFact]]]:
    """``accepts`` and ``refuses`` with what is said for each; ``unknown`` for a cell that says nothing."""
    parts = [
        ("accepts", [f for f in cell.facts if f.accepts]),
        ("refuses", [f for f in cell.facts if not f.accepts]),
    ]
    return [(word, facts) for word, facts in parts if facts] or [("unknown", [])]


def cell_text(cell: SupportCell, longest: int = 70) -> str:
    """A cell in a line."""
    parts = []
    for word, facts in facts_by_verdict(cell):
        said = [f"{clip(f.text, longest)} [{f.path.rpartition('/')[2]}:{f.line}]" for f in facts[:2]]
        more = f" and {len(facts) - 2} more" if len(facts) > 2 else ""
        parts.append(f"{word} {'; '.join(said)}{more}" if facts else word)
    return ". ".join(parts)


def dimensions(rows: Iterable[object]) -> list[str]:
    """Names of the columns, from the first row that has any."""
    for row in rows:
        cells = getattr(row, "cells", ())
        if cells:
            return [cell.dimension for cell in cells]
    return []


_KINDS = ("quantization config", "custom op", "linear kernel", "attention backend", "model", "platform")


def in_order(rows: Iterable[InventoryRow]) -> list[InventoryRow]:
    """Inventory rows as they are cut to size: what is to be done first, then by kind."""
    order = {kind: place for place, kind in enumerate(_KINDS)}
    return sorted(rows, key=lambda r: (r.decision is Decision.RETAIN, order.get(r.kind, len(order))))

"""What each quantization method accepts and refuses, dimension by dimension, from the code that decides it.

One row stands for the config itself, one for each method it selects. That two rows accept something each says
nothing about the combination: a joint configuration is supported only where one row says so in every cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.code.world import Kind, Resolution
from tools.findings import SupportCell, SupportFact, SupportRow
from tools.registry.chain import branches_of
from tools.registry.predicates import DIMENSIONS, Predicates
from tools.registry.sites import QUANTIZATION
from tools.registry.subject import Subject
from tools.registry.walk import Node, nodes

_CONFIG = (
    "__init__",
    "from_config",
    "get_supported_act_dtypes",
    "get_min_capability",
    "override_quantization_method",
)
_STAGES = {
    "__init__": "selection",
    "create_weights": "allocation",
    "process_weights_after_loading": "loading",
    "get_fused_moe_quant_config": "loading",
    "apply": "execution",
}
_PREDICATES = (
    "is_supported",
    "can_implement",
    "get_min_capability",
    "is_supported_config",
    "_supports_current_device",
    "_supports_no_act_and_mul",
    "_supports_quant_scheme",
    "_supports_activation",
    "_supports_parallel_config",
    "_supports_routing_method",
    "supports_expert_map",
)


def support_of(subject: Subject) -> tuple[SupportRow, ...]:
    """The table, by key; computed once for a subject."""
    found = subject.shared.get("support")
    if not isinstance(found, tuple):
        found = subject.shared["support"] = tuple(_Table(subject).rows())
    return found


def late_refusals(subject: Subject) -> dict[str, str]:
    """Key -> a combination that the plugin refuses in execution, and that no earlier step asks about."""
    out: dict[str, str] = {}
    own = set(subject.plugin.modules_at)
    symbols = {row.symbol: row.key for row in reversed(support_of(subject)) if row.part == "config"}
    for row in support_of(subject):
        if not row.cells and symbols.get(row.symbol, "") in out:
            out[row.key] = out[symbols[row.symbol]]
        for cell in row.cells:
            early = any(not f.accepts and f.stage == "selection" for f in cell.facts)
            for fact in cell.facts:
                in_apply = fact.stage == "execution" and fact.symbol.endswith(".apply")
                if fact.accepts or early or not in_apply or fact.path not in own:
                    continue
                out.setdefault(
                    row.key,
                    f"`{fact.symbol}` refuses {cell.dimension} {fact.text} only in execution "
                    f"({fact.path}:{fact.line}), after the weights are loaded",
                )
    return out


class _Table:
    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        builder = branches_of(subject)
        self.walker, self.trees = builder.walker, builder.trees
        self.predicates = Predicates(subject, self.walker.values)

    def rows(self) -> Iterator[SupportRow]:
        for (kind, key), roots in sorted(self.trees.items()):
            if kind != QUANTIZATION:
                continue
            for root in roots:
                if root.role == "config" and root.ref is not None:
                    yield self._config(key, root)
                    yield from self._methods(key, root)
                elif root.role == "effective class" and root.ref is not None:
                    yield SupportRow(
                        key=key, part=root.note, symbol=root.ref.id, when="", cells=(), evidence=()
                    )

    def _config(self, key: str, root: Node) -> SupportRow:
        cls = root.ref
        assert cls is not None
        facts: list[tuple[str, SupportFact]] = list(self.predicates.listed(cls))
        for name in _CONFIG:
            facts += self._method_facts(cls, name, "selection")
        for node in nodes(root.children):
            if node.role == "selection" and node.ref is not None:
                facts += self.predicates.of(node.ref, "selection")
        facts += self._platform(key)
        return self._row(key, "config", cls, "", facts)

    def _platform(self, key: str) -> Iterator[tuple[str, SupportFact]]:
        """The platform's own list of quantization names."""
        for module, record in self.subject.plugin.classes():
            for assign in record.assigns:
                if assign.name != "supported_quantization" or assign.kind != "list":
                    continue
                listed = key in assign.items
                where = "lists" if listed else "does not list"
                yield (
                    "device",
                    SupportFact(
                        accepts=listed,
                        text=f"`{record.qualname}.supported_quantization` {where} `{key}` without a condition",
                        path=self.subject.plugin.paths[module],
                        line=assign.line,
                        symbol=record.qualname,
                        stage="selection",
                    ),
                )

    def _methods(self, key: str, root: Node) -> Iterator[SupportRow]:
        seen: set[str] = set()
        for node, when in _selected(root.children, ()):
            if node.ref is None or node.ref.id in seen:
                continue
            seen.add(node.ref.id)
            cls = node.ref
            facts = list(self.predicates.listed(cls))
            for name, stage in _STAGES.items():
                facts += self._method_facts(cls, name, stage)
                method = self.walker.values.method(cls, name)
                below = self.walker.below(method.frame) if method is not None else []
                facts += self._below(below, stage)
            yield self._row(key, part_of(when, cls), cls, " and ".join(when), facts)

    def _below(self, below: list[Node], stage: str) -> Iterator[tuple[str, SupportFact]]:
        seen: set[str] = set()
        for node in nodes(below):
            if node.ref is None or node.ref.id in seen:
                continue
            seen.add(node.ref.id)
            if node.role == "oracle":
                yield from self.predicates.of(node.ref, "selection")
                yield from self.predicates.backends(node.ref)
            elif node.role in ("experts", "linear kernel") and node.where == "plugin":
                yield from self.predicates.listed(node.ref)
                for name in _PREDICATES:
                    yield from self._method_facts(node.ref, name, "selection")
            elif node.where == "plugin" and node.ref.kind is Kind.FUNCTION:
                yield from self.predicates.of(node.ref, stage)

    def _method_facts(self, cls: Resolution, name: str, stage: str) -> list[tuple[str, SupportFact]]:
        method = self.walker.values.method(cls, name)
        return self.predicates.of(method.ref, stage) if method is not None else []

    def _row(
        self, key: str, part: str, cls: Resolution, when: str, facts: Iterable[tuple[str, SupportFact]]
    ) -> SupportRow:
        cells: dict[str, list[SupportFact]] = {name: [] for name in DIMENSIONS}
        for dimension, fact in facts:
            if fact not in cells[dimension]:
                cells[dimension].append(fact)
        cited = self.subject.cite_definition(cls)
        return SupportRow(
            key=key,
            part=part,
            symbol=cls.id,
            when=when,
            cells=tuple(SupportCell(dimension=d, facts=tuple(f)) for d, f in cells.items()),
            evidence=(cited,) if cited else (),
        )


def _selected(children: list[Node], when: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Methods below a selection, each with the conditions on its way."""
    for child in children:
        path = (*when, child.when) if child.when else when
        if child.role == "selected method":
            yield child, path
        elif child.role == "selection":
            yield from _selected(child.children, path)


def part_of(when: tuple[str, ...], cls: Resolution) -> str:
    """Which layers a method serves, by its name and the conditions it is selected under."""
    name = cls.qualname.rpartition(".")[2]
    prefix = "ignored " if name.startswith("Unquantized") else ""
    if "KVCache" in name:
        return "KV cache"
    if "MoE" in name:
        return f"{prefix}MoE"
    if "Embedding" in name:
        return f"{prefix}embedding"
    if "Linear" in name:
        return f"{prefix}linear"
    last = when[-1] if when else ""
    return "MoE" if "Experts" in last else "KV cache" if "Attention" in last else "linear"

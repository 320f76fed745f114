"""Every registration and patch of the plugin as a row: its activation, what is in force, what it replaces."""

from __future__ import annotations

from tools.code.world import Kind, Resolution
from tools.findings import Chain, Evidence, Frozen, InventoryRow, SupportRow
from tools.registry.aggregates import aggregate_rows
from tools.registry.chain import chains_of
from tools.registry.decisions import Facts, decide
from tools.registry.difference import Differences
from tools.registry.effective import Rivals, rivals
from tools.registry.lookups import Lookups, lookups_of
from tools.registry.other_rows import OtherRows
from tools.registry.reaching import reaching
from tools.registry.sites import (
    ATTENTION,
    CUSTOM_OP,
    LINEAR_KERNEL,
    MODEL,
    QUANTIZATION,
    TORCH_OP,
    Registration,
    registrations,
)
from tools.registry.startup import Startup, startup_of
from tools.registry.subject import Subject
from tools.registry.support import late_refusals, support_of
from tools.registry.tables import whole_table


class InventoryResult(Frozen):
    """Rows by kind, key and place, chains and the support table, and the evidence that all of them cite."""

    rows: tuple[InventoryRow, ...]
    evidence: tuple[Evidence, ...]
    chains: tuple[Chain, ...] = ()
    support: tuple[SupportRow, ...] = ()


def take_inventory(subject: Subject) -> InventoryResult:
    """The inventory of the plugin against this upstream."""
    rows = [*_Inventory(subject).rows(), *OtherRows(subject).rows(), *aggregate_rows(subject)]
    chains, support = chains_of(subject), support_of(subject)
    cited = {e for row in rows for e in row.evidence}
    cited |= {e for chain in chains for e in chain.evidence} | {e for row in support for e in row.evidence}
    evidence = tuple(subject.evidence[e] for e in sorted(cited))
    return InventoryResult(
        rows=tuple(sorted(rows, key=lambda r: (r.kind, r.key, r.path, r.line))),
        evidence=evidence,
        chains=chains,
        support=support,
    )


class _Inventory:
    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        self.startup: Startup = startup_of(subject)
        self.lookups: Lookups = lookups_of(subject)
        self.rivals: dict[tuple[str, str], Rivals] = rivals(subject)
        self.differences = Differences(subject)
        self.late = late_refusals(subject)

    def rows(self) -> list[InventoryRow]:
        return [self._registration(item) for item in registrations(self.subject)]

    # ---- registrations ----

    def _registration(self, item: Registration) -> InventoryRow:
        counterpart, found = self._counterpart(item)
        value = self._value(item)
        evidence = [self.subject.cite(self.subject.plugin, item.module, item.line)]
        if found is not None:
            evidence += [e for e in (self.subject.cite_definition(found),) if e]
        reached = reaching(self.subject, item.module, item.line)
        facts = Facts(
            reached.status,
            reached.condition,
            gone=not counterpart and item.kind in (CUSTOM_OP, ATTENTION),
            counterpart=bool(counterpart),
            late_made=reached.lazily and item.kind in (CUSTOM_OP, QUANTIZATION, LINEAR_KERNEL, MODEL),
            late=self.late.get(item.key, "") if item.kind == QUANTIZATION else "",
        )
        self._against_rival(item, facts)
        difference = ""
        own = next(iter(self._classes(item)), item.value)
        if item.whole:
            difference, facts.drops = whole_table(self.subject, item)
        elif own is not None and found is not None:
            difference = self.differences.compared(own, found, facts)
        decision, reason = decide(facts)
        return InventoryRow(
            kind=item.kind,
            key=item.key,
            path=self.subject.plugin.paths[item.module],
            line=item.line,
            symbol=item.symbol,
            activation=reached.text,
            effective=self._effective(item, value),
            counterpart=counterpart or "none",
            difference=difference,
            decision=decision,
            evidence=tuple(evidence),
            status=reached.status,
            condition=reached.condition,
            chain=reached.chain,
            reason=reason,
        )

    def _classes(self, item: Registration) -> tuple[Resolution, ...]:
        if item.classes or not item.path:
            return item.classes
        found = self.world.path(item.path.replace(":", "."))
        return (found,) if found.kind is Kind.CLASS else ()

    def _against_rival(self, item: Registration, facts: Facts) -> None:
        found = self.rivals.get((item.kind, item.key))
        winner = found.winner if found is not None else None
        if winner is None or winner == item:
            return
        facts.rival = f"{self.subject.plugin.paths[winner.module]}:{winner.line}"
        facts.same_class = bool(self._classes(item)) and self._classes(item) == self._classes(winner)
        facts.rival_runs = self.startup.statement(self.startup.actual, item.module, item.line) is None

    def _effective(self, item: Registration, value: str) -> str:
        executed = self.startup.statement(self.startup.actual, item.module, item.line) is not None
        found = self.rivals.get((item.kind, item.key))
        winner = found.winner if found is not None else None
        if not executed:
            meant = self.startup.statement(self.startup.clean, item.module, item.line) is not None
            fault = self.startup.actual.died.fault if self.startup.actual.died is not None else None
            why = f"not registered: {fault.reason}" if meant and fault is not None else f"{value}, later"
            return why if winner is None else f"{why}; in force: {self._value(winner)}"
        if winner is None or winner == item:
            return value
        return f"{self._value(winner)} ({self.subject.plugin.paths[winner.module]}:{winner.line} wins)"

    @staticmethod
    def _value(item: Registration) -> str:
        listed = ", ".join(c.id for c in item.listed)
        return item.path or (item.value.id if item.value is not None else listed or "(not read)")

    def _counterpart(self, item: Registration) -> tuple[str, Resolution | None]:
        """What the registration stands for upstream, as text and as a definition."""
        path = ""
        if item.kind == QUANTIZATION:
            path = self.lookups.methods.get(item.key, "")
        elif item.kind == MODEL:
            path = self.lookups.models.get(item.key, "")
        elif item.kind == TORCH_OP:
            return self._op_counterpart(item.key), None
        elif item.kind == CUSTOM_OP:
            classes = self.lookups.op_classes(item.key)
            owned = [c for c in classes if item.owner is not None and c.id == item.owner.id]
            best = next(iter(owned or classes), None)
            return (best.id if best is not None else ""), best
        elif item.kind == ATTENTION and item.owner is not None:
            value = (self.lookups.members(item.owner) or {}).get(item.key.rpartition(".")[2])
            if value is None:
                return "", None
            path = "".join(part.strip().strip("\"'") for part in value.strip("()").split())
            path = path.replace('""', "").replace('"', "")
            if not path.startswith(self.subject.upstream.package + "."):
                return f"{item.key} (open)", None
        elif item.kind == LINEAR_KERNEL:
            bases = [c for cls in item.classes for c in self.world.mro(cls).classes[1:]]
            best = next((c for c in bases if self.world.tree(c.module) is self.world.upstream), None)
            named = best.id if best is not None else item.owner.id if item.owner is not None else ""
            return named, best
        elif item.owner is not None:
            return item.owner.id, item.owner
        found = self.world.path(path.replace(":", ".")) if path else None
        return path, found if found is not None and found.kind is Kind.CLASS else None

    def _op_counterpart(self, key: str) -> str:
        """Upstream's op of the same name, or of the name without the vendor's first word."""
        library, _, name = key.partition("::")
        for candidate in (key, f"{library}::{name.partition('_')[2]}"):
            site = self.lookups.torch_ops.get(candidate)
            if site is not None:
                return f"{self.subject.upstream.paths[site[0]]}:{site[1]}"
        return ""

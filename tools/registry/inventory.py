"""Every registration and patch of the plugin as a row: its activation, what is in force, what it replaces."""

from __future__ import annotations

import hashlib

from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch, PatchKind
from tools.findings import Decision, Evidence, Frozen, InventoryRow, short_hash
from tools.registry.effective import Rivals, rivals
from tools.registry.entry_points import EntryPoint
from tools.registry.lookups import Lookups, lookups_of
from tools.registry.outcomes import How
from tools.registry.platforms import hooks, platform_classes, platform_interface
from tools.registry.sites import (
    ATTENTION,
    CUSTOM_OP,
    MODEL,
    QUANTIZATION,
    TORCH_OP,
    Registration,
    registrations,
)
from tools.registry.startup import Startup, startup_of
from tools.registry.subject import Subject
from tools.registry.trace import Step


class InventoryResult(Frozen):
    """Rows by kind, key and place, and the evidence they cite."""

    rows: tuple[InventoryRow, ...]
    evidence: tuple[Evidence, ...]


def take_inventory(subject: Subject) -> InventoryResult:
    """The inventory of the plugin against this upstream."""
    rows = _Inventory(subject).rows()
    cited = {e for row in rows for e in row.evidence}
    evidence = tuple(subject.evidence[e] for e in sorted(cited))
    return InventoryResult(
        rows=tuple(sorted(rows, key=lambda r: (r.kind, r.key, r.path, r.line))), evidence=evidence
    )


def chain_text(subject: Subject, chain: tuple[Step, ...]) -> str:
    """An activation chain on one line."""
    parts = []
    for step in chain:
        place = f"{subject.plugin.paths[step.module]}:{step.line} " if step.module else ""
        parts.append(f"{place}{step.what}")
    return " > ".join(parts)


def cite_file(subject: Subject, path: str, line: int) -> str:
    """Id of evidence that quotes one line of a plugin file outside the package."""
    content = subject.plugin.snapshot.read(path)
    digest = hashlib.sha256(content).hexdigest()
    lines = content.decode("utf-8", "replace").splitlines()
    key = "E" + short_hash("source", subject.plugin.role, path, str(line), str(line), digest)
    subject.evidence[key] = Evidence(
        id=key,
        kind="source",
        source=subject.plugin.role,
        path=path,
        lines=(line, line),
        sha256=digest,
        excerpt=lines[line - 1] if 0 < line <= len(lines) else "",
    )
    return key


class _Inventory:
    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        self.startup: Startup = startup_of(subject)
        self.lookups: Lookups = lookups_of(subject)
        self.rivals: dict[tuple[str, str], Rivals] = rivals(subject)

    def rows(self) -> list[InventoryRow]:
        out = [self._registration(item) for item in registrations(self.subject)]
        out += [self._patch(patch) for patch in self.subject.patches]
        out += [self._entry(entry) for entry in self.startup.entries]
        for path in self.startup.class_paths:
            for cls in platform_classes(self.world, path):
                out += self._platform(path, cls)
        return out

    # ---- registrations ----

    def _registration(self, item: Registration) -> InventoryRow:
        counterpart, found = self._counterpart(item)
        value = item.path or (item.value.id if item.value is not None else "(not read)")
        evidence = [self.subject.cite(self.subject.plugin, item.module, item.line)]
        if found is not None:
            evidence += [e for e in (self.subject.cite_definition(found),) if e]
        gone = not counterpart and item.kind in (CUSTOM_OP, ATTENTION)
        return InventoryRow(
            kind=item.kind,
            key=item.key,
            path=self.subject.plugin.paths[item.module],
            line=item.line,
            symbol=item.symbol,
            activation=self._activation(item.module, item.line),
            effective=self._effective(item, value),
            counterpart=counterpart or "none",
            difference=self._difference(value, found),
            decision=Decision.UPDATE if gone else Decision.RETAIN,
            evidence=tuple(evidence),
        )

    def _activation(self, module: str, line: int) -> str:
        reached = self.startup.reached(module, line)
        if reached.how is How.NEVER:
            return "never: nothing imports the module"
        guard = f" ({reached.guard})" if reached.guard else ""
        return f"{reached.how.value}{guard}: {chain_text(self.subject, reached.chain)}"

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
        return item.path or (item.value.id if item.value is not None else "(not read)")

    def _counterpart(self, item: Registration) -> tuple[str, Resolution | None]:
        """What the registration stands for upstream, as text and as a definition."""
        path = ""
        if item.kind == QUANTIZATION:
            path = self.lookups.methods.get(item.key, "")
        elif item.kind == MODEL:
            path = self.lookups.models.get(item.key, "")
        elif item.kind == TORCH_OP:
            site = self.lookups.torch_ops.get(item.key)
            return (f"{site[0]}:{site[1]}" if site else ""), None
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
        elif item.owner is not None:
            return item.owner.id, item.owner
        found = self.world.path(path.replace(":", ".")) if path else None
        return path, found if found is not None and found.kind is Kind.CLASS else None

    def _difference(self, value: str, counterpart: Resolution | None) -> str:
        """Whether the upstream class that is replaced changed."""
        before = self.subject.before
        if counterpart is None or before is None:
            return f"{value} is used instead" if counterpart is not None else ""
        old = before.world.class_record(before.world.path(counterpart.id.replace(":", ".")))
        new = self.world.class_record(counterpart)
        if old is None or new is None:
            return f"{counterpart.qualname} is new at this place in target"
        changed = "changed" if old.text_hash != new.text_hash else "unchanged"
        return f"{counterpart.qualname} is {changed} between base and target"

    # ---- patches, entry points, platform ----

    def _patch(self, patch: Patch) -> InventoryRow:
        target = self.world.path(patch.target) if patch.kind is not PatchKind.SYS_MODULES else None
        found = target if target is not None else self.world.module(patch.target)
        cited = self.subject.cite_definition(found) if found.kind in (Kind.CLASS, Kind.FUNCTION) else None
        replacement = patch.replacement.id if patch.replacement is not None else "(an expression)"
        evidence = [self.subject.cite(self.subject.plugin, patch.module, patch.line)]
        return InventoryRow(
            kind=f"patch ({patch.kind.value})",
            key=patch.target,
            path=self.subject.plugin.paths[patch.module],
            line=patch.line,
            symbol=patch.scope,
            activation=self._activation(patch.module, patch.line),
            effective=replacement,
            counterpart=found.id if found.found else "missing in this upstream",
            difference="adds what upstream does not have" if patch.allow_missing and not found.found else "",
            decision=Decision.RETAIN if found.found or patch.allow_missing else Decision.UPDATE,
            evidence=tuple([*evidence, cited] if cited else evidence),
        )

    def _entry(self, entry: EntryPoint) -> InventoryRow:
        plugin = self.subject.plugin
        found = self.world.path(f"{entry.module}.{entry.attribute}")
        outcome = next((o for o in self.startup.actual.outcomes if o.entry == entry), None)
        if outcome is not None and outcome.fault is not None:
            effective = f"raises {outcome.fault.exception}: {outcome.fault.reason}"
        elif outcome is None and entry.kind in ("platform_plugins", "general_plugins"):
            effective = "not run: an entry point before it raises"
        else:
            effective = found.id if found.found else "no such function"
        module = entry.module if entry.module in plugin.paths else plugin.package
        cited = (
            cite_file(self.subject, entry.path, entry.line)
            if entry.path
            else self.subject.cite(plugin, module, 1)
        )
        definition = self.subject.cite_definition(found) if found.kind is Kind.FUNCTION else None
        return InventoryRow(
            kind="entry point",
            key=f"{entry.group}: {entry.name or entry.target}",
            path=entry.path or plugin.paths[module],
            line=entry.line,
            symbol=entry.attribute,
            activation="upstream loads the group" if entry.path else "assumed by the profile",
            effective=effective,
            counterpart="none",
            difference="",
            decision=Decision.RETAIN if found.found else Decision.UPDATE,
            evidence=tuple([cited, definition] if definition else [cited]),
        )

    def _platform(self, path: str, cls: Resolution) -> list[InventoryRow]:
        record = self.world.class_record(cls)
        interface = platform_interface(self.world, cls)
        line = record.line if record is not None else 1
        common = {
            "path": self.subject.plugin.paths[cls.module],
            "line": line,
            "symbol": cls.qualname,
            "activation": self._activation(cls.module, line),
            "counterpart": interface.id if interface is not None else "none",
        }
        evidence = (self.subject.cite(self.subject.plugin, cls.module, line),)
        overridden = [h.qualname.rpartition(".")[2] for h in hooks(self.world, cls)]
        rows = [
            InventoryRow(
                kind="platform",
                key=path,
                effective=cls.id,
                difference=f"overrides {len(overridden)} methods of the interface",
                decision=Decision.RETAIN,
                evidence=evidence,
                **common,
            )
        ]
        if "get_default_ir_op_priority" in overridden:
            rows.append(
                InventoryRow(
                    kind="ir op priority",
                    key=cls.qualname,
                    effective=f"{cls.id}.get_default_ir_op_priority",
                    difference="",
                    decision=Decision.RETAIN,
                    evidence=evidence,
                    **common,
                )
            )
        return rows

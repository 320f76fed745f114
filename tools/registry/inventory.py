"""Every registration and patch of the plugin as a row: its activation, what is in force, what it replaces."""

from __future__ import annotations

import hashlib
import re

from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch, PatchKind
from tools.findings import (
    Activation,
    Chain,
    Decision,
    Evidence,
    Frozen,
    InventoryRow,
    Place,
    SupportRow,
    short_hash,
)
from tools.registry.aggregates import Reaching, aggregate_rows
from tools.registry.chain import chains_of
from tools.registry.decisions import Facts, decide
from tools.registry.difference import Differences
from tools.registry.effective import Rivals, rivals
from tools.registry.entry_points import EntryPoint
from tools.registry.lookups import Lookups, lookups_of
from tools.registry.outcomes import How
from tools.registry.platforms import hooks, platform_classes, platform_interface
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
from tools.registry.trace import Step


class InventoryResult(Frozen):
    """Rows by kind, key and place, chains and the support table, and the evidence that all of them cite."""

    rows: tuple[InventoryRow, ...]
    evidence: tuple[Evidence, ...]
    chains: tuple[Chain, ...] = ()
    support: tuple[SupportRow, ...] = ()


def take_inventory(subject: Subject) -> InventoryResult:
    """The inventory of the plugin against this upstream."""
    rows = _Inventory(subject).rows()
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
        self.differences = Differences(subject)
        self.late = late_refusals(subject)

    def rows(self) -> list[InventoryRow]:
        out = [self._registration(item) for item in registrations(self.subject)]
        out += [self._patch(patch) for patch in self.subject.patches]
        out += [self._entry(entry) for entry in self.startup.entries]
        out += aggregate_rows(self.subject, self._reached)
        for path in self.startup.class_paths:
            for cls in platform_classes(self.world, path):
                out += self._platform(path, cls)
        return out

    # ---- registrations ----

    def _registration(self, item: Registration) -> InventoryRow:
        counterpart, found = self._counterpart(item)
        value = self._value(item)
        evidence = [self.subject.cite(self.subject.plugin, item.module, item.line)]
        if found is not None:
            evidence += [e for e in (self.subject.cite_definition(found),) if e]
        reached = self._reached(item.module, item.line)
        facts = Facts(
            reached.status,
            reached.condition,
            gone=not counterpart and item.kind in (CUSTOM_OP, ATTENTION),
            counterpart=bool(counterpart),
            late=self.late.get(item.key, "") if item.kind == QUANTIZATION else "",
        )
        self._against_rival(item, facts)
        difference = ""
        own = next(iter(self._classes(item)), item.value)
        if item.whole:
            difference, facts.drops = self._whole_table(item)
        elif own is not None and found is not None:
            difference = self._compared(own, found, facts)
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

    def _compared(self, own: Resolution, found: Resolution, facts: Facts) -> str:
        """The difference of two definitions; adds what follows from it to ``facts``."""
        facts.compared = self.subject.before is not None
        if own.kind is Kind.CLASS and found.kind is Kind.CLASS:
            difference = self.differences.of_class(own, found)
            facts.empty = difference.endswith("defines nothing of its own") and difference.startswith(
                "derives"
            )
            facts.changed = self.differences.changed_upstream(own, found)
            return difference
        if own.kind is Kind.FUNCTION and found.kind is Kind.FUNCTION:
            difference = self.differences.of_function(own, found)
            facts.equal = difference == "the same statements"
            return difference
        return ""

    def _against_rival(self, item: Registration, facts: Facts) -> None:
        found = self.rivals.get((item.kind, item.key))
        winner = found.winner if found is not None else None
        if winner is None or winner == item:
            return
        facts.rival = f"{self.subject.plugin.paths[winner.module]}:{winner.line}"
        facts.same_class = bool(self._classes(item)) and self._classes(item) == self._classes(winner)
        facts.rival_runs = self.startup.statement(self.startup.actual, item.module, item.line) is None

    def _whole_table(self, item: Registration) -> tuple[str, str]:
        """(difference, what is thrown away) of an assignment that replaces a table of upstream."""
        owner = item.owner
        assert owner is not None
        named = ", ".join(f"`{c.qualname}`" for c in item.listed) or "what could not be read"
        difference = f"replaces the whole table by one for out-of-tree platforms: {named}"
        bindings = self.world.upstream.namespace(owner.module).names.get(owner.qualname)
        lines = self.world.upstream.lines(owner.module)
        keys = [k for a in (bindings.assigns if bindings else ()) for k in _keys_of(lines[a.line - 1 :])]
        lost = [k for k in dict.fromkeys(keys) if k != "OOT"]
        if not lost:
            return difference, ""
        return difference, (
            f"it throws away upstream's entries for {', '.join(lost)}: assign the key OOT of the table instead"
        )

    def _reached(self, module: str, line: int) -> Reaching:
        reached = self.startup.reached(module, line)
        plugin = self.subject.plugin
        chain = tuple(
            Place(path=plugin.paths[s.module] if s.module else "", line=s.line, what=s.what)
            for s in reached.chain
        )
        if reached.how is How.NEVER:
            return Reaching(Activation.INACTIVE, "", (), "never: nothing imports the module")
        guard = f" ({reached.guard})" if reached.guard else ""
        text = f"{reached.how.value}{guard}: {chain_text(self.subject, reached.chain)}"
        condition = reached.guard
        status = Activation.CONDITIONAL if condition else Activation.ACTIVE
        if reached.how is How.HOOK:
            status = Activation.CONDITIONAL
            condition = "; ".join(filter(None, (reached.chain[0].what if reached.chain else "", condition)))
        elif reached.how is How.LAZY:
            status = Activation.CONDITIONAL
            last = reached.chain[-1].what if reached.chain else ""
            condition = f"only once something imports {module}" + (f" ({last})" if last else "")
        elif self.startup.statement(self.startup.actual, module, line) is None:
            died = self.startup.actual.died
            fault = died.fault if died is not None else None
            where = f" at {plugin.paths[fault.module]}:{fault.line}" if fault is not None else ""
            reason = (
                f"{fault.exception}: {fault.reason}{where}" if fault is not None else "an error before it"
            )
            return Reaching(Activation.LOST, f"the start ends with {reason}", chain, text)
        return Reaching(status, condition, chain, text)

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

    # ---- patches, entry points, platform ----

    def _patch(self, patch: Patch) -> InventoryRow:
        target = self.world.path(patch.target) if patch.kind is not PatchKind.SYS_MODULES else None
        found = target if target is not None else self.world.module(patch.target)
        cited = self.subject.cite_definition(found) if found.kind in (Kind.CLASS, Kind.FUNCTION) else None
        replacement = patch.replacement.id if patch.replacement is not None else "(an expression)"
        evidence = [self.subject.cite(self.subject.plugin, patch.module, patch.line)]
        reached = self._reached(patch.module, patch.line)
        facts = Facts(
            reached.status,
            reached.condition,
            gone=not found.found and not patch.allow_missing,
            counterpart=found.found,
            extension=self._extension(found),
        )
        difference = "adds what upstream does not have" if patch.allow_missing and not found.found else ""
        if patch.replacement is not None and found.found:
            difference = self._compared(patch.replacement, found, facts)
            if found.kind is Kind.FUNCTION and self._changed_function(found):
                facts.changed = [found.qualname]
        for item in registrations(self.subject):
            if item.whole and (item.module, item.line) == (patch.module, patch.line):
                difference, facts.drops = self._whole_table(item)
        decision, reason = decide(facts)
        return InventoryRow(
            kind=f"patch ({patch.kind.value})",
            key=patch.target,
            path=self.subject.plugin.paths[patch.module],
            line=patch.line,
            symbol=patch.scope,
            activation=reached.text,
            effective=replacement,
            counterpart=found.id if found.found else "missing in this upstream",
            difference=difference,
            decision=decision,
            evidence=tuple([*evidence, cited] if cited else evidence),
            status=reached.status,
            condition=reached.condition,
            chain=reached.chain,
            reason=reason,
        )

    def _extension(self, found: Resolution) -> str:
        """``register_oot`` for a patched class that looks replacements up by its name, or a method of one."""
        cls = found
        if found.kind is Kind.FUNCTION and "." in found.qualname:
            cls = Resolution(Kind.CLASS, found.module, found.qualname.rpartition(".")[0])
        if cls.kind is not Kind.CLASS or self.world.mro(cls).opaque:
            return ""
        named = {c.qualname for c in self.world.mro(cls).classes} & {"CustomOp", "PluggableLayer"}
        return f"`{cls.qualname}.register_oot` on a subclass" if named else ""

    def _changed_function(self, found: Resolution) -> bool:
        before = self.subject.before
        if before is None:
            return False
        old = before.world.function_record(before.world.path(found.id.replace(":", ".")))
        new = self.world.function_record(found)
        return old is not None and new is not None and old.text_hash != new.text_hash

    def _entry(self, entry: EntryPoint) -> InventoryRow:
        plugin = self.subject.plugin
        found = self.world.path(f"{entry.module}.{entry.attribute}")
        outcome = next((o for o in self.startup.actual.outcomes if o.entry == entry), None)
        known = entry.kind in ("platform_plugins", "general_plugins")
        broken = (outcome is None and known) or (outcome is not None and outcome.fault is not None)
        if outcome is not None and outcome.fault is not None:
            effective = f"raises {outcome.fault.exception}: {outcome.fault.reason}"
        elif outcome is None and known:
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
            decision=Decision.RETAIN if found.found and not broken else Decision.UPDATE,
            evidence=tuple([cited, definition] if definition else [cited]),
            status=Activation.LOST if broken else Activation.ACTIVE,
            condition=effective if broken else "",
            reason=effective if broken or not found.found else "it finishes",
        )

    def _platform(self, path: str, cls: Resolution) -> list[InventoryRow]:
        record = self.world.class_record(cls)
        interface = platform_interface(self.world, cls)
        line = record.line if record is not None else 1
        overridden = [h.qualname.rpartition(".")[2] for h in hooks(self.world, cls)]
        difference = f"overrides {len(overridden)} methods of the interface"
        rows = [self._platform_row("platform", path, cls, cls, line, interface, difference)]
        priority = self.world.class_member(cls, "get_default_ir_op_priority")
        if "get_default_ir_op_priority" in overridden and priority is not None:
            own = self.world.function_record(priority)
            base = self.world.class_member(interface, "get_default_ir_op_priority") if interface else None
            difference = self.differences.of_function(priority, base) if base is not None else ""
            at = own.line if own is not None else line
            rows.append(
                self._platform_row("ir op priority", cls.qualname, cls, priority, at, base, difference)
            )
        return rows

    def _platform_row(
        self,
        kind: str,
        key: str,
        cls: Resolution,
        effective: Resolution,
        line: int,
        counterpart: Resolution | None,
        difference: str,
    ) -> InventoryRow:
        reached = self._reached(cls.module, line)
        chosen = self._choice(cls)
        decision, reason = decide(Facts(reached.status, reached.condition, counterpart=True))
        cited = self.subject.cite_definition(counterpart) if counterpart is not None else None
        own = self.subject.cite(self.subject.plugin, effective.module, line)
        return InventoryRow(
            kind=kind,
            key=key,
            path=self.subject.plugin.paths[effective.module],
            line=line,
            symbol=effective.qualname,
            activation=reached.text,
            effective=effective.id,
            counterpart=counterpart.id if counterpart is not None else "none",
            difference=difference,
            decision=decision,
            evidence=tuple([own, cited] if cited else [own]),
            status=Activation.CONDITIONAL
            if chosen and reached.status is Activation.ACTIVE
            else reached.status,
            condition=chosen or reached.condition,
            chain=reached.chain,
            reason=reason,
        )

    def _choice(self, cls: Resolution) -> str:
        """The expression of a module that chooses one of several platform classes."""
        for assign in self.subject.plugin.modules[cls.module].assigns:
            if cls.qualname in assign.value and " if " in assign.value:
                return f"{assign.name} = {' '.join(assign.value.split())}"
        return ""


def _keys_of(lines: list[str]) -> list[str]:
    """Platforms named as keys of a table that starts with the first of ``lines``."""
    end = next((i for i, line in enumerate(lines) if line.startswith("}")), len(lines))
    return re.findall(r"PlatformEnum\.(\w+)\s*:", "\n".join(lines[:end]))

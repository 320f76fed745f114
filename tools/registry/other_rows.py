"""Inventory rows of what is no registration: patches, entry points, the platform class."""

from __future__ import annotations

import hashlib

from tools.code.world import Kind, Resolution
from tools.compare.patches import Patch, PatchKind
from tools.findings import Activation, Decision, Evidence, InventoryRow, short_hash
from tools.registry.decisions import Facts, decide
from tools.registry.difference import Differences
from tools.registry.entry_points import EntryPoint
from tools.registry.platforms import hooks, platform_classes, platform_interface
from tools.registry.reaching import reaching
from tools.registry.sites import registrations
from tools.registry.startup import startup_of
from tools.registry.subject import Subject
from tools.registry.tables import whole_table


class OtherRows:
    """Of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        self.startup = startup_of(subject)
        self.differences = Differences(subject)

    def rows(self) -> list[InventoryRow]:
        """Patches, then entry points, then platform classes."""
        out = [self._patch(patch) for patch in self.subject.patches]
        out += [self._entry(entry) for entry in self.startup.entries]
        for path in self.startup.class_paths:
            for cls in platform_classes(self.world, path):
                out += self._platform(path, cls)
        return out

    def _patch(self, patch: Patch) -> InventoryRow:
        target = self.world.path(patch.target) if patch.kind is not PatchKind.SYS_MODULES else None
        found = target if target is not None else self.world.module(patch.target)
        cited = self.subject.cite_definition(found) if found.kind in (Kind.CLASS, Kind.FUNCTION) else None
        replacement = patch.replacement.id if patch.replacement is not None else "(an expression)"
        evidence = [self.subject.cite(self.subject.plugin, patch.module, patch.line)]
        reached = reaching(self.subject, patch.module, patch.line)
        facts = Facts(
            reached.status,
            reached.condition,
            gone=not found.found and not patch.allow_missing,
            counterpart=found.found,
            extension=self._extension(found),
        )
        difference = "adds what upstream does not have" if patch.allow_missing and not found.found else ""
        if patch.replacement is not None and found.found:
            difference = self.differences.compared(patch.replacement, found, facts)
            if found.kind is Kind.FUNCTION and self._changed_function(found):
                facts.changed = [found.qualname]
        for item in registrations(self.subject):
            if item.whole and (item.module, item.line) == (patch.module, patch.line):
                difference, facts.drops = whole_table(self.subject, item)
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
        reached = reaching(self.subject, cls.module, line)
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

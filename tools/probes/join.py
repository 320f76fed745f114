"""The running process beside the static reading: each difference is a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tools.code.world import World
from tools.findings import (
    Activation,
    Attribution,
    Certainty,
    Decision,
    Evidence,
    Finding,
    InventoryRow,
    Level,
    Severity,
    short_hash,
)
from tools.probes.launch import Subject
from tools.probes.record import Chain, Registered, Run
from tools.registry.inventory import InventoryResult

CONTAINERS = {
    "op_registry_oot": "custom op",
    "_CUSTOMIZED_METHOD_TO_QUANT_CONFIG": "quantization config",
    "_ATTN_OVERRIDES": "attention backend",
    "_MAMBA_ATTN_OVERRIDES": "attention backend",
    "_MLA_PREFILL_OVERRIDES": "attention backend",
    "ModelRegistry.models": "model",
}
"""Last part of a container's name -> kind of the inventory. Tables of linear kernels go by their pattern."""
_KERNELS = re.compile(r"_POSSIBLE_\w*KERNELS$")
_KEYED = ("custom op", "quantization config", "attention backend", "model")
_EXPECTED = ("custom op", "quantization config", "model", "linear kernel")
"""Kinds that a start registers unless a condition stands before them."""
TITLES = {
    "RUN001": "The start fails",
    "RUN002": "Registered in the source, and not there at run time",
    "RUN003": "Another class is in force than the source says",
    "RUN004": "Registered at run time by nothing that the source shows",
    "RUN005": "A call that the object really there does not take",
    "RUN006": "A registered class path leads to nothing",
    "RUN007": "A name still holds what a patch replaced",
    "RUN008": "A failed load looks like a good one the second time",
}
"""Ids of what only a running process shows."""


def kind_of(container: str) -> str:
    """Kind of the inventory that a container of upstream holds; '' for others."""
    name = container.partition(":")[2]
    if _KERNELS.search(name):
        return "linear kernel"
    return next((kind for end, kind in CONTAINERS.items() if name == end or name.endswith(f".{end}")), "")


@dataclass
class Join:
    """``run`` of ``subject`` beside the inventory of the same trees. ``level`` is what the run can show."""

    run: Run
    subject: Subject
    world: World
    inventory: InventoryResult
    level: Level
    command: str

    def __post_init__(self) -> None:
        self.evidence: dict[str, Evidence] = {}

    def findings(self) -> tuple[Finding, ...]:
        """All differences, worst first."""
        found = [*self._start(), *self._second(), *self._paths(), *self._calls(), *self._stale()]
        if self.run.started:
            found += [*self._absent(), *self._unseen()]
        found += self._other()
        return tuple(sorted({f.id: f for f in found}.values(), key=lambda f: f.sort_key))

    # ---- the start ----

    def _start(self) -> Iterator[Finding]:
        lost = self._lost()
        for stage in self.run.failed:
            assert stage.error is not None
            raised = stage.error[0]
            path, line = self._place(stage.error)
            there = len(self.run.registered), len(self.run.patched)
            left = f"{there[0]} registrations and {there[1]} patches are there all the same"
            yield self._finding(
                "RUN001",
                path,
                line,
                "",
                f"{stage.name}:{raised.type}:{raised.message[:80]}",
                severity=Severity.ERROR,
                message=f"{stage.name}: {raised.type}: {raised.message}",
                consequence=f"{left}: a partly filled registry is no start"
                if self.run.partly
                else "nothing of the plugin is registered",
                trigger="starting vLLM",
                suggestion="repair the import or call at the end of the chain",
                excerpt=chain_text(stage.error),
                blast=lost,
            )

    def _lost(self) -> tuple[str, ...]:
        """Labels of active registrations that are not there."""
        there = {(kind, key) for kind, key, _ in self._keyed()}
        return tuple(
            f"{row.kind} {row.key}"
            for row in self.inventory.rows
            if row.kind in _KEYED
            and row.status is not Activation.INACTIVE
            and (row.kind, row.key) not in there
        )

    def _second(self) -> Iterator[Finding]:
        second = self.run.second_load
        general = next((s for s in self.run.failed if s.name == "general plugins"), None)
        if second is None or general is None or second.error is not None:
            return
        assert general.error is not None
        path, line = self._place(general.error)
        yield self._finding(
            "RUN008",
            path,
            line,
            "",
            "second load",
            severity=Severity.WARNING,
            message="after the failed load, loading the plugins again returns without an error and registers "
            f"{second.registered_after - second.registered_before} more",
            consequence="a process that catches the first error goes on without the plugin",
            trigger="whatever calls `load_general_plugins` a second time",
            suggestion="repair the first failure; upstream marks plugins as loaded before it loads them",
            excerpt=f"{second.registered_before} registered before, {second.registered_after} after",
            silent=True,
        )

    # ---- registrations ----

    def _keyed(self) -> Iterator[tuple[str, str, Registered]]:
        for row in self.run.registered:
            kind = kind_of(row.container)
            if kind:
                yield kind, row.key, row

    def _absent(self) -> Iterator[Finding]:
        there = {(kind, key) for kind, key, _ in self._keyed()}
        objects = {(kind, _plain(row.object)) for kind, _, row in self._keyed()}
        for row in self.inventory.rows:
            if row.status is not Activation.ACTIVE or row.kind not in _EXPECTED:
                continue
            if (row.kind, row.key) in there or (row.kind, _effective(row)) in objects:
                continue
            others = ", ".join(sorted(key for kind, key in there if kind == row.kind)) or "none"
            yield self._finding(
                "RUN002",
                row.path,
                row.line,
                row.symbol,
                f"{row.kind}:{row.key}",
                severity=Severity.ERROR,
                message=f"{row.kind} `{row.key}` is registered here, and upstream does not have it after a start",
                consequence=f"upstream's own answers for `{row.key}`, or none",
                trigger=f"whatever looks up `{row.key}`",
                suggestion="find what takes it out again, or why the line is not reached",
                excerpt=f"{row.kind}s there: {others}",
                silent=True,
            )

    def _other(self) -> Iterator[Finding]:
        by_key: dict[tuple[str, str], list[Registered]] = {}
        for kind, key, row in self._keyed():
            if kind in _KEYED and not row.error:
                by_key.setdefault((kind, key), []).append(row)
        said: dict[tuple[str, str], list[InventoryRow]] = {}
        for item in self.inventory.rows:
            said.setdefault((item.kind, item.key), []).append(item)
        for (kind, key), there in by_key.items():
            rows = said.get((kind, key), [])
            live = {_plain(r.object) for r in there}
            if not rows or any(_effective(row) in live for row in rows):
                continue
            first = rows[0]
            yield self._finding(
                "RUN003",
                first.path,
                first.line,
                first.symbol,
                f"{kind}:{key}",
                severity=Severity.WARNING,
                message=f"{kind} `{key}`: `{there[0].object}` is in force, not `{first.effective}`",
                consequence="another class answers than the source shows",
                trigger=f"whatever looks up `{key}`",
                suggestion="find which registration runs last",
                excerpt=f"{there[0].container}[{key}] = {there[0].object} ({there[0].file})",
                silent=True,
            )

    def _unseen(self) -> Iterator[Finding]:
        keys = {(row.kind, row.key) for row in self.inventory.rows}
        objects = {(row.kind, _effective(row)) for row in self.inventory.rows}
        for kind, key, row in self._keyed():
            if (kind, key) in keys or (kind, _plain(row.object)) in objects:
                continue
            path, line = self._defined(row.object)
            yield self._finding(
                "RUN004",
                path,
                line,
                row.object.partition(":")[2],
                f"{kind}:{key}",
                severity=Severity.NOTE,
                message=f"{kind} `{key}` is there at run time (`{row.object}`); no registration of it was found",
                consequence="the inventory lacks it",
                trigger="reading the inventory",
                suggestion="none for the plugin: the registration is made in a way that cannot be read",
                excerpt=f"{row.container}[{key}] = {row.object}",
            )

    def _paths(self) -> Iterator[Finding]:
        for row in self.run.registered:
            if not row.error:
                continue
            kind = kind_of(row.container)
            said = next((r for r in self.inventory.rows if r.kind == kind and r.key == row.key), None)
            path, line = (said.path, said.line) if said else self._place(row.error)
            raised, absent = row.error[0], self._component(row.error)
            yield self._finding(
                "RUN006",
                path,
                line,
                said.symbol if said else "",
                f"{row.container}:{row.key}",
                severity=Severity.WARNING if absent else Severity.ERROR,
                attribution=Attribution.ENVIRONMENT if absent else Attribution.REGRESSION,
                message=f"`{row.path}` ({row.container}[{row.key}]) cannot be loaded: {raised.type}: {raised.message}",
                consequence=f"{raised.type} when `{row.key}` is chosen",
                trigger=f"whatever chooses `{row.key}`",
                suggestion="install the component in this interpreter, or take the result for what it is"
                if absent
                else "repair the path, or the module behind it",
                excerpt=chain_text(row.error),
            )

    def _component(self, chain: Chain) -> bool:
        """Whether the first cause is a component that this interpreter lacks: no fault of either package."""
        own = (self.subject.plugin, self.subject.upstream)
        root = (chain[-1].module or "").partition(".")[0]
        said = "not installed" in chain[0].message
        return said or (chain[-1].type == "ModuleNotFoundError" and bool(root) and root not in own)

    # ---- calls and patches ----

    def _calls(self) -> Iterator[Finding]:
        for call in self.run.calls.failed:
            yield self._finding(
                "RUN005",
                self.world.plugin.paths[call.module],
                call.line,
                call.scope,
                call.callee,
                severity=Severity.ERROR,
                message=f"`{call.callee}` is `{call.object}{call.signature}` and does not take this call: {call.error}",
                consequence=f"TypeError: {call.error}",
                trigger=f"calling `{call.scope}`" if call.scope else f"importing `{call.module}`",
                suggestion="pass what the signature takes",
                excerpt=f"{call.object}{call.signature}\n{call.error}",
            )

    def _stale(self) -> Iterator[Finding]:
        for row in self.run.stale:
            path = self.world.plugin.paths.get(row.module)
            line = 1
            if path is None:  # a module of upstream: the place to act is the patch
                name = row.target.replace(":", ".")
                said = next(
                    (r for r in self.inventory.rows if r.kind.startswith("patch") and name in r.key), None
                )
                if said is None:
                    continue
                path, line = said.path, said.line
            yield self._finding(
                "RUN007",
                path,
                line,
                "",
                f"{row.module}:{row.name}",
                severity=Severity.WARNING,
                message=f"`{row.module}.{row.name}` is still the unpatched `{row.target}`",
                consequence=f"calls in `{row.module}` run upstream's code",
                trigger=f"whatever `{row.module}` does with it",
                suggestion=f"patch `{row.module}.{row.name}` too, or apply the patch before that module is imported",
                excerpt=f"{row.module}.{row.name} is {row.target}, bound before the patch",
                silent=True,
            )

    # ---- places and evidence ----

    def _place(self, chain: Chain) -> tuple[str, int]:
        """The last line of the plugin on the way to an exception, innermost cause first."""
        for raised in reversed(chain):
            for frame in reversed(raised.frames):
                path = self._plugin_path(frame.file)
                if path:
                    return path, frame.line or 1
        return self._defined(self.subject.plugin)

    def _plugin_path(self, file: str) -> str | None:
        tail = f"/{self.subject.plugin.replace('.', '/')}/"
        _, found, rest = file.rpartition(tail)
        path = f"{self.world.plugin.prefix}{tail[1:]}{rest}"
        return path if found and path in self.world.plugin.modules_at else None

    def _defined(self, name: str) -> tuple[str, int]:
        """Where ``module:Qual.name`` of the plugin stands."""
        module, _, qualname = name.partition(":")
        path = self.world.plugin.paths.get(module) or self.world.plugin.paths[self.subject.plugin]
        space = self.world.plugin.namespace(module)
        record = space.classes.get(qualname) or space.functions.get(qualname)
        return path, record.line if record is not None else 1

    def _finding(
        self,
        check: str,
        path: str,
        line: int,
        symbol: str,
        key: str,
        *,
        severity: Severity,
        message: str,
        consequence: str,
        trigger: str,
        suggestion: str,
        excerpt: str,
        blast: tuple[str, ...] = (),
        silent: bool = False,
        attribution: Attribution = Attribution.REGRESSION,
    ) -> Finding:
        cited = Evidence(
            id="E" + short_hash("probe", self.command, check, key, excerpt),
            kind="command",
            source="probe",
            command=self.command,
            excerpt=excerpt,
            level=self.level,
        )
        self.evidence[cited.id] = cited
        return Finding(
            id="F" + short_hash(check, path, symbol, key),
            check=check,
            path=path,
            line=line,
            symbol=symbol,
            severity=severity,
            certainty=Certainty.CERTAIN if self.level is Level.RUNTIME else Certainty.LIKELY,
            introduced=True,
            message=message,
            trigger=trigger,
            consequence=consequence,
            suggestion=suggestion,
            evidence=(cited.id,),
            attribution=attribution,
            decision=Decision.UPDATE if severity is Severity.ERROR else Decision.UNDECIDED,
            level=self.level,
            silent=silent,
            blast_radius=blast,
        )


def chain_text(chain: Chain) -> str:
    """An exception chain as text, the outermost first."""
    lines: list[str] = []
    for raised in chain:
        lines.append(f"{raised.type}: {raised.message}")
        lines += [f"  {f.file}:{f.line} in {f.name}" for f in raised.frames]
    return "\n".join(lines)


def counted(run: Run) -> Mapping[str, int]:
    """Kind -> how many are there after the start; patches and stale names too."""
    counts = dict.fromkeys((*_EXPECTED, "attention backend"), 0)
    for row in run.registered:
        kind = kind_of(row.container)
        if kind:
            counts[kind] += 1
    return {**counts, "patch": len(run.patched), "stale name": len(run.stale)}


def _plain(name: str) -> str:
    return name.replace(":", ".")


def _effective(row: InventoryRow) -> str:
    """The class that a row says is in force, as a dotted name."""
    return _plain(row.effective.partition(",")[0].partition(" ")[0])

"""The start of a process, simulated: what of the plugin runs, in which order, and what an error costs.

Upstream loads the platform entry point while it is itself being imported, imports the class that the entry
point names, then loads and calls the general entry points. Whether it survives an error in each of these is
read from its own source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from tools.code.records import typing_only
from tools.code.world import Kind, Resolution
from tools.registry.bodies import Bodies
from tools.registry.entry_points import GENERAL_GROUP, PLATFORM_GROUP, EntryPoint, entry_points
from tools.registry.execution import Execution
from tools.registry.importing import quoted_paths
from tools.registry.loader import Loader, read_loader
from tools.registry.outcomes import BlastRadius, How, Outcome, Reached, Run
from tools.registry.platforms import hooks, platform_classes
from tools.registry.sites import registrations
from tools.registry.subject import Subject
from tools.registry.trace import Executed, Fault, Raised, Resolved, Site, Step


class Startup:
    """Starts of one plugin against one upstream."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.world, self.plugin = subject.world, subject.plugin
        self._class_paths: list[str] = []
        self.loader: Loader = read_loader(subject.upstream)
        before = startup_of(subject.before) if subject.before is not None else None
        self.entries: tuple[EntryPoint, ...] = (
            before.entries if before is not None else entry_points(subject.plugin, subject.profile)
        )
        self.bodies: Bodies = before.bodies if before is not None else Bodies(subject.plugin)
        self._resolved: Resolved = {}
        self._radii: dict[tuple[Site, str], BlastRadius] = {}

    @cached_property
    def clean(self) -> Run:
        """A start in which nothing raises: what the plugin means to do."""
        return self.simulate({}, certain=False)

    @cached_property
    def class_paths(self) -> tuple[str, ...]:
        """Class paths that platform entry points return."""
        return tuple(self._class_paths) if self.clean.outcomes else ()

    @cached_property
    def actual(self) -> Run:
        """A start in which every import that cannot succeed raises where no condition stands before it."""
        if not any(self.statement(self.clean, module, line) for module, line in self.faults):
            return self.clean
        return self.simulate(self.faults, certain=True)

    @cached_property
    def faults(self) -> dict[Site, Fault]:
        """Imports of modules and names that neither tree holds and no patch puts there."""
        out: dict[Site, Fault] = {}
        patched = {p.target for p in self.subject.patches}
        for module, record in self.plugin.modules.items():
            for imported in record.imports:
                if typing_only(imported.guard):
                    continue
                source = self.plugin.absolute(module, imported)
                if self.world.tree(source) is None:
                    continue
                whole = imported.name in ("", ".", "*")
                found = self.world.module(source) if whole else self.world.member(source, imported.name)
                wanted = source if whole else f"{source}.{imported.name}"
                if found.kind is not Kind.MISSING or any(
                    wanted == p or wanted.startswith(p + ".") or source == p for p in patched
                ):
                    continue
                gone = whole or not found.qualname
                kind = "ModuleNotFoundError" if gone else "ImportError"
                reason = (
                    f"No module named {found.module!r}"
                    if gone
                    else f"cannot import name {imported.name!r} from {source!r}"
                )
                out.setdefault((module, imported.line), Fault(module, imported.line, kind, reason))
        return out

    # ---- one start ----

    def simulate(self, faults: Mapping[Site, Fault], *, certain: bool) -> Run:
        """A start in which ``faults`` raise; with ``certain``, only where no condition stands before them."""
        run = Execution(self.world, self.bodies, self._resolved, faults, certain=certain)
        outcomes: list[Outcome] = []
        died: Outcome | None = None
        classes: list[Resolution] = []
        for entry in self._of(PLATFORM_GROUP):
            outcome, loaded = self._platform(run, entry)
            outcomes.append(outcome)
            classes += loaded
            if outcome.fault is not None and not self.loader.survives(outcome.stage, PLATFORM_GROUP):
                died = outcome
        general = self._of(GENERAL_GROUP) if died is None else ()
        ready = []
        for entry in general:
            outcome = self._load(run, entry)
            if outcome.fault is None:
                ready.append(entry)
            else:
                outcomes.append(outcome)
                if not self.loader.survives("load", GENERAL_GROUP):
                    died = outcome
                    break
        for entry in ready if died is None else ():
            outcome = self._call(run, entry)
            outcomes.append(outcome)
            if outcome.fault is not None and not self.loader.survives("call", GENERAL_GROUP):
                died = outcome
                break
        before = set(run.statements)
        for cls in classes:
            for hook in hooks(self.world, cls):
                step = Step(hook.module, _line(self.subject, hook), f"upstream calls {hook.qualname}")
                try:
                    run.call(hook, step)
                except Raised:
                    continue
        return Run(run, tuple(outcomes), frozenset(set(run.statements) - before), died)

    def _of(self, kind: str) -> tuple[EntryPoint, ...]:
        return tuple(e for e in self.entries if e.kind == kind)

    def _load(self, run: Execution, entry: EntryPoint) -> Outcome:
        try:
            run.load(entry.module, Step("", entry.line, f"entry point {entry}"))
        except Raised as raised:
            return Outcome(entry, "load", raised.fault)
        return Outcome(entry, "load", None)

    def _call(self, run: Execution, entry: EntryPoint) -> Outcome:
        found = self.world.path(f"{entry.module}.{entry.attribute}")
        if found.kind is Kind.FUNCTION:
            try:
                run.call(found, Step("", entry.line, f"entry point {entry}"))
            except Raised as raised:
                return Outcome(entry, "call", raised.fault)
        return Outcome(entry, "call", None)

    def _platform(self, run: Execution, entry: EntryPoint) -> tuple[Outcome, list[Resolution]]:
        outcome = self._load(run, entry)
        if outcome.fault is None:
            outcome = self._call(run, entry)
        if outcome.fault is not None:
            return outcome, []
        classes: list[Resolution] = []
        for path, (module, line) in list(run.returned):
            name = path.replace(":", ".").rpartition(".")[0]
            try:
                run.load(name, Step(module, line, f"upstream imports {name} for the platform class"))
            except Raised as raised:
                return Outcome(entry, "class", raised.fault), []
            classes += platform_classes(self.world, path)
            if path not in self._class_paths:
                self._class_paths.append(path)
        run.returned.clear()
        return Outcome(entry, "class", None), classes

    # ---- questions ----

    def statement(self, run: Run, module: str, line: int) -> Executed | None:
        """The record of the statement of ``run`` that holds ``line``."""
        best: Executed | None = None
        for first, executed in run.spans.get(module, ()):
            if first <= line <= executed.end and (best is None or executed.end - first < best.end - line):
                best = executed
        return best

    def reached(self, module: str, line: int) -> Reached:
        """How a start in which nothing raises reaches ``line`` of plugin ``module``."""
        run = self.clean
        executed = self.statement(run, module, line)
        if executed is not None:
            guard = "; ".join(executed.guards)
            if self._by_hook(run, module, line):
                return Reached(How.HOOK, guard, executed.chain)
            return Reached(How.CONDITIONAL if guard else How.ALWAYS, guard, executed.chain)
        if module in run.execution.modules:
            return Reached(How.LAZY, "", run.execution.modules[module])
        chain = self.lazily.get(module)
        return Reached(How.LAZY, "", chain) if chain is not None else Reached(How.NEVER)

    def _by_hook(self, run: Run, module: str, line: int) -> bool:
        return any(
            m == module and first <= line <= run.execution.statements[(m, first)].end
            for m, first in run.hook_lines
            if m == module
        )

    @cached_property
    def lazily(self) -> dict[str, tuple[Step, ...]]:
        """Modules that no start imports, but reached ones import in a function or name in a text."""
        known: dict[str, tuple[Step, ...]] = dict(self.clean.execution.modules)
        queue = list(known)
        for module in queue:
            for target, line, what in self._edges(module):
                for name in _with_parents(target, self.plugin.package):
                    if name in self.plugin and name not in known:
                        known[name] = (*known[module], Step(module, line, what))
                        queue.append(name)
        return {m: c for m, c in known.items() if m not in self.clean.execution.modules}

    def _edges(self, module: str) -> Iterable[tuple[str, int, str]]:
        if module not in self.plugin.paths:
            return
        for imported in self.plugin.modules[module].imports:
            source = self.plugin.absolute(module, imported)
            if typing_only(imported.guard) or self.world.tree(source) is not self.plugin:
                continue
            yield source, imported.line, f"imports {source}"
            if imported.name not in ("", ".", "*"):
                yield f"{source}.{imported.name}", imported.line, f"imports {source}.{imported.name}"
        for path, line in quoted_paths(self.plugin, module, self.plugin.package):
            yield path.replace(":", "."), line, f"names {path}"

    def blast_radius(self, module: str, line: int, exception: str = "ImportError") -> BlastRadius:
        """What is lost when ``line`` of plugin ``module`` raises ``exception``."""
        site = (module, line)
        key = (site, exception)
        found = self._radii.get(key)
        if found is None:
            found = self._radii[key] = self._radius(site, exception)
        return found

    def _radius(self, site: Site, exception: str) -> BlastRadius:
        if self.statement(self.clean, *site) is None:
            return BlastRadius(False, (), (), None)  # a start that nothing stops does not come by
        fault = Fault(*site, exception)
        run = self.simulate({site: fault}, certain=False)
        hit = next(((f, chain) for f, chain in run.execution.raised if f == fault), None)
        if hit is None:
            return BlastRadius(False, (), (), None)
        executed = self.statement(self.clean, *site)
        guard = "; ".join(executed.guards) if executed is not None else ""
        stopped = next((o for o in run.outcomes if o.fault == fault), None)
        lost = tuple(
            r
            for r in registrations(self.subject)
            if self.statement(self.clean, r.module, r.line) is not None
            and self.statement(run, r.module, r.line) is None
        )
        if stopped is None:
            return BlastRadius(False, hit[1], lost, None, guard=guard)
        return BlastRadius(
            True,
            hit[1],
            lost,
            stopped.entry,
            stopped.stage,
            guard,
            self.loader.survives(stopped.stage, stopped.entry.kind),
            self.loader.effect(stopped.stage, stopped.entry.kind),
        )


def _with_parents(name: str, package: str) -> list[str]:
    parts = name.split(".")
    start = len(package.split("."))
    return [".".join(parts[:cut]) for cut in range(start, len(parts) + 1)]


def _line(subject: Subject, function: Resolution) -> int:
    record = subject.world.function_record(function)
    return record.line if record is not None else 1


def startup_of(subject: Subject) -> Startup:
    """The start of this plugin against this upstream; computed once for a context."""
    found = subject.shared.get("startup")
    if not isinstance(found, Startup):
        found = subject.shared["startup"] = Startup(subject)
    return found


__all__ = ["BlastRadius", "Fault", "How", "Outcome", "Reached", "Run", "Startup", "Step", "startup_of"]

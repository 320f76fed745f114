"""Loading the platform plugin imports upstream modules that need the platform.

Upstream resolves the platform the first time something asks for ``current_platform``, which some of its modules
do while they are imported. When the plugin imports such a module before its entry function exists, or while
upstream is still asking it for the platform, the plugin is asked again half-finished: the inner question fails,
the failure is dropped, and a built-in platform is chosen, or an import is circular.

Example: ``acme/__init__.py`` imports ``vllm.utils.pinned`` above ``def register``. Started as ``import acme``,
the import asks for the platform, the loader finds a module ``acme`` without ``register``, and the CPU is used.

Cannot see: upstream modules that ask for the platform in ways other than importing ``current_platform`` or
calling a function that does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks.base import Context, Result
from tools.code.records import Import
from tools.code.world import Kind
from tools.findings import Certainty, Severity
from tools.registry.closure import imported_with, platform_access, way
from tools.registry.entry_points import PLATFORM_GROUP, EntryPoint
from tools.registry.importing import first_binding
from tools.registry.startup import startup_of

ID = "LOD002"
TITLE = "Platform asked for while its plugin is being loaded"
SEVERITY = Severity.ERROR


@dataclass(frozen=True, slots=True)
class _Site:
    """An import of an upstream module between loading the entry point and having the platform class."""

    module: str
    imported: Import
    source: str
    stage: str


class _Upstream:
    """How far upstream is when it asks for the platform."""

    def __init__(self, context: Context) -> None:
        self.world, self.tree = context.world, context.upstream
        package = self.tree.package
        self.loaded = imported_with(self.world, [package], inside=self.tree)
        """What importing the package imports."""
        asker = next(((m, n) for m in self.loaded if (n := platform_access(self.world, m)) is not None), None)
        self.asks_at_import = asker is not None
        self.running: dict[str, int] = {}
        """Modules that are being imported when the package itself asks -> how far they are."""
        if asker is not None:
            self.running = {**dict(way(self.loaded, asker[0])), asker[0]: asker[1]}

    def first_ask(self, source: str) -> tuple[str, int] | None:
        """Where importing ``source`` in a fresh process asks for the platform."""
        for module in imported_with(self.world, [source], inside=self.tree):
            line = platform_access(self.world, module)
            if line is not None:
                return module, line
        return None

    def trouble(self, source: str, name: str) -> tuple[str, int, str] | None:
        """What goes wrong when ``name`` is imported from ``source`` while the platform is being resolved."""
        late = self._late(source, name)
        if late is not None:
            return source, late, f"cannot import name {name!r} from partially initialized module {source!r}"
        for module in imported_with(self.world, [source], inside=self.tree):
            if module in self.loaded:
                continue
            for imported in self.tree.modules[module].imports:
                if imported.scope or imported.guard:
                    continue
                origin = self.tree.absolute(module, imported)
                if self._late(origin, imported.name) is not None:
                    what = (
                        f"cannot import name {imported.name!r} from partially initialized module {origin!r}"
                    )
                    return module, imported.line, what
            line = platform_access(self.world, module)
            if line is not None:
                return module, line, f"{module} asks for the platform again"
        return None

    def _late(self, module: str, name: str) -> int | None:
        """Line that binds ``name``, when ``module`` has not come so far."""
        line = self.running.get(module)
        if line is None or name in ("", ".", "*") or f"{module}.{name}" in self.tree:
            return None
        bound = first_binding(self.tree, module, name)
        return bound if bound is not None and bound > line else None


def run(context: Context) -> Iterable[Result]:
    """Judges every upstream import between loading the platform entry point and having its class."""
    upstream: _Upstream | None = None
    told: set[tuple[str, int]] = set()
    for entry in startup_of(context).entries:
        for site in _sites(context, entry) if entry.kind == PLATFORM_GROUP else ():
            if (site.module, site.imported.line) in told:
                continue
            upstream = upstream or _Upstream(context)
            if site.stage == "load":
                asks = upstream.first_ask(site.source)
                found = _before_entry(context, entry, site, asks) if asks is not None else None
            else:
                trouble = upstream.trouble(site.source, site.imported.name)
                found = _inside(context, entry, site, trouble) if trouble is not None else None
            if found is not None:
                told.add((site.module, site.imported.line))
                yield found


def _sites(context: Context, entry: EntryPoint) -> Iterator[_Site]:
    startup, plugin = startup_of(context), context.plugin
    function = context.world.path(f"{entry.module}.{entry.attribute}")
    record = context.world.function_record(function) if function.kind is Kind.FUNCTION else None
    bound = startup.statement(startup.clean, function.module, record.line) if record is not None else None
    if bound is None:
        return
    for module in startup.clean.execution.modules:
        for imported in plugin.modules[module].imports if module in plugin.paths else ():
            source = plugin.absolute(module, imported)
            if context.world.tree(source) is not context.upstream:
                continue
            executed = startup.statement(startup.clean, module, imported.line)
            if executed is None or executed.guards:
                continue
            what = executed.chain[0].what if executed.chain else ""
            if what == f"entry point {entry}":
                stage = "load" if executed.order < bound.order else "call"
            elif what.startswith("upstream imports"):
                stage = "class"
            else:
                continue
            submodule = f"{source}.{imported.name}"
            yield _Site(module, imported, submodule if submodule in context.upstream else source, stage)


def _before_entry(context: Context, entry: EntryPoint, site: _Site, asks: tuple[str, int]) -> Result:
    return context.finding(
        ID,
        module=site.module,
        line=site.imported.line,
        symbol=site.imported.scope,
        key=f"{site.stage} {site.source}",
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=f"{site.source} is imported before {entry.attribute}() is defined, and importing it asks for "
        f"the platform ({asks[0]}, line {asks[1]})",
        trigger="a process that imports the plugin before upstream",
        consequence=f"AttributeError: partially initialized module {entry.module!r} has no attribute "
        f"{entry.attribute!r}; upstream drops it and falls back to CpuPlatform or UnspecifiedPlatform",
        suggestion=f"Move the import into the function that needs it, or below {entry.attribute}().",
        evidence=[context.cite(context.upstream, *asks)],
        cause=f"{asks[0]} asks for the platform",
        silent=True,
    )


def _inside(context: Context, entry: EntryPoint, site: _Site, trouble: tuple[str, int, str]) -> Result:
    module, line, what = trouble
    loader = startup_of(context).loader
    circular = what.startswith("cannot import")
    return context.finding(
        ID,
        module=site.module,
        line=site.imported.line,
        symbol=site.imported.scope,
        key=f"{site.stage} {site.source}",
        severity=Severity.ERROR if circular else Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=f"while upstream asks for the platform, "
        f"{'the platform class' if site.stage == 'class' else entry.attribute + '()'} imports {site.source}, "
        f"and {what} (line {line})",
        trigger="import of the upstream package, in every process",
        consequence=f"ImportError; {loader.effect(site.stage, entry.kind)}"
        if circular
        else "the platform is resolved inside its own resolution, and the inner answer may stay in force",
        suggestion="Import it in the method that needs it, once the platform is in force.",
        evidence=[context.cite(context.upstream, module, line)],
        cause=f"{module} needs the platform",
        silent=not circular or loader.survives(site.stage, entry.kind),
    )

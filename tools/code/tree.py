"""One package in one snapshot: its modules, and what they bind."""

from __future__ import annotations

import ast
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from tools.code.cache import CodeCache
from tools.code.extract import MAX_BYTES
from tools.code.reading import Progress, read_records
from tools.code.records import Assign, Call, Calls, Class, Function, Import, Module
from tools.code.syntax import parse
from tools.sources.snapshot import Snapshot, SourceError, tree_digest


@dataclass(frozen=True, slots=True)
class Bindings:
    """Everything one module binds to one name, in the order of the file."""

    functions: tuple[Function, ...] = ()
    classes: tuple[Class, ...] = ()
    assigns: tuple[Assign, ...] = ()
    imports: tuple[Import, ...] = ()


@dataclass(slots=True)
class Namespace:
    """A module's top level, by name, and its definitions by qualified name."""

    names: dict[str, Bindings] = field(default_factory=dict)
    stars: tuple[Import, ...] = ()
    functions: dict[str, Function] = field(default_factory=dict)
    """By qualified name; of several with one name, the last that is unguarded wins."""
    classes: dict[str, Class] = field(default_factory=dict)
    methods: dict[str, dict[str, Function]] = field(default_factory=dict)
    """Class qualified name -> method name -> function."""
    local_imports: dict[str, list[Import]] = field(default_factory=dict)
    """Function qualified name -> imports inside it."""


class Tree:
    """The modules of ``package`` in ``snapshot``.

    Module names are dotted (``vllm.v1.worker``); a package's module is its ``__init__``. ``role`` is plugin,
    base or target and names the snapshot in evidence.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        package: str,
        role: str,
        cache: CodeCache,
        progress: Progress | None = None,
    ) -> None:
        self.snapshot, self.package, self.role = snapshot, package, role
        self.prefix = _find_package(snapshot, package)
        self.paths: dict[str, str] = {}
        """Module -> path in the snapshot."""
        self.packages: set[str] = set()
        for path in snapshot.paths():
            module = self._module_of(path)
            if module is not None:
                self.paths[module] = path
                if path.endswith("/__init__.py"):
                    self.packages.add(module)
        self.modules_at = {path: module for module, path in self.paths.items()}
        blobs = {module: snapshot.blob(path) for module, path in self.paths.items()}
        records = read_records(
            _readers(snapshot, self.paths.values()), cache, progress, f"reading {role} ({package})"
        )
        self.modules: dict[str, Module] = {module: records[blob][0] for module, blob in blobs.items()}
        self._calls: dict[str, Calls] = {module: records[blob][1] for module, blob in blobs.items()}
        # Folders without __init__.py are packages too (namespace packages).
        for module in list(self.paths):
            parent = module.rpartition(".")[0]
            while parent and parent not in self.packages:
                self.packages.add(parent)
                parent = parent.rpartition(".")[0]
        self._namespaces: dict[str, Namespace] = {}
        self._asts: dict[str, ast.Module] = {}
        self._lines: dict[str, list[str]] = {}
        self._lock = threading.Lock()
        self.derived: dict[tuple[str, str, str], object] = {}
        """What other modules work out about single files, once: (what, module, detail) -> result."""

    @cached_property
    def digest(self) -> str:
        """Identifies the package's content, wherever it came from."""
        return tree_digest([(path, self.snapshot.blob(path)) for path in sorted(self.modules_at)])

    def _module_of(self, path: str) -> str | None:
        start = f"{self.prefix}{self.package.replace('.', '/')}/"
        if not path.endswith(".py") or not path.startswith(start):
            return None
        dotted = path[len(self.prefix) : -3].replace("/", ".").removesuffix(".__init__")
        return dotted if all(part.isidentifier() for part in dotted.split(".")) else None

    def __contains__(self, module: str) -> bool:
        """True for modules and packages, also those without ``__init__``."""
        return module in self.paths or module in self.packages

    def is_package(self, module: str) -> bool:
        """True when relative imports start at the module itself."""
        return module in self.packages

    def calls(self, module: str) -> tuple[Call, ...]:
        """Call sites of one module."""
        return self._calls[module].calls

    def namespace(self, module: str) -> Namespace:
        """What ``module`` binds; an empty namespace for packages without ``__init__``."""
        found = self._namespaces.get(module)
        if found is None:
            found = self._namespaces[module] = _namespace(self.modules.get(module, Module()))
        return found

    def absolute(self, module: str, imported: Import) -> str:
        """The module that ``imported`` names when it stands in ``module``; '' when it climbs too far."""
        if imported.level == 0:
            return imported.module
        parts = module.split(".")
        drop = imported.level - (1 if self.is_package(module) and module in self.paths else 0)
        if module not in self.paths:
            drop = imported.level - 1
        if drop >= len(parts):
            return ""
        base = parts[: len(parts) - drop]
        return ".".join([*base, imported.module] if imported.module else base)

    def syntax(self, module: str) -> ast.Module:
        """The syntax tree. Raises SyntaxError or ValueError for a file whose record has an error."""
        with self._lock:
            tree = self._asts.get(module)
            if tree is None:
                content = self.snapshot.read(self.paths[module])
                if len(content) > MAX_BYTES:
                    raise ValueError(f"larger than {MAX_BYTES} bytes")
                tree = self._asts[module] = parse(content)
            return tree

    def lines(self, module: str) -> list[str]:
        """Source lines without their ends; line n is at index n - 1."""
        found = self._lines.get(module)
        if found is None:
            text = self.snapshot.read(self.paths[module]).decode("utf-8", "replace")
            found = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            self._lines[module] = found
        return found

    def functions(self) -> Iterator[tuple[str, Function]]:
        """Every (module, function)."""
        for module in sorted(self.modules):
            for function in self.modules[module].functions:
                yield module, function

    def classes(self) -> Iterator[tuple[str, Class]]:
        """Every (module, class)."""
        for module in sorted(self.modules):
            for cls in self.modules[module].classes:
                yield module, cls

    # ---- indices over the whole tree ----

    @cached_property
    def defined(self) -> dict[str, tuple[str, ...]]:
        """Top-level def, class or value name -> modules that define (not import) it."""
        out: dict[str, set[str]] = defaultdict(set)
        for module, record in self.modules.items():
            for function in record.functions:
                if not function.in_class and not function.in_function:
                    out[function.qualname].add(module)
            for cls in record.classes:
                if "." not in cls.qualname:
                    out[cls.qualname].add(module)
            for assign in record.assigns:
                out[assign.name].add(module)
        return {name: tuple(sorted(modules)) for name, modules in out.items()}

    @cached_property
    def attr_stores(self) -> frozenset[str]:
        """Attribute names that any module stores on an object other than self."""
        return frozenset(name for record in self.modules.values() for name in record.attr_stores)

    @cached_property
    def attr_reads(self) -> frozenset[str]:
        """Attribute names that any module uses, on whatever object."""
        return frozenset(name for record in self.modules.values() for name in record.attr_reads.split())

    @cached_property
    def attributes(self) -> frozenset[str]:
        """Every name that something in this tree has as an attribute, however it got there."""
        names = set(self.attr_stores)
        for module, record in self.modules.items():
            names.update(f.qualname.rpartition(".")[2] for f in record.functions)
            names.update(c.qualname.rpartition(".")[2] for c in record.classes)
            names.update(a.name for a in record.assigns)
            names.update(i.bound for i in record.imports)
            names.update(w.attr for f in record.functions for w in f.self_writes)
            names.update(a.name for c in record.classes for a in c.assigns)
            names.update(record.getattr_names or ())
            names.add(module.rpartition(".")[2])
        return frozenset(names)

    @cached_property
    def subclasses(self) -> dict[str, tuple[tuple[str, Class], ...]]:
        """Last part of a base's name, as written -> (module, class) pairs that have it."""
        out: dict[str, list[tuple[str, Class]]] = defaultdict(list)
        for module, cls in self.classes():
            for base in cls.bases:
                out[base.partition("[")[0].rpartition(".")[2]].append((module, cls))
        return {name: tuple(found) for name, found in out.items()}

    @cached_property
    def calls_by_name(self) -> dict[str, tuple[tuple[str, Call], ...]]:
        """Last part of the callee -> (module, call) pairs."""
        out: dict[str, list[tuple[str, Call]]] = defaultdict(list)
        for module in sorted(self._calls):
            for call in self._calls[module].calls:
                out[call.callee.rpartition(".")[2]].append((module, call))
        return {name: tuple(calls) for name, calls in out.items()}

    @cached_property
    def importers(self) -> dict[tuple[str, str], tuple[tuple[str, Import], ...]]:
        """(module, name) of a from-import -> who has it at module level or in a function."""
        out: dict[tuple[str, str], list[tuple[str, Import]]] = defaultdict(list)
        for module in sorted(self.modules):
            for imported in self.modules[module].imports:
                out[(self.absolute(module, imported), imported.name)].append((module, imported))
        return {key: tuple(sites) for key, sites in out.items()}


def read_together(
    packages: Iterable[tuple[Snapshot, str]], cache: CodeCache, progress: Progress | None = None
) -> None:
    """Read the files of several (snapshot, package) at once, so that the trees made of them find ``cache`` filled.

    Equal files are read once and their records shared. Raises SourceError as :class:`Tree` does.
    """
    readers: dict[str, Callable[[], bytes]] = {}
    for snapshot, package in packages:
        start = f"{_find_package(snapshot, package)}{package.replace('.', '/')}/"
        inside = [p for p in snapshot.paths() if p.startswith(start) and p.endswith(".py")]
        readers |= _readers(snapshot, inside)
    cache.hold(read_records(readers, cache, progress))


def _readers(snapshot: Snapshot, paths: Iterable[str]) -> dict[str, Callable[[], bytes]]:
    return {snapshot.blob(path): partial(snapshot.read, path) for path in paths}


def _find_package(snapshot: Snapshot, package: str) -> str:
    """What stands before the package folder: '' or ``src/`` or another folder."""
    tail = package.replace(".", "/") + "/__init__.py"
    found = [p for p in snapshot.paths() if p == tail or p.endswith("/" + tail)]
    if not found:
        raise SourceError(
            snapshot.identity.label,
            f"holds no package {package} (no {tail})",
            "Check that the path is the root of the project and the profile is the right one.",
            wrong_use=True,
        )
    nearest = min(found, key=lambda p: (p.count("/"), p))
    return nearest[: -len(tail)]


def _namespace(record: Module) -> Namespace:
    grouped: dict[str, list[list[object]]] = {}

    def slot(name: str, index: int) -> list[object]:
        return grouped.setdefault(name, [[], [], [], []])[index]

    space = Namespace()
    for function in record.functions:
        if function.in_function:
            continue
        if function.in_class:
            owner, _, name = function.qualname.rpartition(".")
            _keep(space.methods.setdefault(owner, {}), name, function)
        else:
            slot(function.qualname, 0).append(function)
        _keep(space.functions, function.qualname, function)
    for cls in record.classes:
        if cls.in_function:
            continue
        if "." not in cls.qualname:
            slot(cls.qualname, 1).append(cls)
        _keep(space.classes, cls.qualname, cls)
    for assign in record.assigns:
        slot(assign.name, 2).append(assign)
    stars = []
    for imported in record.imports:
        if imported.scope:
            space.local_imports.setdefault(imported.scope, []).append(imported)
        elif imported.name == "*":
            stars.append(imported)
        else:
            slot(imported.bound, 3).append(imported)
    space.names = {
        name: Bindings(tuple(f), tuple(c), tuple(a), tuple(i))  # type: ignore[arg-type]
        for name, (f, c, a, i) in grouped.items()
    }
    space.stars = tuple(stars)
    return space


def _keep(table: dict[str, Function] | dict[str, Class], name: str, item: Function | Class) -> None:
    """Later definitions replace earlier ones, but an ``@overload`` or a property setter replaces nothing."""
    decorators = {d.rpartition(".")[2] for d in item.decorators}
    if name in table and decorators & {"overload", "setter", "deleter", "getter"}:
        return
    table[name] = item  # type: ignore[assignment]

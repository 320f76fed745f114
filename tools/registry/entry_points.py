"""Entry points that the plugin declares: which of its functions upstream loads, and under which group.

They stand in packaging files outside the package (``pyproject.toml``, ``setup.cfg``, ``setup.py``), which are
read as text and as syntax, never run. A plugin whose files cannot be read gets those of its profile.
"""

from __future__ import annotations

import ast
import configparser
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass

from tools.code.syntax import dotted, parse
from tools.code.tree import Tree
from tools.profiles import Profile
from tools.sources.snapshot import Snapshot

PLATFORM_GROUP = "platform_plugins"
"""Last part of the group whose functions return the class path of a platform."""
GENERAL_GROUP = "general_plugins"
"""Last part of the group whose functions are called in every process."""


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """``name = module:attribute`` in ``group``. ``path`` is '' for what the profile assumes."""

    group: str
    name: str
    target: str
    path: str = ""
    line: int = 1

    @property
    def module(self) -> str:
        """The module that is imported to load it."""
        return self.target.partition(":")[0].strip()

    @property
    def attribute(self) -> str:
        """The dotted name inside the module."""
        return self.target.partition(":")[2].partition("[")[0].strip()

    @property
    def kind(self) -> str:
        """Last part of the group."""
        return self.group.rpartition(".")[2]

    def __str__(self) -> str:
        return f"{self.group}: {self.name} = {self.target}" if self.name else f"{self.group}: {self.target}"


def entry_points(plugin: Tree, profile: Profile) -> tuple[EntryPoint, ...]:
    """Entry points in upstream's groups, in the order in which upstream meets them.

    Build backends write ``entry_points.txt`` sorted by name, and that is the order in which they are loaded.
    """
    found: list[EntryPoint] = []
    for folder in _folders(plugin.prefix):
        for declared in _declared(plugin.snapshot, folder):
            found = [e for e in declared if e.group.startswith(profile.upstream_package + ".")]
            if found:
                break
        if found:
            break
    if not found:
        return _assumed(plugin, profile)
    unique = {(e.group, e.name): e for e in reversed(found)}
    return tuple(unique[key] for key in sorted(unique))


def _assumed(plugin: Tree, profile: Profile) -> tuple[EntryPoint, ...]:
    """Those of the profile; for general ones that the plugin does not define, its ``register_*`` functions."""
    platform = {
        t for g, targets in profile.entry_points.items() if g.endswith(PLATFORM_GROUP) for t in targets
    }
    out: list[EntryPoint] = []
    for group, targets in sorted(profile.entry_points.items()):
        known = list(targets)
        defined = plugin.namespace(plugin.package).functions
        if group.endswith(GENERAL_GROUP) and any(t.partition(":")[2] not in defined for t in targets):
            names = [n for n in defined if n.startswith("register_") and "." not in n]
            known = [
                f"{plugin.package}:{n}" for n in names if f"{plugin.package}:{n}" not in platform
            ] or known
        out += [EntryPoint(group, "", target) for target in known]
    return tuple(out)


def _folders(prefix: str) -> Iterator[str]:
    """The folder that holds the package, then those above it."""
    folder = prefix
    while folder:
        yield folder
        folder = folder.rstrip("/").rpartition("/")[0]
        folder = folder + "/" if folder else ""
    yield ""


def _declared(snapshot: Snapshot, folder: str) -> Iterator[list[EntryPoint]]:
    """What each file declares. A static table in pyproject.toml is in force whatever setup.py says."""
    paths = set(snapshot.paths())
    for name, reader in (("pyproject.toml", _pyproject), ("setup.cfg", _setup_cfg), ("setup.py", _setup_py)):
        path = folder + name
        if path in paths:
            yield list(reader(path, snapshot.read(path)))


def _line_of(lines: list[str], after: str, name: str) -> int:
    """Line of ``name = …`` behind the first line that holds ``after``; 1 where it is not found."""
    start = next((i for i, text in enumerate(lines) if after in text), 0)
    pattern = re.compile(rf"[\"'\s{{,]*{re.escape(name)}[\"']?\s*=")
    for index in range(start, len(lines)):
        if pattern.match(lines[index]) or (after in lines[index] and pattern.search(lines[index])):
            return index + 1
    return start + 1


def _pyproject(path: str, content: bytes) -> Iterator[EntryPoint]:
    text = content.decode("utf-8", "replace")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    lines = text.splitlines()
    project = data.get("project")
    poetry = data.get("tool", {}).get("poetry") if isinstance(data.get("tool"), dict) else None
    for table in (
        project.get("entry-points") if isinstance(project, dict) else None,
        poetry.get("plugins") if isinstance(poetry, dict) else None,
    ):
        if not isinstance(table, dict):
            continue
        for group, entries in table.items():
            if not isinstance(entries, dict):
                continue
            for name, target in entries.items():
                if isinstance(target, str):
                    yield EntryPoint(group, name, target.strip(), path, _line_of(lines, group, name))


def _ini(path: str, text: str, section: str, first_line: int = 1) -> Iterator[EntryPoint]:
    """Groups in INI form: options of ``section``, or sections of their own when it is ''."""
    parser = configparser.ConfigParser(delimiters=("=",), interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(text)
    except configparser.Error:
        return
    lines = text.splitlines()
    groups: dict[str, list[str]] = {}
    if section:
        if parser.has_section(section):
            groups = {k: v.splitlines() for k, v in parser.items(section)}
    else:
        groups = {s: [f"{k} = {v}" for k, v in parser.items(s)] for s in parser.sections()}
    for group, entries in groups.items():
        for entry in entries:
            name, separator, target = (part.strip() for part in entry.partition("="))
            if separator and target:
                line = _line_of(lines, group, name) + first_line - 1
                yield EntryPoint(group, name, target, path, line)


def _setup_cfg(path: str, content: bytes) -> Iterator[EntryPoint]:
    yield from _ini(path, content.decode("utf-8", "replace"), "options.entry_points")


def _setup_py(path: str, content: bytes) -> Iterator[EntryPoint]:
    try:
        tree = parse(content)
    except (SyntaxError, ValueError):
        return
    names = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == "setup":
            for keyword in node.keywords:
                if keyword.arg == "entry_points":
                    yield from _literal(path, keyword.value, names)
                elif keyword.arg is None and isinstance(options := _look_up(keyword.value, names), ast.Dict):
                    for key, value in zip(options.keys, options.values, strict=True):
                        if _text(key, names) == "entry_points":
                            yield from _literal(path, value, names)


def _look_up(node: ast.expr | None, names: dict[str, ast.expr]) -> ast.expr | None:
    seen: set[str] = set()
    while isinstance(node, ast.Name) and node.id in names and node.id not in seen:
        seen.add(node.id)
        node = names[node.id]
    return node


def _text(node: ast.expr | None, names: dict[str, ast.expr]) -> str | None:
    node = _look_up(node, names)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _literal(path: str, value: ast.expr, names: dict[str, ast.expr]) -> Iterator[EntryPoint]:
    found = _look_up(value, names)
    if (text := _text(found, names)) is not None:
        yield from _ini(path, text, "", found.lineno if found is not None else 1)
    if not isinstance(found, ast.Dict):
        return
    for key, entries in zip(found.keys, found.values, strict=True):
        group = _text(key, names)
        listed = _look_up(entries, names)
        elements = listed.elts if isinstance(listed, ast.List | ast.Tuple) else [entries]
        for element in elements:
            name, separator, target = (part.strip() for part in (_text(element, names) or "").partition("="))
            if group and separator and target:
                yield EntryPoint(group, name, target, path, element.lineno)

"""The version that a copy was really taken from: an earlier one of its original, where that is clearly nearer.

Maintainers do not carry every release into every copy. A copy that stands at an earlier version is merged from there,
or the changes in between would be taken for the plugin's own and stay away for good.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from tools.merge.text import Source, read_source
from tools.sources.gitcmd import Blobs, GitFailed, git_text

_CLEARLY = 0.5
"""Share of base's distance that an earlier version may have at most."""
_LEAST = 2
"""Statements. Nearer by less is chance."""
_LOOKED_AT = 4
"""Versions that are compared as syntax, the nearest by their lines first."""
_VERSIONS = 24
"""Of one file, the newest first."""
_COMMITS = 2000
"""That touch any of the files; about a year."""


@dataclass(frozen=True)
class Version:
    """One earlier text of an upstream symbol."""

    revision: str
    text: str


class History(Protocol):
    """Where earlier versions come from."""

    def expect(self, paths: Iterable[str]) -> None:
        """Upstream files that will be asked for; looked up together, which is much faster than one by one."""

    def versions(self, path: str, name: str) -> Iterable[Version]:
        """Distinct texts of ``name`` in the upstream file ``path``, newest first."""


class GitHistory:
    """Versions from a clone of upstream, at ``revision`` (of base) and before."""

    def __init__(self, folder: Path, revision: str) -> None:
        self._folder, self._revision, self._blobs = folder, revision, Blobs(folder)
        self._log: dict[str, list[tuple[str, str]]] = {}
        self._files: dict[str, list[tuple[str, Source]]] = {}

    def expect(self, paths: Iterable[str]) -> None:
        """As :class:`History`. What git does not know has no versions."""
        wanted = sorted(p for p in set(paths) if p not in self._log)
        self._log.update({path: [] for path in wanted})
        if not wanted:
            return
        try:
            log = git_text(
                self._folder, "log", "--first-parent", f"-n{_COMMITS}", "--format=%H", "--raw",
                "--no-abbrev", "--no-renames", self._revision, "--", *wanted,
            )  # fmt: skip
        except GitFailed:
            return
        revision = ""
        for line in log.splitlines():
            if line.startswith(":"):
                head, _, path = line.partition("\t")
                known = self._log.get(path)
                if known is not None and len(known) < _VERSIONS:
                    known.append((revision, head.split()[3]))
            elif line:
                revision = line

    def versions(self, path: str, name: str) -> Iterable[Version]:
        """As :class:`History`."""
        if path not in self._files:
            self.expect([path])
            self._files[path] = list(self._read(path))
        seen: dict[str, Version] = {}
        for revision, source in self._files[path]:
            if name in source.spans:
                text = source.text(name)
                seen.setdefault(text, Version(revision, text))
        return tuple(seen.values())

    def _read(self, path: str) -> Iterator[tuple[str, Source]]:
        for revision, blob in self._log[path]:
            content = self._blobs.read(blob)
            source = read_source(content) if content is not None else None
            if source is not None:
                # Of some thousand versions only the text is of use.
                yield revision, replace(source, tree=ast.Module(body=[], type_ignores=[]), nodes={})


def nearest(own: str, base: str, versions: Callable[[], Iterable[Version]]) -> Version | None:
    """The version that ``own`` was copied from; None when that is base, as far as one can tell."""
    mine = _statements(own)
    limit = _distance(mine, _statements(base))
    if limit < _LEAST:
        return None
    lines = _lines(own)
    closest = sorted(versions(), key=lambda v: _distance(lines, _lines(v.text)))[:_LOOKED_AT]
    best: tuple[int, Version] | None = None
    for version in closest:
        distance = _distance(mine, _statements(version.text))
        near = distance <= _CLEARLY * limit and limit - distance >= _LEAST
        if near and (best is None or distance < best[0]):
            best = distance, version
    return best[1] if best is not None else None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _distance(one: list[str], two: list[str]) -> int:
    first, second = Counter(one), Counter(two)
    return ((first - second) + (second - first)).total()


def _statements(text: str) -> list[str]:
    node: ast.stmt = ast.parse(f"if 1:\n{text}" if text[:1].isspace() else text).body[0]
    node = node.body[0] if isinstance(node, ast.If) else node
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            inner, clean=False
        ):
            inner.body = inner.body[1:] or [ast.Pass()]
    return [line.strip() for line in ast.unparse(node).splitlines()]

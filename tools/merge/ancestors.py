"""The version that a copy was really taken from: an earlier one of its original, where that is clearly nearer.

Maintainers do not carry every release into every copy. A copy that stands at an earlier version is merged from there,
or the changes in between would be taken for the plugin's own and stay away for good.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tools.merge.text import Source, read_source
from tools.sources.gitcmd import Blobs, GitFailed, git_text

_CLEARLY = 0.5
"""Share of base's distance that an earlier version may have at most."""
_LEAST = 2
"""Statements. Nearer by less is chance."""
_VERSIONS = 24
"""Of one file, the newest first."""


@dataclass(frozen=True)
class Version:
    """One earlier text of an upstream symbol."""

    revision: str
    text: str


class History(Protocol):
    """Where earlier versions come from."""

    def versions(self, path: str, name: str) -> Iterable[Version]:
        """Distinct texts of ``name`` in the upstream file ``path``, newest first."""


class GitHistory:
    """Versions from a clone of upstream, at ``revision`` (of base) and before."""

    def __init__(self, folder: Path, revision: str) -> None:
        self._folder, self._revision, self._blobs = folder, revision, Blobs(folder)
        self._files = lru_cache(maxsize=512)(self._read)

    def versions(self, path: str, name: str) -> Iterable[Version]:
        """As :class:`History`. A file that git does not know has none."""
        seen: dict[str, Version] = {}
        for revision, source in self._files(path):
            if source is not None and name in source.spans:
                text = source.text(name)
                seen.setdefault(text, Version(revision, text))
        return tuple(seen.values())

    def _read(self, path: str) -> list[tuple[str, Source | None]]:
        try:
            log = git_text(
                self._folder, "log", "--first-parent", f"-n{_VERSIONS}", "--format=%H", "--raw",
                "--no-abbrev", "--no-renames", self._revision, "--", path,
            )  # fmt: skip
        except GitFailed:
            return []
        found: list[tuple[str, Source | None]] = []
        revision = ""
        for line in log.splitlines():
            if line.startswith(":"):
                content = self._blobs.read(line.split()[3])
                if content is not None:
                    found.append((revision, read_source(content)))
            elif line:
                revision = line
        return found


def nearest(own: str, base: str, versions: Iterable[Version]) -> Version | None:
    """The version that ``own`` was copied from; None when that is base, as far as one can tell."""
    mine = _statements(own)
    limit = _distance(mine, _statements(base))
    best: tuple[int, Version] | None = None
    for version in versions if limit else ():
        distance = _distance(mine, _statements(version.text))
        if (
            distance <= _CLEARLY * limit
            and limit - distance >= _LEAST
            and (best is None or distance < best[0])
        ):
            best = distance, version
    return best[1] if best is not None else None


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

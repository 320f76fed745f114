"""Rules that every kind of source shares: what is left out, where links lead, how a listed tree answers."""

from __future__ import annotations

import posixpath
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence

from tools.findings import Identity
from tools.sources.snapshot import Skipped, Snapshot, SourceError, is_plain_path

LARGE = 4 * 1024 * 1024
"""Bytes beyond which a file that is not Python stays out: weights, images and wheels hold no symbols."""

PYTHON = (".py", ".pyi")

IGNORED_FOLDERS = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        "__pycache__",
        ".venv",
        "node_modules",
        ".mypy_cache",
        ".ruff_cache",
        ".pytest_cache",
    }
)
"""Names of folders that plain folders and installed packages are listed without."""

_HOPS = 40
"""Links followed one after another before it is called a loop, as the kernel does."""


def reason_to_skip(path: str, size: int) -> str | None:
    """Why a regular file of ``size`` bytes is not part of a view, or None when it is.

    The rule is one for all sources, so that equal trees have equal digests however they were obtained.
    """
    if not is_plain_path(path):
        return "its path is absolute or leaves the tree"
    if size > LARGE and not path.endswith(PYTHON):
        return f"larger than {LARGE >> 20} MiB and not Python ({size} bytes)"
    return None


def follow(
    link: str, links: Mapping[str, str], files: Collection[str], folders: Collection[str]
) -> str | Skipped:
    """The file of ``files`` that ``link`` leads to, or why it leads to none.

    ``links`` maps each link of the tree to its target as written. Pure string work, so that it answers alike
    for a revision, an archive and a folder, and no link is ever followed by the operating system.
    """
    pending, current, hops = link.split("/"), "", 0
    while pending:
        part = pending.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            if not current:
                return Skipped(link, f"a link out of the tree ({links[link]})")
            current = posixpath.dirname(current)
            continue
        current = f"{current}/{part}" if current else part
        target = links.get(current)
        if target is None:
            continue
        hops += 1
        if hops > _HOPS:
            return Skipped(link, f"a link that leads back to itself ({links[link]})")
        if target.startswith("/"):
            return Skipped(link, f"a link out of the tree ({links[link]})")
        pending[:0] = target.split("/")
        current = posixpath.dirname(current)
    if current in files:
        return current
    if not current or current in folders:
        return Skipped(link, f"a link to a folder ({links[link]}); the files count where they lie")
    return Skipped(link, f"a link to what is not part of the view ({links[link]})")


def parents(paths: Collection[str]) -> set[str]:
    """Every folder that holds one of ``paths``, at any depth."""
    folders: set[str] = set()
    for path in paths:
        while (path := posixpath.dirname(path)) and path not in folders:
            folders.add(path)
    return folders


class Listed(Snapshot):
    """A snapshot whose files were all listed when it was opened: path -> blob id."""

    def __init__(self, identity: Identity, blobs: Mapping[str, str], skipped: Sequence[Skipped]) -> None:
        self._identity = identity
        self._blobs = dict(sorted(blobs.items()))
        self._skipped = tuple(sorted(skipped, key=lambda item: item.path))

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def skipped(self) -> Sequence[Skipped]:
        return self._skipped

    def paths(self) -> Sequence[str]:
        return tuple(self._blobs)

    def blob(self, path: str) -> str:
        try:
            return self._blobs[path]
        except KeyError:
            raise self._missing(path) from None

    def read(self, path: str) -> bytes:
        if path not in self._blobs:
            raise self._missing(path)
        return self._content(path)

    @abstractmethod
    def _content(self, path: str) -> bytes:
        """Content of a path that was listed. Raises SourceError."""

    def _missing(self, path: str) -> SourceError:
        why = next((f"left out: {s.reason}" for s in self._skipped if s.path == path), "no such file in it")
        return SourceError(f"{path} of {self._identity.label}", why, "Check the path.")

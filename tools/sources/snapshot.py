"""An immutable view of one source tree: path -> bytes, with an identity."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tools.findings import Identity


class SourceError(Exception):
    """A tree or file that was needed and could not be had.

    ``what`` names it, ``why`` says what went wrong, ``remedy`` what the user can do. ``wrong_use`` is true
    when the specification itself is at fault (exit status 2), false when reading failed (exit status 3).
    """

    def __init__(self, what: str, why: str, remedy: str, *, wrong_use: bool = False) -> None:
        super().__init__(f"{what}: {why}. {remedy}")
        self.what, self.why, self.remedy, self.wrong_use = what, why, remedy, wrong_use


@dataclass(frozen=True)
class Skipped:
    """A file of the tree that is not part of the view, and why (a link out of the tree, a submodule …)."""

    path: str
    reason: str


class Snapshot(ABC):
    """What every kind of source answers. Paths are posix, relative to the source root, sorted."""

    @property
    @abstractmethod
    def identity(self) -> Identity:
        """Which tree this is."""

    @property
    @abstractmethod
    def skipped(self) -> Sequence[Skipped]:
        """Files left out, with the reason."""

    @abstractmethod
    def paths(self) -> Sequence[str]:
        """Every regular file of the view."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """Content of ``path``. Raises SourceError when it is missing, unreadable, or changed since."""

    @abstractmethod
    def blob(self, path: str) -> str:
        """Git blob id of ``path``: equal content has equal ids in every kind of source."""

    @property
    def root(self) -> Path | None:
        """The folder where exactly these files lie unmodified and stay so, or None.

        Only sources that nobody edits have one (a release in the cache); whoever needs files on disk for any
        other source takes :meth:`materialize`, so that a tool never works inside the tree under review.
        """
        return None

    def materialize(self, dest: Path, prefix: str = "", *, suffixes: tuple[str, ...] = ()) -> Path:
        """Write the files below ``prefix`` ('' for all) to ``dest``, each at its own path; returns ``dest``.

        ``suffixes`` keeps only names that end so. Raises SourceError when a file cannot be read or written,
        or when a path of the snapshot would leave ``dest``.
        """
        prefix = prefix.strip("/")
        made: set[Path] = set()
        for path in self.paths():
            if prefix and path != prefix and not path.startswith(prefix + "/"):
                continue
            if suffixes and not path.endswith(suffixes):
                continue
            if not is_plain_path(path):
                raise SourceError(
                    f"path {path!r}", "its path would leave the folder it is written to", "Remove the file."
                )
            target = dest / path
            content = self.read(path)
            try:
                if target.parent not in made:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    made.add(target.parent)
                # Exclusive: nothing that lies at dest already, a link above all, is ever written through.
                with target.open("xb") as stream:
                    stream.write(content)
            except OSError as error:
                raise SourceError(
                    str(target),
                    f"could not be written ({os.strerror(error.errno or 0)})",
                    "Give a folder that can be written and has room.",
                ) from error
        return dest


def is_plain_path(path: str) -> bool:
    """Whether ``path`` is relative, normalised and free of ``..``: safe to join to a folder."""
    return bool(path) and "\0" not in path and str(PurePosixPath(path)) == path and _inside(path)


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/") and path != "."


def blob_id(content: bytes) -> str:
    """The id git gives to ``content``."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def tree_digest(entries: Sequence[tuple[str, str]]) -> str:
    """sha256 over (path, blob id) pairs, which must be sorted by path."""
    digest = hashlib.sha256()
    for path, blob in entries:
        digest.update(f"{path}\0{blob}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class MemorySnapshot(Snapshot):
    """A tree held in memory: for edits not yet written (overlays) and for tests."""

    def __init__(
        self, files: dict[str, bytes | str], label: str = "memory", version: str | None = None
    ) -> None:
        self._files = {
            path: content.encode() if isinstance(content, str) else content
            for path, content in sorted(files.items())
        }
        self._blobs = {path: blob_id(content) for path, content in self._files.items()}
        self._identity = Identity(
            kind="memory", label=label, version=version, digest=tree_digest(list(self._blobs.items()))
        )

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def skipped(self) -> Sequence[Skipped]:
        return ()

    def paths(self) -> Sequence[str]:
        return tuple(self._files)

    def read(self, path: str) -> bytes:
        try:
            return self._files[path]
        except KeyError:
            raise SourceError(path, "no such file in this snapshot", "Check the path.") from None

    def blob(self, path: str) -> str:
        return self._blobs[path]

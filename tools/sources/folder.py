"""Files on disk: a plain folder, and what worktrees and installed packages share with it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tools.findings import Identity
from tools.sources.listing import IGNORED_FOLDERS, Listed, follow, parents, reason_to_skip
from tools.sources.snapshot import Skipped, SourceError, blob_id, tree_digest

UNREADABLE = "unreadable"
"""Stands for the blob id, in the digest only, of a listed file that cannot be read."""

Progress = Callable[[str, int, int | None], None]
"""Told what is being done, how much is done, and of how much if that is known."""


class DiskSnapshot(Listed):
    """Files on disk as they were when listed; a file that changed since then cannot be read."""

    def __init__(
        self,
        identity: Identity,
        blobs: Mapping[str, str],
        skipped: Sequence[Skipped],
        places: Mapping[str, Path],
    ) -> None:
        super().__init__(identity, blobs, skipped)
        self._places = dict(places)

    def place(self, path: str) -> Path:
        """Where the listed ``path`` lies on disk. Raises SourceError for what is not part of the view."""
        super().blob(path)
        return self._places[path]

    def blob(self, path: str) -> str:
        blob = super().blob(path)
        if blob == UNREADABLE:
            read_regular(self._places[path])
            raise self._changed(path)
        return blob

    def _content(self, path: str) -> bytes:
        content = read_regular(self._places[path])
        if blob_id(content) != self._blobs[path]:
            raise self._changed(path)
        return content

    def _changed(self, path: str) -> SourceError:
        return SourceError(
            str(self._places[path]),
            "changed while being read",
            "Run again once nothing writes to the tree, or review a commit or the index.",
        )


def read_regular(place: Path) -> bytes:
    """Content of a regular file. Raises SourceError naming it when it is gone, unreadable or something else.

    Neither a link nor a pipe that took the place of the file is opened.
    """
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            info = os.fstat(handle)
            if not stat.S_ISREG(info.st_mode):
                raise SourceError(str(place), "is not a regular file", "Put the file back, or remove it.")
            parts = []
            while part := os.read(handle, max(info.st_size + 1, 65536)):
                parts.append(part)
        finally:
            os.close(handle)
    except OSError as error:
        why = f"cannot be read ({os.strerror(error.errno or 0)})"
        raise SourceError(str(place), why, "Check that it exists and its permissions.") from error
    return b"".join(parts)


def listed_files(
    places: Mapping[str, Path], top: Path
) -> tuple[dict[str, str], dict[str, Path], list[Skipped]]:
    """Blob ids, places and what is left out, of what lies at ``places`` (path in the view -> on disk).

    What vanished meanwhile is absent. Links are followed only to files that are listed too; one with an
    absolute target below ``top``, the folder of the tree, counts as a relative one.
    """
    blobs: dict[str, str] = {}
    found: dict[str, Path] = {}
    links: dict[str, str] = {}
    skipped: list[Skipped] = []
    for path, place in places.items():
        try:
            info = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(info.st_mode):
            target = str(place.readlink())
            if target.startswith(f"{top}/"):
                target = os.path.relpath(target, place.parent)
            links[path] = target
        elif not stat.S_ISREG(info.st_mode):
            skipped.append(Skipped(path, "not a regular file"))
        elif reason := reason_to_skip(path, info.st_size):
            skipped.append(Skipped(path, reason))
        else:
            try:
                blobs[path] = blob_id(read_regular(place))
            except SourceError:
                blobs[path] = UNREADABLE
            found[path] = place
    folders = parents(blobs) if links else set()
    for link, goal in {link: follow(link, links, found, folders) for link in links}.items():
        if isinstance(goal, Skipped):
            skipped.append(goal)
        else:
            blobs[link], found[link] = blobs[goal], found[goal]
    return blobs, found, skipped


def walk(top: Path, base: str = "") -> Iterable[tuple[str, Path]]:
    """(path, place) of every file and link below ``top``, without VCS and cache folders.

    ``base`` is put before each path. Links to folders are yielded, not entered. Raises SourceError for a
    folder that cannot be listed.
    """
    stack = [(top, base)]
    while stack:
        folder, prefix = stack.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    path = f"{prefix}/{entry.name}" if prefix else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in IGNORED_FOLDERS:
                            stack.append((Path(entry.path), path))
                    elif entry.name not in IGNORED_FOLDERS:
                        yield path, Path(entry.path)
        except OSError as error:
            why = f"the folder cannot be listed ({os.strerror(error.errno or 0)})"
            raise SourceError(str(folder), why, "Check that it exists and its permissions.") from error


def open_folder(folder: Path, label: str) -> DiskSnapshot:
    """The plain folder ``folder``. Raises SourceError when it cannot be listed or has no files."""
    blobs, places, skipped = listed_files(dict(walk(folder)), folder)
    if not blobs and not skipped:
        raise SourceError(label, "has no files", "Check the path.")
    identity = Identity(kind="folder", label=label, digest=tree_digest(sorted(blobs.items())))
    return DiskSnapshot(identity, blobs, skipped, places)

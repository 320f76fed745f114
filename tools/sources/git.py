"""Trees that git holds: a revision, the index, the worktree."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.findings import Identity
from tools.sources.folder import DiskSnapshot, listed_files, read_regular
from tools.sources.gitcmd import Blobs, GitFailed, git, git_text
from tools.sources.listing import PYTHON, Listed, follow, parents, reason_to_skip
from tools.sources.repository import (
    Repository,
    broken,
    commit_of,
    empty,
    lacking,
    need_worktree,
    no_such_revision,
)
from tools.sources.snapshot import Skipped, SourceError, blob_id, is_plain_path, tree_digest

_LINK, _SUBMODULE = "120000", "160000"
_SHA1_DIGITS = 40


@dataclass(frozen=True)
class _Entry:
    mode: str
    blob: str
    path: str
    sparse: bool = False
    """True for a file that a sparse checkout leaves out of the worktree."""


def open_revision(repository: Repository, revision: str, label: str) -> Listed:
    """The tree of ``revision`` below the repository's folder.

    Raises SourceError when the revision does not exist, saying which names come close, or that the clone is
    shallow, or that there are no commits.
    """
    commit = commit_of(repository.folder, revision)
    if commit is None:
        raise no_such_revision(repository, revision)
    try:
        listing = git_text(repository.folder, "ls-tree", "-r", "-z", commit)
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure
    entries = [_tree_entry(row) for row in listing.split("\0") if row]
    if not entries:
        raise SourceError(label, "has no files in that revision", "Check the path and the revision.")
    return _from_blobs(
        repository, entries, Identity(kind="revision", label=label, revision=commit, digest="")
    )


def open_index(repository: Repository, label: str) -> Listed:
    """What is staged. Raises SourceError when a merge is unfinished or nothing was ever added."""
    need_worktree(repository, label)
    entries = list(_index_entries(repository))
    if not entries:
        raise (
            empty(label)
            if repository.head is None
            else SourceError(
                label,
                "the index is empty: every file is staged as removed",
                "Review the worktree or a revision.",
            )
        )
    dirty = _staged(repository)
    identity = Identity(kind="index", label=label, revision=repository.head, dirty=dirty, digest="")
    return _from_blobs(repository, entries, identity)


def open_worktree(repository: Repository, label: str) -> DiskSnapshot:
    """Files on disk: the tracked ones and those that are neither tracked nor ignored.

    Raises SourceError when a merge is unfinished in the index or there is nothing at all to read.
    """
    need_worktree(repository, label)
    folder = repository.folder
    tracked = {entry.path: entry for entry in _index_entries(repository, unmerged=True)}
    try:
        listing = git_text(folder, "ls-files", "-z", "--others", "--exclude-standard")
    except GitFailed as failure:
        raise broken(folder, failure) from failure
    untracked = [path for path in listing.split("\0") if path]
    skipped = [Skipped(p.rstrip("/"), "a repository of its own") for p in untracked if p.endswith("/")]
    skipped += [Skipped(e.path, "a submodule") for e in tracked.values() if e.mode == _SUBMODULE]
    files = {path for path in untracked if not path.endswith("/")}
    files |= {entry.path for entry in tracked.values() if entry.mode != _SUBMODULE}
    behind_links = _behind_links(folder, files)
    skipped += [Skipped(path, "a folder on its path is a link") for path in behind_links]
    places = {path: folder / path for path in files - behind_links if is_plain_path(path)}
    blobs, found, left_out = listed_files(places, folder)
    known = set(blobs) | {item.path for item in left_out}
    sparse = {entry.path for entry in tracked.values() if entry.sparse} - known
    source = Blobs(folder)
    skipped += [*left_out, *(Skipped(path, "left out by a sparse checkout") for path in sparse)]
    if not blobs and not skipped and repository.head is None:
        raise empty(label)
    dirty = (
        bool(untracked)
        or _staged(repository)
        or any(_differs(repository, entry, blobs, source) for entry in tracked.values())
    )
    digest = tree_digest(sorted(blobs.items()))
    identity = Identity(kind="worktree", label=label, revision=repository.head, dirty=dirty, digest=digest)
    return DiskSnapshot(identity, blobs, skipped, found)


class _BlobSnapshot(Listed):
    """A tree whose contents are read from the repository, by blob id, when they are asked for."""

    def __init__(
        self,
        identity: Identity,
        blobs: Mapping[str, str],
        skipped: Sequence[Skipped],
        objects: Mapping[str, str],
        source: Blobs,
    ) -> None:
        super().__init__(identity, blobs, skipped)
        self._objects, self._source = dict(objects), source

    def _content(self, path: str) -> bytes:
        content = self._source.read(self._objects[path])
        if content is None:
            raise lacking(f"{path} of {self._identity.label}")
        return content


def _from_blobs(repository: Repository, entries: Sequence[_Entry], identity: Identity) -> _BlobSnapshot:
    source = Blobs(repository.folder)
    objects: dict[str, str] = {}
    links: dict[str, str] = {}
    skipped: list[Skipped] = []
    files = [entry for entry in entries if entry.mode not in (_SUBMODULE, _LINK)]
    sizes = _sizes(repository, sorted({e.blob for e in files if not e.path.endswith(PYTHON)}))
    for entry in entries:
        if entry.mode == _SUBMODULE:
            skipped.append(Skipped(entry.path, "a submodule"))
        elif entry.mode == _LINK:
            target = source.read(entry.blob)
            if target is None:
                raise lacking(f"{entry.path} of {identity.label}")
            links[entry.path] = target.decode("utf-8", "surrogateescape")
        elif reason := reason_to_skip(entry.path, sizes.get(entry.blob, 0)):
            skipped.append(Skipped(entry.path, reason))
        else:
            objects[entry.path] = entry.blob
    folders = parents(objects) if links else set()
    followed = {link: follow(link, links, objects, folders) for link in links}
    skipped += [target for target in followed.values() if isinstance(target, Skipped)]
    objects |= {link: objects[target] for link, target in followed.items() if isinstance(target, str)}
    blobs = objects
    if any(len(blob) != _SHA1_DIGITS for blob in objects.values()):
        # A sha256 repository: its own ids would never equal those of any other source.
        blobs = {path: blob_id(source.read(blob) or b"") for path, blob in objects.items()}
    identity = identity.model_copy(update={"digest": tree_digest(sorted(blobs.items()))})
    return _BlobSnapshot(identity, blobs, skipped, objects, source)


def _tree_entry(row: str) -> _Entry:
    about, path = row.split("\t", 1)
    mode, _, blob = about.split()
    return _Entry(mode, blob, path)


def _index_entries(repository: Repository, *, unmerged: bool = False) -> Iterator[_Entry]:
    """Entries of the index below the folder; ``unmerged`` lets those of an unfinished merge pass."""
    try:
        listing = git_text(repository.folder, "ls-files", "-s", "-t", "-z")
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure
    conflicts: list[str] = []
    for row in listing.split("\0"):
        if not row:
            continue
        about, path = row.split("\t", 1)
        tag, mode, blob, stage = about.split()
        if stage != "0" and path not in conflicts:
            conflicts.append(path)
        yield _Entry(mode, blob, path, sparse=tag == "S")
    if conflicts and not unmerged:
        shown = ", ".join(conflicts[:3]) + (" …" if len(conflicts) > 3 else "")
        raise SourceError(
            f"index of {repository.folder}",
            f"holds {len(conflicts)} unmerged files ({shown})",
            "Finish or abort the merge, or review the worktree or a revision.",
        )


def _sizes(repository: Repository, blobs: Sequence[str]) -> dict[str, int]:
    """Sizes of those ``blobs`` that the repository has; a partial clone lacks some."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    try:
        answer = git_text(
            repository.folder, "cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked
        )
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure
    rows = (row.split() for row in answer.splitlines())
    return {row[0]: int(row[1]) for row in rows if row[1].isdigit()}


def _behind_links(folder: Path, files: Collection[str]) -> set[str]:
    """Those of ``files`` below a folder that is a link now: git counts them as gone, and so do we."""
    linked = {parent for parent in parents(files) if (folder / parent).is_symlink()}
    if not linked:
        return set()
    return {path for path in files if any(path.startswith(parent + "/") for parent in linked)}


def _differs(repository: Repository, entry: _Entry, blobs: Mapping[str, str], source: Blobs) -> bool:
    """Whether a tracked file on disk is not the one in the index, line ends apart.

    To compare, git would run the repository's filters. A checkout with CRLF line ends is not a change.
    """
    place = repository.folder / entry.path
    try:
        info = place.lstat()
        if entry.sparse or entry.mode == _SUBMODULE:
            return False
        if stat.S_ISLNK(info.st_mode) != (entry.mode == _LINK):
            return True
        if entry.mode == _LINK:
            return source.read(entry.blob) != os.fsencode(place.readlink())
    except (FileNotFoundError, NotADirectoryError):
        return not entry.sparse and entry.mode != _SUBMODULE
    except OSError:
        return True
    if blobs.get(entry.path) == entry.blob:
        return False
    staged = source.read(entry.blob)
    if staged is None or not stat.S_ISREG(info.st_mode):
        return True
    try:
        return read_regular(place).replace(b"\r\n", b"\n") != staged.replace(b"\r\n", b"\n")
    except SourceError:
        return True


def _staged(repository: Repository) -> bool:
    """Whether the index differs from the commit; compares ids alone, so that no filter is ever run."""
    if repository.head is None:
        return True
    try:
        git(
            repository.folder,
            "diff-index",
            "--cached",
            "--quiet",
            "--no-ext-diff",
            repository.head,
            "--",
            ".",
        )
    except GitFailed as failure:
        if failure.status == 1:
            return True
        raise broken(repository.folder, failure) from failure
    return False

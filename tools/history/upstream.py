"""The range as a whole: its commits in order, and what each changes in the files that matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tools.code.reading import Progress, no_collector
from tools.history.gitlog import count_of, range_of, read_commits
from tools.history.places import module_of
from tools.history.records import NO_BLOB, Commit, FileChange
from tools.history.store import HistoryStore
from tools.history.symbols import DeltaReader, FileDelta
from tools.sources.gitcmd import Blobs
from tools.sources.repository import Repository
from tools.sources.snapshot import SourceError

_AT_ONCE = 200
"""Deltas that are kept together."""


@dataclass
class Range:
    """Everything that ``target`` has and ``base`` has not, oldest first."""

    repository: Repository
    base: str
    target: str
    commits: tuple[Commit, ...]
    beside: tuple[Commit, ...]
    """What ``base`` has and ``target`` has not: commits of a release branch, often picked from the range."""
    package: str
    store: HistoryStore
    _reader: DeltaReader = field(default_factory=DeltaReader)
    _deltas: dict[tuple[str, str], FileDelta] = field(default_factory=dict)
    _blobs: Blobs | None = None

    def blob(self, blob: str) -> bytes | None:
        """Content of a blob; None for NO_BLOB and for what the clone lacks."""
        if blob == NO_BLOB:
            return None
        if self._blobs is None:
            self._blobs = Blobs(self.repository.folder)
        return self._blobs.read(blob)

    def read_deltas(self, wanted: Callable[[FileChange], bool], progress: Progress | None = None) -> None:
        """Work out the deltas of all wanted files of the range at once, and keep them."""
        pairs = {
            (f.old_blob, f.new_blob): None
            for c in self.commits
            for f in c.files
            if f.old_blob != f.new_blob and not f.submodule and wanted(f)
        }
        self._deltas |= self.store.deltas(pairs)
        missing = [pair for pair in pairs if pair not in self._deltas]
        with no_collector():
            for start in range(0, len(missing), _AT_ONCE):
                if progress is not None:
                    progress("reading changes of upstream", start, len(missing))
                part = {pair: self._read(*pair) for pair in missing[start : start + _AT_ONCE]}
                self.store.keep_deltas({p: d for p, d in part.items() if d.error != _LACKING})
                self._deltas |= part

    def delta(self, change: FileChange) -> FileDelta:
        """What differs between the two versions of one file."""
        pair = (change.old_blob, change.new_blob)
        if change.old_blob == change.new_blob or change.submodule:
            return FileDelta()
        found = self._deltas.get(pair)
        if found is None:
            found = self.store.deltas([pair]).get(pair) or self._read(*pair)
            self._deltas[pair] = found
            if found.error != _LACKING:
                self.store.keep_deltas({pair: found})
        return found

    def _read(self, old: str, new: str) -> FileDelta:
        contents = [self.blob(old), self.blob(new)]
        if any(c is None and b != NO_BLOB for c, b in zip(contents, (old, new), strict=True)):
            return FileDelta(error=_LACKING)
        return self._reader.read(*contents)

    def touching(self, paths: Iterable[str]) -> list[tuple[Commit, FileChange]]:
        """Changes to any of ``paths`` or to what they were called earlier or later, oldest first."""
        names = set(paths)
        while True:
            more = {
                p
                for c in self.commits
                for f in c.files
                if f.status == "R" and (f.old_path in names or f.new_path in names)
                for p in f.paths
            } - names
            if not more:
                break
            names |= more
        return [(c, f) for c in self.commits for f in c.files if names & set(f.paths)]

    def module(self, path: str) -> str | None:
        """Dotted name of a Python file of the package."""
        return module_of(path, self.package)


_LACKING = "its content is not in this clone"


def read_range(
    repository: Repository,
    base: str,
    target: str,
    package: str,
    store: HistoryStore,
    progress: Progress | None,
) -> Range:
    """The commits of ``base..target``. Raises SourceError when they are not all there.

    How many there are is asked of git a second time, in another way: a list that disagrees is no list.
    """
    rows = range_of(repository, base, target)
    roots = [commit for commit, parents in rows if not parents]
    if roots and repository.shallow:
        raise SourceError(
            str(repository.folder),
            f"the clone is shallow: its history is cut off at {roots[0][:12]}, inside the range",
            "Run `git fetch --unshallow` there.",
        )
    beside = range_of(repository, target, base)[-_AT_ONCE:]
    commits = _commits(repository, rows, store, progress)
    found = Range(
        repository, base, target, commits, _commits(repository, beside, store, None), package, store
    )
    counted = count_of(repository, base, target)
    if len(found.commits) != counted or len({c.id for c in found.commits}) != counted:
        raise SourceError(
            f"{base[:12]}..{target[:12]} in {repository.folder}",
            f"git counts {counted} commits, and {len(found.commits)} were read",
            "Run `git fsck` there; if it finds nothing, report this with `git version`.",
        )
    return found


def _commits(
    repository: Repository,
    rows: list[tuple[str, tuple[str, ...]]],
    store: HistoryStore,
    progress: Progress | None,
) -> tuple[Commit, ...]:
    known = store.commits(commit for commit, _ in rows)
    missing = [row for row in rows if row[0] not in known]
    fresh: list[Commit] = []
    with no_collector():
        for commit in read_commits(repository, missing):
            fresh.append(commit)
            if progress is not None and len(fresh) % 20 == 0:
                progress("reading upstream commits", len(fresh), len(missing))
    store.keep_commits(fresh)
    known |= {commit.id: commit for commit in fresh}
    return tuple(known[commit] for commit, _ in rows if commit in known)

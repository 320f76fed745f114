"""Commits of a range, each with its files and changed lines, from one ``git diff-tree`` that is read as it writes.

Plumbing is used, which follows no diff setting of the repository or its owner; what git would run for a file by
its attributes (text conversions, external diffs) is off. Paths are kept as bytes that survive as surrogates.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from tools.history.diffparse import parse
from tools.history.records import Commit
from tools.sources.gitcmd import GitFailed, command, environment, git_text
from tools.sources.repository import Repository, broken
from tools.sources.snapshot import SourceError

_DIFF = ("-r", "--raw", "--root", "--always", "--no-abbrev", "--no-ext-diff")
_CLOSED = ("--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", "--submodule=short")
_FORMAT = "--format=%x00%x01%H%x00%P%x00%ct%x00%B%x00%x02"


def range_of(repository: Repository, base: str, target: str) -> list[tuple[str, tuple[str, ...]]]:
    """(commit, parents) of everything that ``target`` has and ``base`` has not, oldest first.

    Raises SourceError when git cannot say, as in a shallow clone whose history ends inside the range.
    """
    asked = ("rev-list", "--topo-order", "--reverse", "--parents", f"{base}..{target}", "--")
    try:
        listing = git_text(repository.folder, *asked)
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure
    rows = [tuple(line.split()) for line in listing.splitlines() if line]
    return [(row[0], row[1:]) for row in rows]


def count_of(repository: Repository, base: str, target: str) -> int:
    """How many commits git counts in the range: what a list of them is held against."""
    try:
        return int(git_text(repository.folder, "rev-list", "--count", f"{base}..{target}", "--"))
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure


def read_commits(repository: Repository, wanted: Sequence[tuple[str, tuple[str, ...]]]) -> Iterator[Commit]:
    """Records of ``wanted`` (commit, parents); merges come last.

    Where the clone lacks a file's content, the commit is read without hunks and renames, and marked so.
    """
    plain = [row for row in wanted if len(row[1]) < 2]
    yield from _read_all(repository.folder, plain, ("-U0", "-p", "-M", "-l1000"))
    merges = [row for row in wanted if len(row[1]) > 1]
    # Dense: what the merge itself decided. What its branches brought stands in their own commits.
    yield from _read_all(repository.folder, merges, ("--cc", "-U0", "-p"))


def patch_texts(repository: Repository, commit: Commit, paths: Iterable[str], *, context: int = 3) -> str:
    """The patch of ``commit`` for some of its files as text; bytes that are no UTF-8 are replaced."""
    first = (commit.parents[0],) if commit.parents else ()
    options = ("--cc",) if commit.merge else ()
    ends = (commit.id,) if commit.merge or not first else (first[0], commit.id)
    wanted = [f":(top,literal){path}" for path in paths]
    arguments = ("diff-tree", *options, f"-U{context}", "-r", "-p", "-M", "--root", "--no-commit-id")
    try:
        return (
            git_text(repository.folder, *arguments, "--no-ext-diff", *_CLOSED, *ends, "--", *wanted)
            .encode("utf-8", "surrogateescape")
            .decode("utf-8", "replace")
        )
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure


def _read_all(
    folder: Path, wanted: Sequence[tuple[str, tuple[str, ...]]], options: Sequence[str]
) -> Iterator[Commit]:
    done = 0
    while done < len(wanted):
        try:
            for commit in _whole(_read(folder, wanted[done:], options)):
                done += 1
                yield commit
        except _Stopped as stopped:
            if stopped.read:
                continue
            # Nothing came but the failure: this commit is the one whose files are not all here.
            alone = wanted[done : done + 1]
            form = ("-c",) if len(alone[0][1]) > 1 else ()
            try:
                bare = list(_read(folder, alone, (*form, "--no-renames")))
            except _Stopped:
                raise broken(folder, stopped.failure) from stopped
            yield from (msgspec.structs.replace(c, unread=True, patch="", inverse="") for c in bare)
            done += 1


class _Stopped(Exception):
    """Git ended before it had written everything; ``read``: whole commits came before that."""

    def __init__(self, failure: GitFailed) -> None:
        super().__init__(failure.reason)
        self.failure, self.read = failure, False


def _whole(commits: Iterator[Commit]) -> Iterator[Commit]:
    """Each commit once the next has begun: the last one before a failure may be cut short."""
    held: Commit | None = None
    read = False
    try:
        for commit in commits:
            if held is not None:
                read = True
                yield held
            held = commit
    except _Stopped as stopped:
        stopped.read = read
        raise
    if held is not None:
        yield held


def _read(
    folder: Path, wanted: Sequence[tuple[str, tuple[str, ...]]], options: Sequence[str]
) -> Iterator[Commit]:
    if not wanted:
        return
    # With its parent beside it a commit is compared with that alone; a merge is compared with all of them.
    lines = [f"{commit} {parents[0]}" if len(parents) == 1 else commit for commit, parents in wanted]
    arguments = ("diff-tree", "--stdin", *options, *_DIFF, *_CLOSED, "--encoding=UTF-8", _FORMAT)
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as complaints:
        # From a file: writing into a pipe while reading another would need a thread.
        asked.write("".join(f"{line}\n" for line in lines).encode())
        asked.seek(0)
        try:
            process = subprocess.Popen(
                command(*arguments),
                cwd=folder,
                env=environment(),
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=complaints,
            )
        except OSError as error:
            raise SourceError(
                str(folder), f"git cannot be started there ({error.strerror})", "Check the path."
            ) from error
        assert process.stdout is not None
        try:
            try:
                yield from parse(process.stdout)
            except ValueError as cut_short:
                if not process.wait():
                    raise SourceError(
                        str(folder),
                        f"git's answer cannot be read ({cut_short})",
                        "Report this, with `git version`.",
                    ) from cut_short
            if process.wait():
                complaints.seek(0)
                raise _Stopped(GitFailed(process.returncode, complaints.read().decode("utf-8", "replace")))
        finally:
            process.kill()
            process.stdout.close()
            process.wait()

"""Finding a git repository and its commits, and saying clearly what is wrong with one."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from tools.sources.gitcmd import GitFailed, git, git_text
from tools.sources.snapshot import SourceError


@dataclass(frozen=True)
class Repository:
    """A place inside a git repository. ``folder`` is where git is run: trees are listed relative to it."""

    folder: Path
    bare: bool
    shallow: bool
    prefix: str
    """Path of ``folder`` inside the repository, '' at its top."""
    head: str | None
    """Full id of the commit that is checked out, None before the first commit."""


def find_repository(folder: Path) -> Repository | None:
    """The repository that ``folder`` belongs to, or None when it belongs to none.

    Raises SourceError when there is one that git cannot use, or when its settings put the files elsewhere.
    """
    if not _looks_like_one(folder):
        return None  # so that plain folders need no git at all
    asked = ("--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository", "--absolute-git-dir")
    try:
        bare, inside, shallow, git_dir = git_text(folder, "rev-parse", *asked).splitlines()
        prefix, top = "", folder.resolve()
        if inside == "true":
            prefix, shown = git_text(folder, "rev-parse", "--show-prefix", "--show-toplevel").split("\n")[:2]
            top = Path(shown)
    except GitFailed as failure:
        if "not a git repository" in failure.reason and not (folder / ".git").exists():
            return None
        raise broken(folder, failure) from failure
    if inside == "false" and bare == "false" and Path(git_dir) != folder.resolve():
        raise SourceError(
            str(folder),
            "the repository's own settings (core.worktree) put its files elsewhere",
            "Give the folder that holds the files, or a revision of it.",
        )
    if not folder.resolve().is_relative_to(top.resolve()):
        raise SourceError(
            str(folder), f"git takes {top} for its files", "Give the folder that holds the files."
        )
    return Repository(
        folder, inside == "false", shallow == "true", prefix.rstrip("/"), commit_of(folder, "HEAD")
    )


def has_tracked_files(repository: Repository) -> bool:
    """Whether git tracks anything below the folder; a folder that only lies inside a checkout has nothing."""
    try:
        return bool(git(repository.folder, "ls-files", "-z"))
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure


def _looks_like_one(folder: Path) -> bool:
    place = folder.resolve()
    if (place / "HEAD").is_file() and (place / "objects").is_dir():
        return True
    return any((above / ".git").exists() for above in (place, *place.parents))


def commit_of(folder: Path, revision: str) -> str | None:
    """Full id of the commit that ``revision`` names, or None when it names none."""
    try:
        asked = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        return git_text(folder, "rev-parse", *asked).strip()
    except GitFailed:
        return None


def broken(folder: Path, failure: GitFailed) -> SourceError:
    """Git refused for a reason that is its own."""
    if "dubious ownership" in failure.reason:  # git 2.35 to 2.37 hear of safe.directory from files alone
        return SourceError(
            str(folder),
            "belongs to another user, and this git does not read it",
            f"Run `git config --global --add safe.directory {folder.resolve()}`, or use git 2.38 or newer.",
        )
    return SourceError(
        str(folder),
        f"git cannot read the repository ({failure.reason})",
        "Run `git status` and `git fsck` there.",
    )


def empty(label: str) -> SourceError:
    """A repository before its first commit."""
    return SourceError(label, "the repository is empty: it has no commits", "Commit or add something first.")


def lacking(what: str) -> SourceError:
    """An object that a partial clone, or a damaged one, does not hold."""
    return SourceError(
        what,
        "its content is not in this clone (a partial clone, or a damaged one)",
        "Fetch it (`git fetch --refetch` or a full clone); nothing is fetched during a review.",
    )


def need_worktree(repository: Repository, label: str) -> None:
    """Raise SourceError for a bare repository."""
    if repository.bare:
        raise SourceError(
            label,
            "is a bare repository, so it has neither worktree nor index",
            f"Name a revision: {repository.folder}@REV.",
            wrong_use=True,
        )


def no_such_revision(repository: Repository, revision: str) -> SourceError:
    """``revision`` names no commit: why, and which names come close."""
    what = f"revision {revision!r} of {repository.folder}"
    refs = _refs(repository.folder)
    if repository.head is None and not refs:
        return empty(str(repository.folder))
    if repository.shallow:
        return SourceError(
            what,
            "is not in this clone, which is shallow: its history was cut off",
            "Run `git fetch --unshallow` there (or fetch that revision), or check the name.",
        )
    close = difflib.get_close_matches(revision, refs, n=3, cutoff=0.5)
    hint = (
        f"Close names: {', '.join(close)}." if close else "Run `git log --all` or `git tag` there for names."
    )
    return SourceError(what, "does not exist, or is not a commit", hint)


def _refs(folder: Path) -> list[str]:
    """Short names of branches, remote branches and tags."""
    try:
        listing = git_text(folder, "for-each-ref", "--format=%(refname:lstrip=2)")
    except GitFailed:
        return []
    return listing.split()

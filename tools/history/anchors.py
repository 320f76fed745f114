"""Which commit of an upstream repository a source stands for.

A revision of that very repository stands for itself, and a release for its tag. Where there is no tag (forks often
have none), it is the commit of the main line whose Python files are most like those of the source: release branches
carry cherry-picks, so some files differ, and how many is said.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from tools.findings import Frozen, short_hash
from tools.history.diffparse import raw_change
from tools.history.records import NO_BLOB
from tools.history.store import HistoryStore
from tools.profiles import Profile
from tools.sources.gitcmd import GitFailed, command, environment, git_text
from tools.sources.repository import Repository, broken, commit_of
from tools.sources.snapshot import Snapshot, SourceError

_MAIN = (
    "HEAD",
    "refs/heads/main",
    "refs/heads/master",
    "refs/remotes/origin/HEAD",
    "refs/remotes/origin/main",
)
_FAR = 400
"""Differing files beyond the best commit at which the search ends: no later one comes near it again."""
_UNLIKE = 0.5
"""Share of differing files from which no commit of the line is the source's."""


class Anchor(Frozen):
    """A source and the commit that stands for it."""

    role: str
    commit: str
    how: str
    """``revision``, ``tag`` or ``nearest``."""
    differing: tuple[str, ...]
    """Python files of the package that are not the same in commit and source, as the repository calls them."""
    files: int
    """Python files of the package in the source."""

    @property
    def said(self) -> str:
        """For the report's coverage."""
        if not self.differing:
            return f"{self.role} is commit {self.commit[:12]}"
        word = {"tag": "tagged commit", "nearest": "nearest main-line commit"}.get(self.how, "commit")
        return (
            f"{self.role} is compared as {word} {self.commit[:12]}, from which {len(self.differing)} of its "
            f"{self.files} Python files differ"
        )


@dataclass(frozen=True)
class _Wanted:
    """Python files of the package in a source: path -> blob id."""

    role: str
    files: Mapping[str, str]
    profile: Profile

    @property
    def package(self) -> str:
        """Folder of the package."""
        return self.profile.upstream_package

    def generated(self, path: str) -> bool:
        """True for a file that only a build makes, so that no commit holds it."""
        module = path[:-3].replace("/", ".")
        return any(fnmatchcase(module, pattern) for pattern in self.profile.generated_modules)


def find_anchors(
    repository: Repository,
    ref: str | None,
    sources: Mapping[str, Snapshot],
    profile: Profile,
    store: HistoryStore,
) -> dict[str, Anchor]:
    """Role -> anchor for each of ``sources``.

    Raises SourceError when ``ref`` names no commit, when the repository holds no such package, or when none of its
    commits is like a source.
    """
    package = profile.upstream_package
    out: dict[str, Anchor] = {}
    open_: dict[str, _Wanted] = {}
    for role, snapshot in sources.items():
        wanted = _Wanted(role, _package_files(snapshot, package), profile)
        revision = snapshot.identity.revision
        if revision and commit_of(repository.folder, revision) == revision:
            out[role] = _anchor(repository, revision, "revision", wanted)
        elif (tagged := _tagged(repository, snapshot, wanted)) is not None:
            out[role] = tagged
        else:
            open_[role] = wanted
    if open_:
        line = _main_line(repository, ref)
        for role, wanted in open_.items():
            known = _kept(repository, store, line, wanted)
            if known is not None:
                out[role] = known
        missing = {role: wanted for role, wanted in open_.items() if role not in out}
        for role, commit in _nearest(repository, line, missing, package).items():
            found = _anchor(repository, commit, "nearest", missing[role])
            if found.differing and repository.shallow and _first(repository, commit):
                raise SourceError(
                    str(repository.folder),
                    f"the clone is shallow: its history is cut off at {commit[:12]}, before it is like the {role}",
                    "Run `git fetch --unshallow` there.",
                )
            if len(found.differing) > _UNLIKE * max(1, found.files):
                raise SourceError(
                    f"{repository.folder}",
                    f"no commit of its main line is like the {role}: in the nearest, {commit[:12]}, "
                    f"{len(found.differing)} of {found.files} Python files differ",
                    "Fetch newer commits there, or name the line that holds it with --upstream-ref.",
                )
            store.keep_text(_key(line, missing[role]), found.model_dump_json())
            out[role] = found
    return out


def _main_line(repository: Repository, ref: str | None) -> str:
    """Commit at the end of the line to look along."""
    for name in (ref,) if ref else _MAIN:
        commit = commit_of(repository.folder, name)
        if commit is not None:
            return commit
    if ref:
        raise SourceError(
            f"revision {ref!r} of {repository.folder}",
            "does not exist, or is not a commit",
            "Run `git log --all` or `git branch -a` there for names, and give one with --upstream-ref.",
            wrong_use=True,
        )
    raise SourceError(
        str(repository.folder), "has no commit on HEAD or main", "Name a branch with --upstream-ref."
    )


def _package_files(snapshot: Snapshot, package: str) -> dict[str, str]:
    prefix = _prefix(snapshot.paths(), package)
    inside = f"{prefix}{package}/"
    return {
        path[len(prefix) :]: snapshot.blob(path)
        for path in snapshot.paths()
        if path.startswith(inside) and path.endswith(".py")
    }


def _prefix(paths: Sequence[str], package: str) -> str:
    """What stands before the package's folder: '' or ``src/``."""
    tail = f"{package}/__init__.py"
    found = [p for p in paths if p == tail or p.endswith("/" + tail)]
    return min(found, key=lambda p: (p.count("/"), p))[: -len(tail)] if found else ""


def _tree(repository: Repository, commit: str, package: str) -> dict[str, str]:
    """Python files of the package in ``commit``: path -> blob."""
    try:
        listing = git_text(
            repository.folder, "ls-tree", "-r", "-z", "--full-tree", commit, "--", f"{package}/"
        )
    except GitFailed as failure:
        raise broken(repository.folder, failure) from failure
    files = {}
    for row in listing.split("\0"):
        about, _, path = row.partition("\t")
        if path.endswith(".py"):
            files[path] = about.split()[2]
    return files


def _first(repository: Repository, commit: str) -> bool:
    """Whether nothing is known of what came before ``commit``."""
    return commit_of(repository.folder, f"{commit}^") is None


def _anchor(repository: Repository, commit: str, how: str, wanted: _Wanted) -> Anchor:
    tree = _tree(repository, commit, wanted.package)
    paths = {*tree, *(p for p in wanted.files if p in tree or not wanted.generated(p))}
    differing = sorted(p for p in paths if tree.get(p) != wanted.files.get(p))
    return Anchor(
        role=wanted.role, commit=commit, how=how, differing=tuple(differing), files=len(wanted.files)
    )


def _tagged(repository: Repository, snapshot: Snapshot, wanted: _Wanted) -> Anchor | None:
    """The commit that a tag gives the source's version, when its tree bears that out."""
    version = snapshot.identity.version
    for name in (f"refs/tags/v{version}", f"refs/tags/{version}") if version else ():
        commit = commit_of(repository.folder, name)
        if commit is not None:
            found = _anchor(repository, commit, "tag", wanted)
            # A few generated files differ; a tag that means something else differs in most.
            if len(found.differing) <= 0.02 * max(50, found.files):
                return found
    return None


def _key(line: str, wanted: _Wanted) -> str:
    return "nearest-" + short_hash(
        line, wanted.package, *(f"{p} {b}" for p, b in sorted(wanted.files.items()))
    )


def _kept(repository: Repository, store: HistoryStore, line: str, wanted: _Wanted) -> Anchor | None:
    text = store.text(_key(line, wanted))
    if text is None:
        return None
    found = Anchor.model_validate_json(text).model_copy(update={"role": wanted.role})
    return found if commit_of(repository.folder, found.commit) == found.commit else None


def _nearest(
    repository: Repository, line: str, wanted: Mapping[str, _Wanted], package: str
) -> dict[str, str]:
    """Role -> commit whose files are most like those wanted; of several alike, the oldest.

    Walks back from the end of the line and keeps, for every source, the number of files that differ: a commit
    changes it by what it touches.
    """
    if not wanted:
        return {}
    tree = _tree(repository, line, package)
    if not tree:
        raise SourceError(
            str(repository.folder),
            f"holds no Python file below {package}/ at {line[:12]}",
            "Give a clone of the upstream project with --upstream-repo.",
            wrong_use=True,
        )
    distance = {
        role: sum(tree.get(p) != w.files.get(p) for p in {*tree, *w.files}) for role, w in wanted.items()
    }
    best = {role: (number, line) for role, number in distance.items()}
    for commit, before in _backwards(repository, line, package):
        for role, number in distance.items():
            if number <= best[role][0]:
                best[role] = number, commit
        if all(number > best[role][0] + _FAR for role, number in distance.items()):
            break
        for path, blob in before:
            for role, item in wanted.items():
                there = item.files.get(path)
                distance[role] += (blob != there) - (tree.get(path) != there)
            if blob is None:
                tree.pop(path, None)
            else:
                tree[path] = blob
    return {role: commit for role, (_, commit) in best.items()}


def _backwards(
    repository: Repository, line: str, package: str
) -> Iterator[tuple[str, list[tuple[str, str | None]]]]:
    """(commit, Python files as they were before it) for each that changed the package, newest first."""
    arguments = (
        *(
            "-c",
            "log.follow=false",
            "log",
            "--first-parent",
            "--raw",
            "--no-renames",
            "--no-abbrev",
            "--no-color",
        ),
        *(
            "--no-show-signature",
            "--no-notes",
            "--no-decorate",
            "--diff-merges=first-parent",
            "--no-ext-diff",
        ),
        *("--format=%x00%H", line, "--", f":(top){package}/"),
    )
    try:
        process = subprocess.Popen(
            command(*arguments),
            cwd=repository.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise SourceError(
            str(repository.folder), f"git cannot be started there ({error.strerror})", "Check the path."
        ) from error
    assert process.stdout is not None
    try:
        commit: str | None = None
        files: list[tuple[str, str | None]] = []
        for raw in process.stdout:
            if raw.startswith(b"\0"):
                if commit is not None:
                    yield commit, files
                commit, files = raw[1:].decode().strip(), []
            elif raw.startswith(b":") and raw.rstrip(b'\n"').endswith(b".py"):
                change = raw_change(raw)
                gone = change.old_blob == NO_BLOB or change.old_mode == "160000"
                files.append((change.old_path, None if gone else change.old_blob))
        if commit is not None:
            yield commit, files
        if process.wait():
            raise broken(repository.folder, GitFailed(process.returncode, ""))
    finally:
        process.kill()
        process.stdout.close()
        process.wait()

"""What a user types to name a source, and opening it.

====================  =====================================================================
``PATH``              worktree of a git checkout (or of a folder inside one), else a folder
``PATH@REV``          a revision; the repository may be bare
``PATH:index``        what is staged
``PATH:worktree``     tracked files plus those neither tracked nor ignored
``NAME==VERSION``     a release from the package index (``pypi:NAME==VERSION`` too)
``installed:NAME``    a distribution of the given interpreter, or of this one
====================  =====================================================================

A path that exists is taken as the path even when it contains ``@`` or ``:``.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Literal

from packaging.version import InvalidVersion, Version

from tools.profiles import Profile
from tools.sources.cache import default_cache
from tools.sources.folder import Progress, open_folder
from tools.sources.git import open_index, open_revision, open_worktree
from tools.sources.redact import redacted
from tools.sources.repository import Repository, find_repository, has_tracked_files
from tools.sources.snapshot import Snapshot, SourceError

__all__ = ["Role", "default_cache", "open_source"]

Role = Literal["plugin", "base", "target"]

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_PINNED = re.compile(rf"(?:pypi:)?\s*({_NAME})\s*==\s*(.*)", re.DOTALL)
_INSTALLED = re.compile(rf"installed:({_NAME})")
_VIEWS = (":index", ":worktree")


def open_source(
    spec: str,
    *,
    role: Role,
    profile: Profile,
    python: Path | None,
    cache: Path,
    offline: bool = False,
    progress: Progress | None = None,
) -> Snapshot:
    """The tree that ``spec`` names (the forms stand at the top of this module).

    ``python`` is the interpreter that ``installed:`` asks and whose index settings releases follow; None is
    the one that runs this. ``cache`` holds releases; with ``offline`` only those that it holds can be opened.
    Raises SourceError: ``wrong_use`` for a malformed ``spec``, else when the tree cannot be had.
    """
    spec = spec.strip()
    if not spec:
        raise _malformed(spec, role, profile, "is empty")
    if "\0" in spec:
        raise _malformed(spec.replace("\0", "\\0"), role, profile, "holds a null byte")
    whole = _path(spec)
    if _exists(whole):
        return _open_path(whole, spec)
    if spec.startswith("installed:"):
        if not (match := _INSTALLED.fullmatch(spec)):
            raise _malformed(spec, role, profile, "does not name a distribution")
        from tools.sources.installed import open_installed

        return open_installed(match[1], python or Path(sys.executable), spec)
    if spec.startswith("pypi:") or _PINNED.fullmatch(spec):
        name, version = _pinned(spec, role, profile)
        # Imports the network stack, which a review of local trees never needs.
        from tools.sources.release import open_release

        return open_release(
            name, version, spec, cache=cache, python=python, offline=offline, progress=progress
        )
    for view in _VIEWS:
        path = _path(spec.removesuffix(view))
        if spec.endswith(view) and spec != view and _exists(path):
            repository = _repository(path, spec)
            return (open_index if view == ":index" else open_worktree)(repository, spec)
    for cut in reversed([match.start() for match in re.finditer("@", spec)]):
        path, revision = _path(spec[:cut]), spec[cut + 1 :]
        if cut and _exists(path):
            if not revision:
                raise _malformed(spec, role, profile, "has no revision after '@'")
            return open_revision(_repository(path, spec), revision, spec)
    raise _malformed(spec, role, profile, _why_nothing(spec))


def _path(text: str) -> Path:
    try:
        return Path(text).expanduser()
    except RuntimeError:  # a `~user` that nobody has
        return Path(text)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long a name
        return False


def _open_path(path: Path, spec: str) -> Snapshot:
    if not path.is_dir():
        raise SourceError(
            spec, "is a file, not a folder", "Give the folder that holds the tree.", wrong_use=True
        )
    repository = find_repository(path)
    # A folder that merely lies inside someone's checkout (an unpacked release, say) is not part of it.
    if repository is None or (repository.prefix and not has_tracked_files(repository)):
        return open_folder(path, spec)
    return open_worktree(repository, spec)


def _repository(path: Path, spec: str) -> Repository:
    if not path.is_dir():
        raise SourceError(spec, f"{path} is a file, not a folder", "Give a git checkout.", wrong_use=True)
    repository = find_repository(path)
    if repository is None:
        raise SourceError(
            spec,
            f"{path} is not a git repository",
            "Give a checkout, or the folder alone to read it as it is.",
            wrong_use=True,
        )
    return repository


def _pinned(spec: str, role: Role, profile: Profile) -> tuple[str, str]:
    match = _PINNED.fullmatch(spec)
    if match is None:
        raise _malformed(spec, role, profile, "names no exact release")
    try:
        return match[1], str(Version(match[2].strip()))
    except InvalidVersion:
        raise _malformed(spec, role, profile, f"{match[2].strip()!r} is not one exact version") from None


def _why_nothing(spec: str) -> str:
    if spec.startswith(_VIEWS):
        return "names no path"
    if re.match(r"[a-z+]+://", spec):
        return "is a URL, and nothing is cloned"
    if re.fullmatch(rf"{_NAME}\s*(===|~=|!=|[<>]=?|=)\s*\S+", spec):
        return "names no exact release (NAME==VERSION)"
    return "no such path, and none of the forms"


def _malformed(spec: str, role: Role, profile: Profile, why: str) -> SourceError:
    plugin = role == "plugin"
    name = profile.plugin_distribution if plugin else profile.upstream_distribution
    release = f"pypi:{name}==VERSION" if plugin else f"{name}==VERSION"
    forms = f"PATH, PATH@REV, PATH:index, PATH:worktree, {release}, installed:{name}"
    return SourceError(f"{role} {redacted(spec)!r}", why, f"The forms are: {forms}.", wrong_use=True)

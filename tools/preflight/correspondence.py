"""A source tree beside an installed copy: which files are the same, and which are not.

Version strings prove nothing, so contents are compared: by git's blob ids, which a source has already.
"""

from __future__ import annotations

import email
import zipfile
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from tools.environment.answer import Candidate
from tools.preflight.record import Correspondence, Files, LocalSource, Role, State
from tools.profiles import Profile
from tools.sources.folder import DiskSnapshot, listed_files, walk
from tools.sources.listing import IGNORED_FOLDERS, PYTHON, reason_to_skip
from tools.sources.snapshot import Snapshot, SourceError, blob_id

SHOWN = 100
"""Paths that a record lists of each state."""

_COMPILED = (".so", ".pyd", ".dylib", ".dll", ".a", ".o", ".pyc", ".cubin", ".ptx", ".fatbin")
_LEFT_OUT = ""
"""Stands for the blob id of a file that is there and too large to be compared."""


def local_source(snapshot: Snapshot, package: str) -> LocalSource:
    """Where the package lies in ``snapshot``, and on disk where it lies there."""
    inside = package_path(snapshot, package)
    place = ""
    if inside and isinstance(snapshot, DiskSnapshot):
        place = str(snapshot.place(f"{inside}/__init__.py").absolute().parent)
    elif inside and snapshot.root is not None:
        place = str(snapshot.root.absolute() / inside)
    identity = snapshot.identity
    if identity.version is None and "PKG-INFO" in snapshot.paths():
        header = email.message_from_bytes(snapshot.read("PKG-INFO"))
        version = header["Version"]
        identity = identity.model_copy(update={"version": str(version) if version else None})
    return LocalSource(identity=identity, package=inside, place=place)


def package_path(snapshot: Snapshot, package: str) -> str:
    """Folder of ``package`` inside the tree: at its top, in ``src``, or the least deep; '' when there is none."""
    last = f"{package}/__init__.py"
    found = [path for path in snapshot.paths() if path == last or path.endswith(f"/{last}")]
    found.sort(key=lambda path: (path != last, path != f"src/{last}", path.count("/"), path))
    return found[0].removesuffix("/__init__.py") if found else ""


def compare_copies(
    role: Role, snapshot: Snapshot, source: LocalSource, copy: Candidate, profile: Profile, *, imported: bool
) -> Correspondence:
    """``snapshot`` beside the installed ``copy``. Raises SourceError when the copy cannot be listed."""
    package = source.package.rpartition("/")[2]
    ours = _of_snapshot(snapshot, source.package)
    same = bool(source.place) and Path(source.place).resolve() == Path(copy.real)
    theirs = _of_zip(copy) if copy.zipped else _of_folder(Path(copy.place))
    states: dict[State, list[str]] = {
        "matching": [],
        "changed": [],
        "missing": [],
        "install_only": [],
        "generated": [],
    }
    for path in sorted(ours.keys() | theirs.keys()):
        states[_state(path, package, ours, theirs, profile.generated_modules)].append(path)
    return Correspondence(
        role=role,
        place=copy.place,
        imported=imported,
        same_place=same,
        **{state: _files(paths) for state, paths in states.items()},
    )


def _state(
    path: str, package: str, ours: Mapping[str, str], theirs: Mapping[str, str], generated: Collection[str]
) -> State:
    if path in ours and path in theirs and ours[path] == theirs[path] != _LEFT_OUT:
        return "matching"
    if path.endswith(_COMPILED) or _is_generated(f"{package}/{path}", generated):
        return "generated"
    if path not in theirs:
        return "missing"
    return "changed" if path in ours else "install_only"


def _is_generated(path: str, patterns: Collection[str]) -> bool:
    module = path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")
    return any(fnmatchcase(module, pattern) for pattern in patterns)


def _files(paths: list[str]) -> Files:
    ordered = sorted(paths, key=lambda path: (not path.endswith(PYTHON), path))
    count = sum(path.endswith(PYTHON) for path in paths)
    return Files(count=len(paths), python=count, paths=tuple(ordered[:SHOWN]))


def _of_snapshot(snapshot: Snapshot, package: str) -> dict[str, str]:
    """Path inside the package -> blob id."""
    top = f"{package}/"
    found = {path[len(top) :]: snapshot.blob(path) for path in snapshot.paths() if path.startswith(top)}
    for item in snapshot.skipped:
        if item.path.startswith(top):
            found.setdefault(item.path[len(top) :], _LEFT_OUT)
    return found


def _of_folder(place: Path) -> dict[str, str]:
    blobs, _, skipped = listed_files(dict(walk(place)), place)
    return blobs | {item.path: _LEFT_OUT for item in skipped}


def _of_zip(copy: Candidate) -> dict[str, str]:
    """The members of an archive below the package, which ends the path ``ARCHIVE/PACKAGE``."""
    archive = next((p for p in Path(copy.place).parents if p.is_file()), Path(copy.place))
    top = f"{Path(copy.place).relative_to(archive).as_posix()}/"
    found: dict[str, str] = {}
    try:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.infolist():
                path = member.filename.removeprefix(top)
                if member.is_dir() or path == member.filename or IGNORED_FOLDERS & set(path.split("/")):
                    continue
                too_large = reason_to_skip(path, member.file_size)
                found[path] = _LEFT_OUT if too_large else blob_id(opened.read(member))
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise SourceError(str(archive), f"cannot be read ({error})", "Check the archive.") from error
    return found

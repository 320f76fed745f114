"""Releases from the package index, kept unpacked in the cache.

A cached release is one folder ``releases/NAME/VERSION`` with ``manifest.json`` and ``tree/``. It appears by
one rename and never changes, so a reader needs no lock, and opening it neither hashes nor asks the network.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from tools.findings import Identity
from tools.sources.archive import unpack
from tools.sources.folder import Progress, read_regular
from tools.sources.listing import LARGE, Listed
from tools.sources.snapshot import Skipped, Snapshot, SourceError, blob_id, tree_digest

_FORMAT = 1
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_NO_WRITE = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.ENOENT)


class ReleaseSnapshot(Listed):
    """A release in the cache."""

    def __init__(self, identity: Identity, manifest: dict[str, Any], tree: Path) -> None:
        skipped = [Skipped(path, reason) for path, reason in manifest["skipped"]]
        super().__init__(identity, {path: blob for path, _, blob in manifest["files"]}, skipped)
        self._tree = tree
        self.origin: str = manifest["origin"]
        """Name of the archive it was unpacked from."""
        self.sha256: str = manifest["sha256"]
        """Of that archive, as downloaded."""
        self.verified: bool = manifest["verified"]
        """Whether the index gave a sha256 to check it against."""

    @property
    def root(self) -> Path | None:
        return self._tree

    def _content(self, path: str) -> bytes:
        content = read_regular(self._tree / path)
        if blob_id(content) != self._blobs[path]:
            raise SourceError(
                str(self._tree / path),
                "was changed in the cache after it was unpacked",
                f"Remove {self._tree.parent} and run again.",
            )
        return content


def open_release(
    name: str,
    version: str,
    label: str,
    *,
    cache: Path,
    python: Path | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Snapshot:
    """Release ``version`` (normalised) of ``name``: from the cache, or downloaded into it first.

    Raises SourceError when it does not exist, has no source archive, cannot be reached or kept, is not what
    the index says it is, or breaks a rule of :mod:`tools.sources.archive`.
    """
    name = canonicalize_name(name)
    place = cache / "releases" / name / version
    cached = _from_cache(place, name, version, label)
    if cached is not None:
        return cached
    if offline:
        raise SourceError(
            label,
            "is not in the cache, and this run is offline",
            f"Run once without offline mode, or put the same cache here ({cache}).",
        )
    with _complaints(cache, label):
        place.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(place):
            # Another process may have fetched it while this one waited.
            cached = _from_cache(place, name, version, label)
            if cached is None:
                _fetch(name, version, label, place, python, progress)
                cached = _from_cache(place, name, version, label)
    if cached is None:
        raise SourceError(label, "vanished from the cache", f"Check who else writes to {cache}.")
    return cached


def _from_cache(place: Path, name: str, version: str, label: str) -> ReleaseSnapshot | None:
    try:
        manifest = json.loads((place / "manifest.json").read_bytes())
        if manifest["format"] != _FORMAT:
            return None
        identity = Identity(
            kind="release", label=label, name=name, version=version, digest=manifest["digest"]
        )
        return ReleaseSnapshot(identity, manifest, place / "tree")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, KeyError, TypeError):
        return None  # damaged: as good as absent
    except OSError as error:
        raise SourceError(
            str(place), f"the cache cannot be read ({error.strerror})", "Check its permissions."
        ) from error


def _fetch(
    name: str, version: str, label: str, place: Path, python: Path | None, progress: Progress | None
) -> None:
    """Download, check, unpack aside, and rename into ``place``."""
    from tools.sources.index import download, find_release  # the network stack

    link, session = find_release(name, version, label, python)
    with contextlib.closing(session):
        work = Path(tempfile.mkdtemp(prefix=_prefix(version), dir=place.parent))
        try:
            archive = work / "archive"
            sha256, verified = download(session, link, archive, label, progress)
            if progress:
                progress(f"unpacking {link.filename}", 0, None)
            entry = work / "entry"
            (entry / "tree").mkdir(parents=True)
            unpacked = unpack(archive, entry / "tree", label)
            files = sorted((path, size, blob) for path, (size, blob) in unpacked.files.items())
            manifest = {
                "format": _FORMAT,
                "name": name,
                "version": version,
                "origin": link.filename,
                "sha256": sha256,
                "verified": verified,
                "limit": LARGE,
                "digest": tree_digest([(path, blob) for path, _, blob in files]),
                "files": files,
                "skipped": sorted((item.path, item.reason) for item in unpacked.skipped),
            }
            (entry / "manifest.json").write_text(json.dumps(manifest), encoding="ascii")
            if place.exists() and not _usable(place):
                place.rename(work / "damaged")
            try:
                entry.rename(place)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                # Where locks do not work, whoever renames first wins.
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _usable(place: Path) -> bool:
    return _from_cache(place, place.parent.name, place.name, "") is not None


def _prefix(version: str) -> str:
    return f".{version}-"


@contextlib.contextmanager
def _one_at_a_time(place: Path) -> Iterator[None]:
    """Hold the lock of one release, and clear away what a killed download of it left."""
    with (place.parent / f".{place.name}.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            locked = True
        except OSError:
            locked = False  # some network file systems have no locks
        if locked:
            for left in place.parent.glob(f"{_prefix(place.name)}*"):
                shutil.rmtree(left, ignore_errors=True)
        yield


@contextlib.contextmanager
def _complaints(cache: Path, label: str) -> Iterator[None]:
    """Turn what the file system says into what a user can act on."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        if error.errno in _NO_ROOM:
            remedy = (
                "Free some space, or set METAX_UPGRADE_CACHE to a folder with room; nothing was left behind."
            )
            raise SourceError(label, f"the cache {cache} is full ({reason})", remedy) from error
        if error.errno in _NO_WRITE:
            remedy = "Make it writable, or set METAX_UPGRADE_CACHE to a folder that is."
            raise SourceError(label, f"the cache {cache} cannot be written ({reason})", remedy) from error
        raise SourceError(label, f"could not be kept in {cache} ({reason})", "Check that disk.") from error

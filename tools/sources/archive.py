"""Unpacking a source archive that nobody vouches for."""

from __future__ import annotations

import hashlib
import os
import posixpath
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tools.sources.archive_members import DAMAGE, Limits, Member, Refused, members
from tools.sources.listing import follow, parents, reason_to_skip
from tools.sources.snapshot import Skipped, SourceError, is_plain_path

_CHUNK = 1 << 20
_CUT_OFF = "is truncated or corrupt"


@dataclass
class Unpacked:
    """What lies below the destination now: sizes and blob ids by path, and what was left out."""

    files: dict[str, tuple[int, str]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)


def unpack(archive: Path, dest: Path, label: str, limits: Limits | None = None) -> Unpacked:
    """Unpack ``archive`` (tar, plain or compressed, or zip) below ``dest``, which must be an empty folder.

    Only regular files are ever created, each with a name checked here; links inside the tree become copies.
    The one top-level folder that a source release has is left away. Raises SourceError for an archive that is
    damaged, grows beyond ``limits``, or has a member with an absolute path, ``..``, a name twice, a link out
    of the tree, or that is a device; OSError as the file system gives it (a full disk).
    """
    limits = limits or Limits()
    try:
        return _place(members(archive, limits), dest, limits)
    except Refused as refusal:
        raise SourceError(
            label, str(refusal), "Nothing of it was kept; do not trust where it came from."
        ) from None
    except DAMAGE as damage:
        raise SourceError(
            label,
            f"the archive {_CUT_OFF} ({damage})",
            "Try again; if it stays so, the index serves a bad file.",
        ) from damage


def _place(found: Iterator[Member], dest: Path, limits: Limits) -> Unpacked:
    result = Unpacked()
    links: dict[str, str] = {}
    sizes: dict[str, int] = {}
    folders: set[str] = set()
    seen: set[str] = set()
    total = 0
    for count, member in enumerate(found, 1):
        path = _checked_name(member)
        total += member.size
        if count > limits.members:
            raise Refused(f"has more than {limits.members} members")
        if total > limits.total:
            raise Refused(f"unpacks to more than {limits.total} bytes")
        if member.kind == "folder":
            folders.add(path)
            continue
        # Names that a file system could take for one: the later would replace the earlier unseen.
        key = unicodedata.normalize("NFC", path)
        if key in seen:
            raise Refused(f"has {path!r} twice")
        seen.add(key)
        if member.kind == "other":
            raise Refused(f"holds a device or pipe ({path!r})")
        if member.kind != "file":
            links[path] = _checked_link(member, path)
        else:
            sizes[path] = member.size
            if reason := reason_to_skip(path, member.size):
                result.skipped.append(Skipped(path, reason))
            else:
                blob = _write(member, dest / path)
                result.files[path] = (member.size, blob)
    above = parents(seen)
    if clash := seen & (above | folders):
        raise Refused(f"has {min(clash)!r} as a file and as a folder")
    _copy_links(links, result, dest, folders | above)
    return _without_top(result, dest)


def _checked_name(member: Member) -> str:
    name = member.name
    if name.startswith(("/", "\\")) or "\\" in name or name[1:2] == ":" or "\0" in name:
        raise Refused(f"has a member with an absolute or foreign path ({name!r})")
    if ".." in name.split("/"):
        raise Refused(f"has a member that leaves the tree ({name!r})")
    path = posixpath.normpath(name)
    if path != "." and not is_plain_path(path):
        raise Refused(f"has a member with an odd path ({name!r})")
    if path == "." and member.kind != "folder":
        raise Refused("has a member without a name")
    return path


def _checked_link(member: Member, path: str) -> str:
    """Target of a link, relative to its own folder. A hard link names its target from the top."""
    target = member.target
    base = "" if member.kind == "hardlink" else posixpath.dirname(path)
    place = posixpath.normpath(posixpath.join(base, target))
    if target.startswith("/") or "\\" in target or place == ".." or place.startswith("../"):
        raise Refused(f"has a link out of the tree ({path!r} -> {target!r})")
    if member.kind == "hardlink":
        return posixpath.relpath(place, posixpath.dirname(path) or ".")
    return target


def _write(member: Member, place: Path) -> str:
    """Write one file and return its blob id."""
    digest = hashlib.sha1(b"blob %d\0" % member.size, usedforsecurity=False)
    left = member.size
    with member.open() as source, create(place) as out:
        while left and (chunk := source.read(min(left, _CHUNK))):
            left -= len(chunk)
            digest.update(chunk)
            out.write(chunk)
        if left or source.read(1):
            raise EOFError(f"{member.name!r} has another size than the archive says")
    return digest.hexdigest()


def create(place: Path) -> IO[bytes]:
    """Open a new file for writing, read-only for everyone afterwards, with the folders it needs."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        handle = os.open(place, flags, 0o444)
    except FileNotFoundError:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(place, flags, 0o444)
    except (FileExistsError, NotADirectoryError) as error:
        raise Refused(f"has two members in one place ({place.name!r})") from error
    return os.fdopen(handle, "wb")


def _copy_links(links: dict[str, str], result: Unpacked, dest: Path, folders: set[str]) -> None:
    for link in links:
        target = follow(link, links, result.files, folders)
        if isinstance(target, Skipped):
            if "out of the tree" in target.reason:
                raise Refused(f"has a link out of the tree ({link!r} -> {links[link]!r})")
            result.skipped.append(target)
            continue
        result.files[link] = result.files[target]
        with create(dest / link) as out:
            out.write((dest / target).read_bytes())


def _without_top(result: Unpacked, dest: Path) -> Unpacked:
    """Move what lies in the single top-level folder up to ``dest``."""
    tops = {
        path.split("/", 1)[0] for path in [*result.files, *(s.path for s in result.skipped)] if "/" in path
    }
    lone = [path for path in [*result.files, *(s.path for s in result.skipped)] if "/" not in path]
    if len(tops) != 1 or lone:
        return result
    top = tops.pop()
    if (dest / top).is_dir():
        # Moved aside first: the folder may hold a member of its own name.
        aside = dest.with_name(dest.name + ".top")
        (dest / top).rename(aside)
        dest.rmdir()
        aside.rename(dest)
    cut = len(top) + 1
    return Unpacked(
        {path[cut:]: entry for path, entry in result.files.items()},
        [Skipped(item.path[cut:], item.reason) for item in result.skipped],
    )

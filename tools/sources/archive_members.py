"""Entries of a tar or zip archive, one by one, without trusting what it says of itself."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, cast

Kind = Literal["file", "folder", "link", "hardlink", "other"]

_CHUNK = 1 << 20
_LARGEST_READ = 16 << 20
DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    UnicodeError,
    NotImplementedError,  # a zip that uses a compression nobody has
)


@dataclass(frozen=True)
class Limits:
    """What an archive may grow to; far above any real source release."""

    total: int = 2 << 30
    """Bytes unpacked, headers and padding included."""
    members: int = 200_000


@dataclass(frozen=True)
class Member:
    """One entry of an archive."""

    name: str
    kind: Kind
    size: int
    target: str
    """Of links, as written."""
    open: Callable[[], IO[bytes]]


class Refused(Exception):
    """The archive breaks a rule; the text says which."""


class _Guarded:
    """What tarfile reads from, without the one read that could fill the memory: of a huge header.

    Contents are read in chunks, here and by tarfile; only the text of extended headers is read at once.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.seek, self.tell = stream.seek, stream.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_READ:
            raise Refused(f"has a header of {size} bytes")
        return self._stream.read(size)


def members(archive: Path, limits: Limits) -> Iterator[Member]:
    with archive.open("rb") as raw:
        magic = raw.read(6)
        raw.seek(0)
        if magic.startswith(b"PK"):
            yield from _zip_members(raw)
        elif magic.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=raw) as plain:
                yield from _tar_members(cast("IO[bytes]", plain), limits)
        elif magic.startswith(b"BZh"):
            with bz2.BZ2File(raw) as unzipped:
                yield from _tar_members(unzipped, limits)
        elif magic.startswith(b"\xfd7zXZ"):
            with lzma.LZMAFile(raw) as unpacked:
                yield from _tar_members(unpacked, limits)
        else:
            yield from _tar_members(raw, limits)


def _tar_members(stream: IO[bytes], limits: Limits) -> Iterator[Member]:
    kinds: dict[bytes, Kind] = {
        tarfile.DIRTYPE: "folder",
        tarfile.SYMTYPE: "link",
        tarfile.LNKTYPE: "hardlink",
    }
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", _Guarded(stream)), mode="r:") as tar:
            for info in tar:
                kind: Kind = "file" if info.isreg() else kinds.get(info.type, "other")

                def opened(info: tarfile.TarInfo = info) -> IO[bytes]:
                    source = tar.extractfile(info)
                    assert source is not None
                    return source

                size = info.size if info.isreg() else 0
                yield Member(info.name, kind, size, info.linkname, opened)
                vars(tar)["members"] = []  # every header is kept otherwise
            # What follows the last member holds the checksum of the compressed stream.
            rest = 0
            while chunk := stream.read(_CHUNK):
                rest += len(chunk)
                if rest > limits.total:
                    raise Refused(f"unpacks to more than {limits.total} bytes")
    except OSError as error:
        # bz2 and tarfile report damage so; an errno means that the disk itself failed.
        if error.errno is not None and error.errno != errno.EINVAL:
            raise
        raise EOFError(str(error)) from error


def _zip_members(raw: IO[bytes]) -> Iterator[Member]:
    with zipfile.ZipFile(raw) as bundle:
        for info in bundle.infolist():
            mode = info.external_attr >> 16
            if info.flag_bits & 0x1:
                raise Refused(f"has an encrypted member ({info.filename!r})")

            def opened(info: zipfile.ZipInfo = info) -> IO[bytes]:
                return bundle.open(info)

            if info.is_dir():
                yield Member(info.filename, "folder", 0, "", opened)
            elif stat.S_ISLNK(mode):
                if info.file_size > 4096:
                    raise Refused(f"has a link longer than any path ({info.filename!r})")
                target = bundle.read(info).decode("utf-8", "surrogateescape")
                yield Member(info.filename, "link", 0, target, opened)
            elif stat.S_IFMT(mode) in (0, stat.S_IFREG):
                yield Member(info.filename, "file", info.file_size, "", opened)
            else:
                yield Member(info.filename, "other", 0, "", opened)

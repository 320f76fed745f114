"""Writing report files so that a reader finds the old one or the new one, never a half."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

_REMEDIES = {
    errno.ENOSPC: "Free some space or choose another folder with --out.",
    errno.EDQUOT: "The disk quota is used up: free some space or choose another folder with --out.",
    errno.EFBIG: "The file would exceed a size limit: raise it or choose fewer formats.",
    errno.EACCES: "Choose a folder that you may write to with --out.",
    errno.EPERM: "Choose a folder that you may write to with --out.",
    errno.EROFS: "The file system is read-only: choose another folder with --out.",
    errno.ENOTDIR: "Part of the path is a file: choose another folder with --out.",
    errno.EEXIST: "A file bears the name of the folder: choose another folder with --out.",
    errno.EISDIR: "A folder bears the name of the report: remove it or choose another folder with --out.",
}


class ReportWriteError(Exception):
    """A report could not be written; what stood there before still stands.

    ``path`` names it, ``why`` says what went wrong, ``remedy`` what the user can do.
    """

    def __init__(self, path: Path, error: OSError) -> None:
        self.path = path
        self.why = error.strerror or str(error)
        self.remedy = _REMEDIES.get(error.errno or 0, "Choose another folder with --out.")
        super().__init__(f"cannot write {path}: {self.why}. {self.remedy}")


def make_folder(folder: Path) -> None:
    """Create ``folder`` and its parents."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ReportWriteError(folder, error) from error


def write_atomically(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path`` in one step, through a temporary file beside it."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        try:
            with temporary.open("xb") as handle:
                handle.write(content)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise ReportWriteError(path, error) from error

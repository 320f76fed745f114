"""What can end a command early, and the exit status that goes with it."""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


class Exit(IntEnum):
    """Exit status of ``metax-upgrade``."""

    OK = 0
    """Nothing at or above ``--fail-on``."""
    FINDINGS = 1
    """Findings at or above ``--fail-on``."""
    USAGE = 2
    """The command, a setting or a specification is wrong."""
    BLOCKED = 3
    """Something needed could not be read or written."""
    BUG = 70
    """A fault of this program (EX_SOFTWARE of sysexits.h, so that it never reads as 'findings')."""
    INTERRUPTED = 130
    """Ctrl-C; the session can be resumed."""
    PIPE = 141
    """Whoever read the output left before its end, as for a program that SIGPIPE ends."""


class Stop(Exception):
    """Ends the command with a message for the user: what, why, and what to do about it."""

    def __init__(self, status: Exit, what: str, why: str, remedy: str = "") -> None:
        super().__init__(f"{what}: {why}")
        self.status, self.what, self.why, self.remedy = status, what, why, remedy


def wrong_use(what: str, why: str, remedy: str = "") -> Stop:
    """The user asked for something that cannot be."""
    return Stop(Exit.USAGE, what, why, remedy)


_ENVIRONMENT = {
    errno.ENOSPC: "Free some space.",
    errno.EDQUOT: "Free some space.",
    errno.EFBIG: "Raise the limit of file sizes (ulimit -f).",
    errno.EIO: "Check the disk.",
    errno.EROFS: "Choose a place that can be written (--out, --cache, or METAX_UPGRADE_STATE for sessions).",
    errno.EACCES: "Choose a place that can be written (--out, --cache, or METAX_UPGRADE_STATE for sessions).",
    errno.EPERM: "Choose a place that can be written (--out, --cache, or METAX_UPGRADE_STATE for sessions).",
    errno.ENOTDIR: "A file stands where a folder is needed; name another place.",
    errno.EEXIST: "A file stands where a folder is needed; name another place.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
}


def from_system(error: OSError | sqlite3.Error) -> Stop | None:
    """The message for a fault of the machine (full disk, no permission …), or None when it is not one."""
    if not isinstance(error, OSError):
        # By name, because --help must not import the library.
        if type(error).__name__ not in ("OperationalError", "DatabaseError"):
            return None
        return Stop(
            Exit.BLOCKED,
            "the session's checkpoints",
            str(error),
            "Check that the folder can be written and has space (METAX_UPGRADE_STATE names another one); "
            "if the file is damaged, start a new review.",
        )
    remedy = _ENVIRONMENT.get(error.errno or 0)
    if remedy is None:
        return None
    return Stop(Exit.BLOCKED, str(error.filename or "a file"), error.strerror or str(error), remedy)

"""The git program, run so that nothing configured inside the repository under review can act.

Git itself is used, not a library that starts it: every call needs the same closed environment, and blobs
come from one ``cat-file --batch`` process that stays open.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import threading
import weakref
from pathlib import Path
from typing import IO

from tools.sources.snapshot import SourceError

_SETTINGS = (
    "core.fsmonitor=false",  # a hook by another name
    "core.hooksPath=/dev/null",
    "core.quotePath=false",
    "core.pager=cat",
    "protocol.allow=never",  # a partial clone would otherwise fetch what is missing, by its own commands
    "safe.bareRepository=all",
    # The user named this tree, and with the settings above nothing that its owner configured is run.
    "safe.directory=*",
)

_KEPT = ("GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
"""Variables of git that say how the user's own git is set up, not what it looks at."""


def environment() -> dict[str, str]:
    """The caller's environment without anything that points git elsewhere, and with every side effect off."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith("GIT_")}
    return kept | {
        "GIT_ALLOW_PROTOCOL": "none",  # an empty list; git before 2.44 knows no GIT_NO_LAZY_FETCH
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def command(*arguments: str) -> list[str]:
    """The command line of one git call. Raises SourceError when there is no git.

    Git runs inside the tree under review, so a relative entry of PATH must not find a `git` there.
    """
    path = os.pathsep.join(entry for entry in os.get_exec_path() if Path(entry).is_absolute())
    program = shutil.which("git", path=path)
    if program is None:
        raise SourceError(
            "git", "the program is not installed", "Install git, or give a plain folder or a release."
        )
    return [program, *(part for setting in _SETTINGS for part in ("-c", setting)), *arguments]


class GitFailed(Exception):
    """Git ended with a status other than 0; ``reason`` is the line that says why."""

    def __init__(self, status: int, complaint: str) -> None:
        lines = [line.strip() for line in complaint.splitlines() if line.strip()]
        fatal = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
        self.reason = (fatal or lines or [f"exit status {status}"])[0]
        super().__init__(self.reason)
        self.status = status


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    """What ``git ARGUMENTS`` prints in ``folder``.

    Raises GitFailed when git says no, SourceError when there is no git to run.
    """
    try:
        done = subprocess.run(
            command(*arguments),
            cwd=folder,
            env=environment(),
            input=stdin,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise _cannot_start(folder, error) from error
    if done.returncode:
        raise GitFailed(done.returncode, done.stderr.decode("utf-8", "replace"))
    return done.stdout


def git_text(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Like :func:`git`, as text; bytes that are not UTF-8 survive as surrogates, as in every path here."""
    return os.fsdecode(git(folder, *arguments, stdin=stdin))


def _cannot_start(folder: Path, error: OSError) -> SourceError:
    return SourceError(
        str(folder), f"git cannot be started there ({error.strerror})", "Check the path and its permissions."
    )


class Blobs:
    """Contents of blobs by id, from one ``git cat-file --batch`` started at the first read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def __getstate__(self) -> Path:
        return self._folder

    def __setstate__(self, state: Path) -> None:
        Blobs.__init__(self, state)

    def read(self, blob: str) -> bytes | None:
        """Content of ``blob``, or None when the repository lacks it. Raises SourceError when git fails."""
        with self._lock:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(blob.encode() + b"\n")
                process.stdin.flush()
                return _answer(process.stdout)
            except EOFError:
                # In a partial clone git gives up when it may not fetch what it was asked for.
                self._process = None
                return None
            except (OSError, ValueError) as error:
                self._process = None
                raise SourceError(
                    str(self._folder),
                    "git stopped while blobs were read",
                    "Run `git fsck` there, and try again.",
                ) from error

    def _running(self) -> subprocess.Popen[bytes]:
        # A forked worker must not share the pipe with its parent: the answers would mix.
        if self._process is None or self._owner != os.getpid():
            try:
                self._process = subprocess.Popen(
                    command("cat-file", "--batch"),
                    cwd=self._folder,
                    env=environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:
                raise _cannot_start(self._folder, error) from error
            self._owner = os.getpid()
            weakref.finalize(self, _stop, self._process, self._owner)
        return self._process


def _answer(stream: IO[bytes]) -> bytes | None:
    header = stream.readline()
    if not header.endswith(b"\n"):
        raise EOFError
    fields = header.split()
    if len(fields) != 3:  # `<id> missing`
        return None
    size = int(fields[2])
    content = stream.read(size + 1)
    if len(content) != size + 1:
        raise EOFError
    return content[:-1]


def _stop(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner != os.getpid():
        return
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    process.wait()

"""Large results of a session, by content hash: what the checkpoint only names."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from agent.errors import Exit, Stop


class Store:
    """JSON files below one folder, named by the sha256 of their content."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, text: str) -> str:
        """Keeps ``text`` and returns its id. A reader never sees a half-written file."""
        content = text.encode("utf-8")
        key = hashlib.sha256(content).hexdigest()
        path = self._path(key)
        if not path.exists():
            write_atomic(path, content)
        return key

    def get(self, key: str) -> str:
        """The text stored as ``key``. Raises Stop when it is gone or damaged."""
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            raise _damaged(key, "it is gone") from None
        if hashlib.sha256(content).hexdigest() != key:
            raise _damaged(key, "its content was changed")
        return content.decode("utf-8")

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def _damaged(key: str, why: str) -> Stop:
    return Stop(Exit.BLOCKED, f"result {key[:12]} of this session", why, "Start a new review.")


def write_atomic(path: Path, content: bytes) -> None:
    """Writes ``path`` whole or not at all, also when the process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).replace(path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        # A write that fails names no file by itself.
        error.filename = str(path)
        raise
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

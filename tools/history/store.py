"""What was read of an upstream history, on disk by content: commits by id, deltas of files by both blobs.

One SQLite file beside the record cache. As there, a file that cannot be written or is damaged costs time, never a
result, and is told once through ``note``.
"""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tools.history.records import Commit
from tools.history.symbols import FileDelta

GENERATION = f"2-py{sys.version_info[0]}{sys.version_info[1]}"
"""Of the records below: raise the number whenever the same commit or files would give others."""
_KINDS: dict[str, msgspec.msgpack.Decoder[Commit] | msgspec.msgpack.Decoder[FileDelta]] = {
    "commit": msgspec.msgpack.Decoder(Commit),
    "delta": msgspec.msgpack.Decoder(FileDelta),
}
_BATCH = 500
"""Below SQLite's limit of variables in one statement."""


class HistoryStore:
    """(kind, id) -> record, and small texts by key. ``folder`` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.note: str | None = None
        self._db: sqlite3.Connection | None = None
        if folder is not None:
            self._db = self._open(folder.absolute() / "history.sqlite3")

    def _open(self, path: Path) -> sqlite3.Connection | None:
        db: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            db = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
            # A lost row costs one reading: durability is not worth a disk flush.
            db.execute("PRAGMA synchronous=OFF")
            db.execute(
                "CREATE TABLE IF NOT EXISTS record (kind TEXT, id TEXT, generation TEXT, body BLOB,"
                " PRIMARY KEY (kind, id)) WITHOUT ROWID"
            )
        except (OSError, sqlite3.Error) as exc:
            self.note = f"the cache at {path} cannot be used ({exc}); the history is read again in every run"
            if db is not None:
                db.close()
            return None
        return db

    def commits(self, ids: Iterable[str]) -> dict[str, Commit]:
        """Those of ``ids`` that are kept."""
        return {key: item for key, item in self._load("commit", ids) if isinstance(item, Commit)}

    def deltas(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], FileDelta]:
        """Those of ``pairs`` (old and new blob) that are kept."""
        keys = {f"{old} {new}": (old, new) for old, new in pairs}
        return {keys[key]: item for key, item in self._load("delta", keys) if isinstance(item, FileDelta)}

    def keep_commits(self, commits: Iterable[Commit]) -> None:
        """Keep those that were read whole: what a clone lacks today it may have tomorrow."""
        self._store("commit", {c.id: msgspec.msgpack.encode(c) for c in commits if not c.unread})

    def keep_deltas(self, deltas: Mapping[tuple[str, str], FileDelta]) -> None:
        """Keep what differs between two blobs."""
        self._store("delta", {f"{a} {b}": msgspec.msgpack.encode(delta) for (a, b), delta in deltas.items()})

    def text(self, key: str) -> str | None:
        """A text kept under ``key``."""
        for _, body in self._rows("text", [key]):
            return body.decode("utf-8", "surrogatepass")
        return None

    def keep_text(self, key: str, text: str) -> None:
        """Keep ``text`` under ``key``, which must say everything that it depends on."""
        self._store("text", {key: text.encode("utf-8", "surrogatepass")})

    def close(self) -> None:
        """Release the file."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _load(self, kind: str, ids: Iterable[str]) -> Iterator[tuple[str, Commit | FileDelta]]:
        decoder = _KINDS[kind]
        try:
            for key, body in self._rows(kind, sorted(set(ids))):
                yield key, decoder.decode(body)
        except msgspec.DecodeError as exc:
            self.note = f"the cache of the history could not be read ({exc}); it is read again"

    def _rows(self, kind: str, ids: list[str]) -> Iterator[tuple[str, bytes]]:
        if self._db is None:
            return
        try:
            for start in range(0, len(ids), _BATCH):
                part = ids[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                yield from self._db.execute(
                    f"SELECT id, body FROM record WHERE kind = ? AND generation = ? AND id IN ({marks})",
                    (kind, GENERATION, *part),
                ).fetchall()
        except sqlite3.Error as exc:
            self.note = f"the cache of the history could not be read ({exc}); it is read again"

    def _store(self, kind: str, bodies: Mapping[str, bytes]) -> None:
        if self._db is None or not bodies:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)",
                [(kind, key, GENERATION, body) for key, body in bodies.items()],
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as exc:
            self.note = f"the cache of the history could not be written ({exc}); it is read again next time"
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

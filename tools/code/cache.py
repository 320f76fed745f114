"""Records on disk, by content: the file of one release that is unchanged in the next is read once.

One SQLite file in the user's cache folder. Everything works without it: a folder that cannot be written, a
full disk or a damaged file cost time, never a result, and are told once through ``note``.
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from tools.code.extract import EXTRACTOR_VERSION
from tools.code.records import Calls, Module

_MODULE = msgspec.msgpack.Decoder(Module)
_CALLS = msgspec.msgpack.Decoder(Calls)
_BATCH = 500
"""Below SQLite's limit of variables in one statement."""


class CodeCache:
    """blob id -> (Module, Calls). ``folder`` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self.note: str | None = None
        self._held: dict[str, tuple[Module, Calls]] = {}
        self._generation = f"{EXTRACTOR_VERSION}-py{sys.version_info[0]}{sys.version_info[1]}"
        self._db: sqlite3.Connection | None = None
        if folder is not None:
            self._db = self._open(folder.absolute() / "code.sqlite3")

    def _open(self, path: Path) -> sqlite3.Connection | None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            return self._connect(f"{path.as_uri()}?mode=rwc", writable=True)
        except (OSError, sqlite3.Error) as exc:
            self.note = f"the cache at {path} cannot be written ({exc}); files are read again in every run"
        if path.exists():
            with suppress(sqlite3.Error):
                return self._connect(f"{path.as_uri()}?mode=ro&immutable=1", writable=False)
        return None

    def _connect(self, uri: str, *, writable: bool) -> sqlite3.Connection:
        db = sqlite3.connect(uri, uri=True, timeout=10, isolation_level=None)
        try:
            if writable:
                # A lost cache row costs one parse: durability is not worth a disk flush.
                db.execute("PRAGMA synchronous=OFF")
                db.execute(
                    "CREATE TABLE IF NOT EXISTS record (blob TEXT, generation TEXT, module BLOB, calls BLOB,"
                    " PRIMARY KEY (blob, generation)) WITHOUT ROWID"
                )
                self._drop_other_generations(db)
            db.execute("SELECT 1 FROM record LIMIT 1").fetchall()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _drop_other_generations(self, db: sqlite3.Connection) -> None:
        """Records of another extractor or Python are dropped, but looking for them takes a scan: once a change."""
        stamp = zlib.crc32(self._generation.encode()) & 0x7FFFFFFF
        if db.execute("PRAGMA user_version").fetchone() != (stamp,):
            db.execute("DELETE FROM record WHERE generation <> ?", (self._generation,))
            db.execute(f"PRAGMA user_version = {stamp}")

    def load(self, blobs: Iterable[str]) -> Iterator[tuple[str, Module, Calls]]:
        """Those of ``blobs`` that are kept."""
        wanted = sorted(set(blobs))
        for blob in wanted:
            if blob in self._held:
                yield blob, *self._held[blob]
        if self._db is None:
            return
        wanted = [blob for blob in wanted if blob not in self._held]
        try:
            for start in range(0, len(wanted), _BATCH):
                part = wanted[start : start + _BATCH]
                marks = ",".join("?" * len(part))
                rows = self._db.execute(
                    f"SELECT blob, module, calls FROM record WHERE generation = ? AND blob IN ({marks})",
                    (self._generation, *part),
                )
                for blob, module, calls in rows:
                    yield blob, _MODULE.decode(module), _CALLS.decode(calls)
        except (sqlite3.Error, msgspec.DecodeError) as exc:
            self.note = f"the cache could not be read ({exc}); files are read again"

    def store(self, encoded: Mapping[str, tuple[bytes, bytes]]) -> None:
        """Keep records; a failure is noted and otherwise without effect."""
        if self._db is None or not encoded:
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)",
                [(blob, self._generation, module, calls) for blob, (module, calls) in encoded.items()],
            )
            self._db.execute("COMMIT")
        except sqlite3.Error as exc:
            self.note = f"the cache could not be written ({exc}); files are read again in the next run"
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")

    def hold(self, records: Mapping[str, tuple[Module, Calls]]) -> None:
        """Have ``records`` at hand until the cache is closed."""
        self._held.update(records)

    def close(self) -> None:
        """Release the file."""
        self._held.clear()
        if self._db is not None:
            self._db.close()
            self._db = None

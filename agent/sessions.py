"""Sessions: one folder a run, holding its request, checkpoints and large results."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from agent.errors import Exit, Stop
from agent.state import Request
from agent.store import Store, write_atomic

_ID = re.compile(r"[a-z]+-\d{4}-[a-z2-9]{4}")
# Without characters that are easily taken for one another.
_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"

RUNNING, INTERRUPTED, FINISHED, BLOCKED, FAILED = "running", "interrupted", "finished", "blocked", "failed"


@dataclass(frozen=True)
class SessionRecord:
    """What ``session.json`` holds."""

    id: str
    created: str
    tool_version: str
    request: Request
    status: str = RUNNING
    attempt: int = 1
    """Thread of the checkpoints; a blocked session is resumed as a new attempt."""
    reports: list[str] = field(default_factory=list)


class Session:
    """One session on disk. ``lock`` must be held while it runs."""

    def __init__(self, folder: Path, record: SessionRecord) -> None:
        self.folder, self.record = folder, record
        self.store = Store(folder / "store")
        self.checkpoints = folder / "checkpoints.sqlite"

    @property
    def thread(self) -> str:
        """Name of the checkpoint thread of the current attempt."""
        return f"{self.record.id}:{self.record.attempt}"

    def update(self, *, status: str, attempt: int | None = None, reports: list[str] | None = None) -> None:
        """Records where the session stands."""
        old = self.record
        self.record = replace(
            old,
            status=status,
            attempt=attempt or old.attempt,
            reports=old.reports if reports is None else reports,
        )
        self.save()

    def save(self) -> None:
        """Writes ``session.json``."""
        text = json.dumps(asdict(self.record), indent=2, ensure_ascii=False) + "\n"
        write_atomic(self.folder / "session.json", text.encode("utf-8"))

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Keeps a second process out of the session. The kernel lets go when the process dies."""
        with (self.folder / "lock").open("w") as stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Stop(
                    Exit.USAGE,
                    f"session {self.record.id}",
                    "another process is working on it",
                    "Wait for it, or end it first.",
                ) from None
            yield

    def discard(self) -> None:
        """Removes a session that never got anywhere."""
        shutil.rmtree(self.folder, ignore_errors=True)


def sessions_folder() -> Path:
    """Where sessions live: METAX_UPGRADE_STATE, else the user's state folder."""
    given = os.environ.get("METAX_UPGRADE_STATE")
    if given:
        return Path(given).expanduser() / "sessions"
    import platformdirs

    return Path(platformdirs.user_state_dir("metax-upgrade")) / "sessions"


def create_session(kind: str, request: Request, tool_version: str) -> Session:
    """A new session with an id of its own. Raises Stop when the state folder cannot be written."""
    now = datetime.now(UTC)
    root = sessions_folder()
    try:
        root.mkdir(parents=True, exist_ok=True)
        while True:
            name = f"{kind}-{now:%m%d}-{''.join(secrets.choice(_LETTERS) for _ in range(4))}"
            try:
                (root / name).mkdir(mode=0o700)
            except FileExistsError:
                continue
            break
        record = SessionRecord(
            id=name, created=now.isoformat(timespec="seconds"), tool_version=tool_version, request=request
        )
        session = Session(root / name, record)
        session.save()
    except OSError as error:
        why = f"sessions cannot be kept there ({error.strerror or error})"
        raise Stop(
            Exit.BLOCKED, str(root), why, "Set METAX_UPGRADE_STATE to a folder that can be written."
        ) from error
    return session


def load_session(name: str) -> Session:
    """The session called ``name``. Raises Stop when there is none."""
    folder = sessions_folder() / name
    if not _ID.fullmatch(name) or not (folder / "session.json").is_file():
        known = [record.id for record in list_sessions()][:5]
        hint = f"The latest are: {', '.join(known)}." if known else "There are no sessions yet."
        raise Stop(Exit.USAGE, f"session {name!r}", f"there is none in {sessions_folder()}", hint)
    return Session(folder, _read(folder))


def list_sessions() -> list[SessionRecord]:
    """Every readable session, newest first."""
    records = []
    for file in sessions_folder().glob("*/session.json"):
        with contextlib.suppress(Stop):
            records.append(_read(file.parent))
    return sorted(records, key=lambda record: (record.created, record.id), reverse=True)


def _read(folder: Path) -> SessionRecord:
    file = folder / "session.json"
    try:
        return SessionRecord(**json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError, OSError) as error:
        raise Stop(
            Exit.BLOCKED, f"session {folder.name}", f"{file} cannot be read ({error})", "Start a new review."
        ) from error

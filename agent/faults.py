"""A fault of this program: a short message for the person, the details in a file."""

from __future__ import annotations

import traceback
from pathlib import Path

from agent.errors import Exit, Stop
from tools.sources.redact import redacted


def fault(error: Exception, folder: Path) -> Stop:
    """Writes the traceback into ``folder`` and returns the message that names it."""
    file = folder / "traceback.txt"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(redacted("".join(traceback.format_exception(error))), encoding="utf-8")
        where = f"The details are in {file}."
    except OSError:
        where = "The details could not be written."
    text = redacted(f"{type(error).__name__}: {error}").splitlines()[0][:200]
    return Stop(Exit.BUG, "a fault of metax-upgrade", text, f"Please report it. {where}")

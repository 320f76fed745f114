"""Starts the child in the target interpreter and reads what it left, however it ended."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from tools.environment.processes import MARK, Ended, end, watch
from tools.probes.record import Kind, Mode, Run
from tools.sources.redact import redacted

SECONDS = 120
MEMORY_MIB = 16 * 1024
_LIMIT = 64 << 20
_TAIL = 8192


@dataclass(frozen=True)
class Subject:
    """What is loaded. ``roots`` go first on the path; ``expected`` says below which folder a package must lie."""

    upstream: str
    plugin: str
    modules: tuple[str, ...]
    """Modules of the plugin, to be imported each by itself."""
    calls: tuple[tuple[str, int, str, str, int, tuple[str, ...], bool], ...] = ()
    """(module, line, scope, callee, positional arguments, keywords, open-ended)."""
    registries: tuple[str, ...] = ()
    """Modules of upstream that hold registries; those that a release does not have are passed over."""
    roots: tuple[str, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Limits:
    """Seconds for the whole process, and MiB of private memory."""

    seconds: float = SECONDS
    memory_mib: int = MEMORY_MIB


def launch(
    python: Path,
    subject: Subject,
    *,
    mode: Mode = Mode.STRICT,
    stubs: Sequence[str] = (),
    fake_capability: tuple[int, int] | None = None,
    cwd: Path | None = None,
    limits: Limits | None = None,
    brief: bool = False,
) -> Run:
    """One process from start to end. Never raises for what happens inside it: a crash or a hang is a result.

    The child gets the caller's environment and ``cwd`` as a user's start would have them. ``brief`` ends after the
    start itself.
    """
    limits = limits or Limits()
    mark = secrets.token_hex(12)
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-probe-") as name:
        folder = Path(name)
        specification, result = folder / "spec.json", folder / "result.json"
        specification.write_text(
            json.dumps({**_specification(subject, mode, stubs, fake_capability, limits), "brief": brief}),
            encoding="utf-8",
        )
        program = folder / "child.py"
        program.write_text(_program(), encoding="utf-8")
        begun = time.monotonic()
        try:
            process = subprocess.Popen(
                [str(python), "-B", str(program), str(specification), str(result)],
                cwd=cwd,
                env={**os.environ, MARK: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            return Run(kind=Kind.START, detail=f"{python} cannot be run ({error.strerror})")
        try:
            watched = watch(process, seconds=limits.seconds, limit=_LIMIT, tail=_TAIL)
        finally:
            end(process, mark)
        left = json.loads(result.read_bytes()) if result.exists() else None
        return _read(left, watched.ended, watched.complaint, process.returncode, time.monotonic() - begun)


def _specification(
    subject: Subject,
    mode: Mode,
    stubs: Sequence[str],
    fake_capability: tuple[int, int] | None,
    limits: Limits,
) -> dict[str, Any]:
    return {
        "upstream": subject.upstream,
        "plugin": subject.plugin,
        "modules": subject.modules,
        "calls": subject.calls,
        "registries": subject.registries,
        "roots": subject.roots,
        "expected": dict(subject.expected),
        "mode": str(mode),
        "stubs": list(stubs),
        "fake_capability": fake_capability,
        "memory_mib": limits.memory_mib,
    }


def _program() -> str:
    return resources.files(__package__).joinpath("child.py").read_text(encoding="utf-8")


def _read(left: dict[str, Any] | None, ended: Ended, complaint: bytes, status: int, seconds: float) -> Run:
    output = redacted(complaint.decode("utf-8", "replace"))
    if left is None:
        last = output.strip().splitlines()[-1:] or [f"status {status}"]
        return Run(kind=Kind.START, detail=last[0], output=output, seconds=round(seconds, 2))
    at, complete = left.pop("at", None), left.pop("complete", False)
    kind, detail = Kind.COMPLETE, ""
    if ended is Ended.TIME:
        kind, detail = Kind.TIME, f"during {at}" if at else ""
    elif ended is Ended.OUTPUT:
        kind, detail = Kind.OUTPUT, f"during {at}" if at else ""
    elif not complete:
        how = f"signal {_signal(-status)}" if status < 0 else f"exit status {status}"
        kind, detail = Kind.CRASH, f"{how} during {at}" if at else how
        if _out_of_memory(output):
            kind = Kind.MEMORY
    elif any(r["type"] == "MemoryError" for s in left["stages"] for r in s["error"] or ()):
        kind, detail = Kind.MEMORY, "MemoryError"
    scrubbed = json.loads(redacted(json.dumps(left)))
    return Run(kind=kind, detail=detail, output=output, seconds=round(seconds, 2), **scrubbed)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _out_of_memory(text: str) -> bool:
    return any(word in text for word in ("MemoryError", "bad_alloc", "Cannot allocate memory"))

"""Watches one child process: a limit on its time and on what it prints, and nothing of it left behind."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

MARK = "METAX_UPGRADE_CHILD"
"""Environment variable by which descendants are found that left the process group."""


class Ended(StrEnum):
    """How watching came to its end."""

    EXIT = "exit"
    TIME = "time limit"
    OUTPUT = "output limit"


@dataclass(frozen=True)
class Watched:
    """``output`` and ``complaint`` are stdout and the end of stderr."""

    ended: Ended
    output: bytes
    complaint: bytes


def watch(process: subprocess.Popen[bytes], *, seconds: float, limit: int, tail: int) -> Watched:
    """Read until the process itself ends (what it left running is not waited for) or a limit is met.

    ``limit`` is in bytes over both streams, ``tail`` the bytes of stderr that are kept. The process is not ended.
    """
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint = bytearray(), bytearray()
    printed = 0
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        for stream, kept in ((process.stdout, output), (process.stderr, complaint)):
            os.set_blocking(stream.fileno(), False)
            selector.register(stream, selectors.EVENT_READ, kept)
        while True:
            # Seen before reading: whatever an ended process printed is in the pipe by then.
            ended = has_ended(process)
            ready = selector.select(0 if ended else min(0.05, max(0.0, deadline - time.monotonic())))
            for key, _ in ready:
                part = os.read(key.fd, 1 << 16)
                if not part:
                    selector.unregister(key.fileobj)
                printed += len(part)
                key.data.extend(part)
            del complaint[:-tail]
            if printed > limit:
                return Watched(Ended.OUTPUT, bytes(output[:limit]), bytes(complaint))
            if ended and not ready:
                return Watched(Ended.EXIT, bytes(output), bytes(complaint))
            if time.monotonic() > deadline:
                return Watched(Ended.TIME, bytes(output), bytes(complaint))
            if not selector.get_map():
                time.sleep(0.01)


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process is over; it is left unreaped, so that its id still names its group alone."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def end(process: subprocess.Popen[bytes], mark: str = "") -> None:
    """End the whole group, also what start-up code left running in it; with ``mark`` (the value of MARK in the
    child's environment) also descendants that made a session of their own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    if mark:
        for pid in _marked(f"{MARK}={mark}".encode()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)


def _marked(entry: bytes) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # processes end while they are looked at, and others' are not ours to read
            if entry in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found

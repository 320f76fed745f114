"""Asks an interpreter what it has: one fresh process, with a limit on its time and on what it may print."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tools.environment.answer import Answer
from tools.environment.probe import without_credentials
from tools.environment.processes import Ended, end, watch

SECONDS = 60
LIMIT = 16 << 20
"""Bytes of output beyond which the process is ended."""
_TAIL = 4096
"""Bytes kept of what it prints on stderr."""
_REMEDY = "Give the path of a Python 3.9 or newer that starts."
_BOOT = """\
import sys
if sys.version_info < (3, 9):
    sys.stdout.write(sys.argv[3] + 'old %d.%d.%d' % sys.version_info[:3] + sys.argv[3])
else:
    program = sys.argv.pop(1)
    exec(compile(program, 'probe.py', 'exec'), {'__name__': '__main__'})
"""
"""Old enough in its ways that Python 2 can say which version it is."""


class InterpreterError(Exception):
    """An interpreter that could not be asked: ``what`` names it, ``why`` says what went wrong, ``remedy`` helps."""

    def __init__(self, what: str, why: str, remedy: str = _REMEDY) -> None:
        super().__init__(f"{what}: {why}. {remedy}")
        self.what, self.why, self.remedy = what, why, remedy


def ask(
    python: Path,
    *,
    distributions: Sequence[str] = (),
    imports: Sequence[str] = (),
    cwd: Path | None = None,
    seconds: float = SECONDS,
) -> Answer:
    """What ``python`` answers when it is started in ``cwd`` as a person would start it there.

    It gets the caller's environment, so that PYTHONPATH and the like count, and ``cwd`` (None: the current folder).
    Raises InterpreterError when it cannot be run, does not answer in time, prints without end or is no Python.
    """
    folder = cwd or Path.cwd()
    if not folder.is_dir():
        raise InterpreterError(
            str(folder), "no such folder to start in", "Give a folder that exists with --cwd."
        )
    return _ask(python, {"distributions": list(distributions), "imports": list(imports)}, folder, (), seconds)


def ask_isolated(python: Path, distribution: str) -> Answer:
    """Where ``python`` has ``distribution``, whatever the current folder and PYTHON variables say.

    Isolated, in an empty folder: nothing that lies where the user stands can run. The user's own packages
    count, which ``-I`` leaves out but an ordinary start has. Raises InterpreterError as :func:`ask` does.
    """
    wanted = {"distributions": [distribution], "imports": [], "names": True, "user_site": True}
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-") as empty:
        return _ask(python, wanted, Path(empty), ("-I",), SECONDS)


def _ask(
    python: Path, wanted: dict[str, Any], folder: Path, options: Sequence[str], seconds: float
) -> Answer:
    label = f"the interpreter {python}"
    mark = f"={secrets.token_hex(12)}="
    specification = json.dumps({**wanted, "mark": mark})
    command = [_absolute(python), *options, "-B", "-c", _BOOT, _program(), specification, mark]
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        why = f"cannot be run ({os.strerror(error.errno or errno.EINVAL)})"
        raise InterpreterError(label, why) from error
    try:
        output, complaint = _read(process, label, seconds)
    finally:
        end(process)
    parts = output.split(mark.encode())
    if len(parts) < 3:
        lines = without_credentials(complaint.decode("utf-8", "replace")).strip().splitlines()
        said = lines[-1][:300] if lines else _ended(process.returncode)
        raise InterpreterError(label, f"did not answer as Python does ({said})")
    answer = parts[-2].decode("utf-8", "replace")
    if old := re.fullmatch(r"old ([\d.]+)", answer):
        raise InterpreterError(label, f"is Python {old[1]}, and 3.9 is the oldest that can be asked")
    try:
        return Answer.model_validate_json(answer)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise InterpreterError(
            label, f"answered what cannot be understood ({where}: {first['msg']})"
        ) from None


def _read(process: subprocess.Popen[bytes], label: str, seconds: float) -> tuple[bytes, bytes]:
    watched = watch(process, seconds=seconds, limit=LIMIT, tail=_TAIL)
    if watched.ended is Ended.OUTPUT:
        why = f"printed more than {LIMIT >> 20} MiB while starting"
        raise InterpreterError(label, why, "Look for what prints there (sitecustomize, .pth files).")
    if watched.ended is Ended.TIME:
        why = f"did not answer in {seconds:g} s"
        raise InterpreterError(label, why, "Check that it starts (sitecustomize and .pth files run first).")
    return watched.output, watched.complaint


def _ended(status: int | None) -> str:
    if status is not None and status < 0:
        return f"ended by signal {-status}"
    return f"exit status {status}, nothing on stderr"


def _absolute(python: Path) -> str:
    """The interpreter's path, not resolved: a virtual environment is known by its link."""
    if len(python.parts) == 1:
        return str(python)
    return str(Path.cwd() / python.expanduser())


@cache
def _program() -> str:
    return resources.files(__package__).joinpath("probe.py").read_text(encoding="utf-8")

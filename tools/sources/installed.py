"""An installed distribution: its packages, where the interpreter that is asked would find them."""

from __future__ import annotations

import difflib
import json
import os
import subprocess
import tempfile
from importlib import resources
from pathlib import Path
from typing import Any

from tools.findings import Identity
from tools.sources.folder import DiskSnapshot, listed_files, walk
from tools.sources.snapshot import SourceError, tree_digest

_SECONDS = 60
_METADATA = ("METADATA", "entry_points.txt", "top_level.txt", "direct_url.json")


class InstalledSnapshot(DiskSnapshot):
    """Top-level packages of a distribution, each below its import name, and what its metadata declare."""

    editable: bool = False
    """Whether its packages lie in a project folder instead of site-packages."""


def open_installed(name: str, python: Path, label: str) -> InstalledSnapshot:
    """Distribution ``name`` of the interpreter ``python``, without importing it.

    Paths start with the import name (``vllm/config.py``), for an editable install too; of the metadata, the
    few files that declare something are there (``NAME.dist-info/entry_points.txt``).
    Raises SourceError when the interpreter cannot be run or does not have the distribution.
    """
    found = _ask(python, name, label)
    if found.get("missing"):
        close = difflib.get_close_matches(
            name.lower(), [known.lower() for known in found["known"]], n=4, cutoff=0.5
        )
        near = f"Near names: {', '.join(close)}. " if close else ""
        raise SourceError(
            label,
            f"{python} has no distribution {name!r}",
            f"{near}Name the interpreter that has it with --python.",
        )
    places: dict[str, Path] = {}
    for package, where in sorted(found["packages"].items()):
        place = Path(where)
        if place.is_dir():
            places |= dict(walk(place, package))
        elif place.is_file():
            places[place.name] = place
    if not places:
        raise SourceError(label, "its packages are not where its metadata says", "Install it again.")
    if found["metadata"]:
        folder = Path(found["metadata"])
        places |= {f"{folder.name}/{file}": folder / file for file in _METADATA if (folder / file).is_file()}
    tops = {place.resolve().parent for place in map(Path, found["packages"].values())}
    blobs, kept, skipped = listed_files(places, tops.pop() if len(tops) == 1 else Path(os.devnull))
    identity = Identity(
        kind="installed",
        label=label,
        name=found["name"],
        version=found["version"],
        digest=tree_digest(sorted(blobs.items())),
    )
    snapshot = InstalledSnapshot(identity, blobs, skipped, kept)
    snapshot.editable = found["editable"]
    return snapshot


def _ask(python: Path, name: str, label: str) -> dict[str, Any]:
    script = resources.files(__package__).joinpath("installed_probe.py").read_text(encoding="utf-8")
    # Isolated, in an empty folder: nothing that lies where the user stands or that PYTHON variables add
    # can run.
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-") as empty:
        try:
            done = subprocess.run(
                [_absolute(python), "-I", "-B", "-c", script, name],
                cwd=empty,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            why = f"the interpreter {python} did not answer in {_SECONDS} s"
            raise SourceError(label, why, "Check that it starts.") from error
        except OSError as error:
            why = f"the interpreter {python} cannot be run ({os.strerror(error.errno or 0)})"
            raise SourceError(label, why, "Give the path of a Python 3.9 or newer with --python.") from error
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.returncode or not isinstance(answer, dict):
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = f"the interpreter {python} failed ({lines[-1] if lines else f'exit status {done.returncode}'})"
        raise SourceError(label, why, "Check that it is Python 3.9 or newer and starts.")
    return answer


def _absolute(python: Path) -> str:
    """The interpreter's path, not resolved: a virtual environment is known by its link."""
    if len(python.parts) == 1:
        return str(python)
    return str(Path.cwd() / python.expanduser())

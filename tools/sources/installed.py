"""An installed distribution: its packages, where the interpreter that is asked would find them."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from packaging.utils import canonicalize_name

from tools.environment.ask import InterpreterError, ask_isolated
from tools.findings import Identity
from tools.sources.folder import DiskSnapshot, listed_files, walk
from tools.sources.snapshot import SourceError, tree_digest

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
    try:
        answer = ask_isolated(python, name)
    except InterpreterError as error:
        raise SourceError(label, f"{error.what} {error.why}", error.remedy) from error
    found = next(
        (d for d in answer.distributions if canonicalize_name(d.name) == canonicalize_name(name)), None
    )
    if found is None:
        known = [other.lower() for other in answer.names]
        close = difflib.get_close_matches(name.lower(), known, n=4, cutoff=0.5)
        near = f"Near names: {', '.join(close)}. " if close else ""
        raise SourceError(
            label,
            f"{python} has no distribution {name!r}",
            f"{near}Name the interpreter that has it with --python.",
        )
    places: dict[str, Path] = {}
    for package, where in sorted(found.packages.items()):
        place = Path(where)
        if place.is_dir():
            places |= dict(walk(place, package))
        elif place.is_file():
            places[place.name] = place
    if not places:
        raise SourceError(label, "its packages are not where its metadata says", "Install it again.")
    if found.metadata:
        folder = Path(found.metadata)
        places |= {f"{folder.name}/{file}": folder / file for file in _METADATA if (folder / file).is_file()}
    tops = {place.resolve().parent for place in map(Path, found.packages.values())}
    blobs, kept, skipped = listed_files(places, tops.pop() if len(tops) == 1 else Path(os.devnull))
    identity = Identity(
        kind="installed",
        label=label,
        name=found.name,
        version=found.version,
        digest=tree_digest(sorted(blobs.items())),
    )
    snapshot = InstalledSnapshot(identity, blobs, skipped, kept)
    snapshot.editable = found.editable
    return snapshot

"""Says where an installed distribution lies. Runs in another interpreter: standard library alone, 3.9+.

Usage: ``python -I -c SCRIPT NAME``. Prints one JSON object:

- ``name``, ``version``, ``metadata`` (its ``.dist-info`` folder or None), ``editable`` (true or false),
- ``packages``: import name -> [folder or file, …] that hold it,
- or ``missing``: true with ``known``: the names of all distributions.

Nothing of the distribution is imported: its metadata, its ``.pth`` lines and the literal mapping in the
finder module of an editable install are read as text.
"""

from __future__ import annotations

import ast
import json
import os
import re
import site
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse


def search_path() -> list[str]:
    """sys.path, plus the user's packages, which ``-I`` leaves out but an ordinary start has."""
    path = list(sys.path)
    if sys.prefix == sys.base_prefix:
        user = site.getusersitepackages()
        if Path(user).is_dir() and user not in path:
            path.append(user)
    return path


def normal(name: str | None) -> str:
    return re.sub(r"[-_.]+", "-", name or "").lower()


def editable_project(dist: metadata.Distribution) -> str | None:
    """Folder of the project when the distribution is an editable install, else None."""
    try:
        direct = json.loads(dist.read_text("direct_url.json") or "{}")
    except ValueError:
        return None
    if not (direct.get("dir_info") or {}).get("editable"):
        return None
    return unquote(urlparse(direct.get("url", "")).path) or None


def finder_mapping(text: str) -> dict[str, str]:
    """The literal ``MAPPING = {name: place}`` of an editable finder module."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    for node in tree.body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(t, ast.Name) and t.id == "MAPPING" for t in targets) and node.value is not None:
            try:
                return dict(ast.literal_eval(node.value))
            except (ValueError, TypeError):
                return {}
    return {}


def read(place: str) -> str:
    try:
        return Path(place).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def from_record(dist: metadata.Distribution) -> tuple[dict[str, str], list[str], dict[str, str]]:
    """Top-level packages and modules by the list of installed files, and the folders that .pth files add."""
    packages: dict[str, str] = {}
    folders: list[str] = []
    mapping: dict[str, str] = {}
    for file in dist.files or []:
        parts = file.parts
        if not parts or parts[0] in ("..", "__pycache__") or file.is_absolute():
            continue
        place = str(dist.locate_file(file))
        if len(parts) == 1:
            name = parts[0]
            if name.endswith(".pth"):
                for line in read(place).splitlines():
                    line = line.strip()
                    if line and not line.startswith(("#", "import ", "import\t")):
                        folders.append(os.path.normpath(Path(place).parent / line))
            elif name.startswith("__editable___") and name.endswith(".py"):
                mapping.update(finder_mapping(read(place)))
            elif name.endswith((".py", ".pyi")):
                packages.setdefault(name.split(".")[0], place)
        elif not parts[0].endswith((".dist-info", ".egg-info", ".data")) and parts[-1].endswith(
            (".py", ".pyi")
        ):
            packages.setdefault(parts[0], str(dist.locate_file(parts[0])))
    return packages, folders, mapping


def below(folder: str, names: list[str]) -> dict[str, str]:
    """Those of ``names`` that lie in ``folder``; with none known, every package there."""
    found: dict[str, str] = {}
    for name in names:
        for place in (Path(folder, name), Path(folder, name + ".py")):
            if place.exists():
                found.setdefault(name, str(place))
    if not names and Path(folder).is_dir():
        for place in sorted(Path(folder).iterdir()):
            if (place / "__init__.py").is_file():
                found[place.name] = str(place)
    return found


def describe(dist: metadata.Distribution) -> dict[str, Any]:
    packages, folders, mapping = from_record(dist)
    project = editable_project(dist)
    tops = (dist.read_text("top_level.txt") or "").split()
    if not packages and not folders and not mapping:
        # An egg-link or a distribution without a list of files: what lies beside its metadata.
        folders = [project or str(dist.locate_file(""))]
        tops = tops or [normal(dist.metadata["Name"]).replace("-", "_")]
    for folder in folders:
        guess = [normal(dist.metadata["Name"]).replace("-", "_")]
        found = (tops and below(folder, tops)) or below(folder, guess) or below(folder, [])
        for name, place in found.items():
            packages.setdefault(name, place)
    for name, place in mapping.items():
        if "." in name:
            continue
        packages[name] = place if Path(place).exists() else place + ".py"
    inner = getattr(dist, "_path", None)
    return {
        "name": dist.metadata["Name"],
        "version": dist.version,
        "metadata": str(inner) if inner is not None and Path(str(inner)).is_dir() else None,
        "editable": project is not None,
        "packages": packages,
    }


def main(name: str) -> dict[str, Any]:
    path = search_path()
    found = [d for d in metadata.distributions(path=path) if normal(d.metadata["Name"]) == normal(name)]
    if not found:
        known = sorted({d.metadata["Name"] for d in metadata.distributions(path=path) if d.metadata["Name"]})
        return {"missing": True, "known": known}
    return describe(found[0])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])))

"""griffe's report of breaking changes from base to target, joined with what the plugin imports and overrides.

griffe compares two versions of a library and knows nothing of who uses it. The join is the least one would do by
hand: a change of something that the plugin imports is shown at the import, and a change of a method at the plugin's
override of it.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from evals.baselines.places import ToolMissing, kept_on_disk
from evals.records import Row
from tools.code.tree import Tree
from tools.findings import short_hash
from tools.review import Trees

FAMILY = {
    "OBJECT_REMOVED": "IMP",
    "OBJECT_CHANGED_KIND": "IMP",
    "PARAMETER_MOVED": "CAL",
    "PARAMETER_REMOVED": "CAL",
    "PARAMETER_CHANGED_KIND": "CAL",
    "PARAMETER_CHANGED_DEFAULT": "DRF",
    "PARAMETER_CHANGED_REQUIRED": "CAL",
    "PARAMETER_ADDED_REQUIRED": "CAL",
    "RETURN_CHANGED_TYPE": "RET",
    "ATTRIBUTE_CHANGED_TYPE": "ATT",
    "ATTRIBUTE_CHANGED_VALUE": "DRF",
    "CLASS_REMOVED_BASE": "MRO",
}
"""Kind of breakage -> family of checks."""


def griffe_joined(trees: Trees, cache: Path) -> list[Row]:
    """Breaking changes at the plugin's places. Raises ToolMissing."""
    if importlib.util.find_spec("griffe") is None:
        raise ToolMissing("griffe is not installed; it comes with the extra `eval`")
    changes: dict[str, list[tuple[str, str]]] = {}
    for path, kind, text in _breakages(trees.base, trees.target, cache):
        changes.setdefault(path, []).append((kind, text))
    rows = [*_at_imports(trees.plugin, changes), *_at_overrides(trees.plugin, changes)]
    return sorted(rows, key=lambda r: (r.path, r.line, r.message))


def _breakages(base: Tree, target: Tree, cache: Path) -> list[tuple[str, str, str]]:
    """(dotted path, kind, what changed). The same for every plugin, so kept."""
    place = cache / "eval" / "griffe" / f"{short_hash(base.digest, target.digest)}.json"
    if place.exists():
        return [(p, k, t) for p, k, t in json.loads(place.read_text(encoding="utf-8"))]
    import griffe

    # It logs every docstring and alias that it cannot follow.
    logging.getLogger("griffe").setLevel(logging.CRITICAL)
    loaded: list[Any] = [
        griffe.load(
            tree.package,
            search_paths=[str(kept_on_disk(tree, cache))],
            allow_inspection=False,
            try_relative_path=False,
        )
        for tree in (base, target)
    ]
    found = sorted(
        (breakage.obj.path, breakage.kind.name, str(breakage.explain(griffe.ExplanationStyle.VERBOSE)))
        for breakage in griffe.find_breaking_changes(*loaded)
    )
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_suffix(f".part-{os.getpid()}")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(place)
    return found


def _at_imports(plugin: Tree, changes: Mapping[str, list[tuple[str, str]]]) -> Iterable[Row]:
    for module, record in plugin.modules.items():
        for imported in record.imports:
            dotted = plugin.absolute(module, imported)
            for path in (dotted, f"{dotted}.__init__"):
                for kind, text in changes.get(path, ()):
                    name = imported.name or dotted.rpartition(".")[2]
                    yield _row(plugin, module, imported.line, name, kind, f"{path}: {text}")


def _at_overrides(plugin: Tree, changes: Mapping[str, list[tuple[str, str]]]) -> Iterable[Row]:
    for module, record in plugin.modules.items():
        imports = {i.bound: plugin.absolute(module, i) for i in record.imports}
        for cls in record.classes:
            bases = [
                f"{imports[first]}{dot}{rest}"
                for first, dot, rest in (b.partition(".") for b in cls.bases)
                if first in imports
            ]
            for function in record.functions:
                owner, _, name = function.qualname.rpartition(".")
                if owner != cls.qualname:
                    continue
                for path in (f"{base}.{name}" for base in bases):
                    for kind, text in changes.get(path, ()):
                        row = _row(plugin, module, function.line, function.qualname, kind, f"{path}: {text}")
                        yield row.model_copy(update={"family": "OVR"}) if row.family == "CAL" else row


def _row(plugin: Tree, module: str, line: int, symbol: str, kind: str, text: str) -> Row:
    return Row(
        path=plugin.paths[module],
        line=line,
        symbols=(symbol,),
        family=FAMILY.get(kind, ""),
        message=f"{kind}: {' '.join(text.split())}",
    )

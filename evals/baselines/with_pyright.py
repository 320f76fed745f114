"""pyright, from the npm registry."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evals.baselines.places import TIMEOUT, ToolMissing, kept_on_disk, package_folder, symbols_at
from evals.bench import PYRIGHT as PYRIGHT_PACKAGE
from evals.causes import PYRIGHT, family_of_rule
from evals.records import Row
from tools.code.tree import Tree
from tools.review import Trees


def pyright_target(trees: Trees, cache: Path) -> list[Row]:
    """pyright's errors and warnings on the plugin with target in sight. Raises ToolMissing."""
    program = _pyright(cache)
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-eval-") as name:
        scratch = Path(name).resolve()
        plugin, target = trees.plugin, trees.target
        folder = plugin.snapshot.materialize(
            scratch / "plugin", package_folder(plugin), suffixes=(".py", ".pyi")
        )
        config = {
            "include": [package_folder(plugin)],
            "extraPaths": [str(kept_on_disk(target, cache))],
            "pythonVersion": "3.12",
        }
        (folder / "pyrightconfig.json").write_text(json.dumps(config), encoding="utf-8")
        done = subprocess.run(
            [str(program), "--outputjson", "-p", str(folder / "pyrightconfig.json")],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        found = json.loads(done.stdout)["generalDiagnostics"]
        return list(_of_pyright(plugin, folder, found))


def _of_pyright(plugin: Tree, folder: Path, found: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for item in found:
        path = Path(item["file"]).resolve().relative_to(folder.resolve()).as_posix()
        module = plugin.modules_at.get(path)
        if module is None:
            continue
        line, rule = item["range"]["start"]["line"] + 1, item.get("rule", "")
        yield Row(
            path=path,
            line=line,
            symbols=symbols_at(plugin, module, line, item["message"]),
            family=family_of_rule(rule, item["message"], PYRIGHT),
            message=f"{rule}: {item['message'].splitlines()[0]}",
        )


def _pyright(cache: Path) -> Path:
    """The program, installed into the cache when it is not there."""
    place = cache / "eval" / "tools" / PYRIGHT_PACKAGE.replace("@", "-")
    program = place / "node_modules" / ".bin" / "pyright"
    if program.exists():
        return program
    npm = shutil.which("npm")
    if npm is None:
        raise ToolMissing("npm is not installed")
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [npm, "install", "--silent", "--prefix", str(place), PYRIGHT_PACKAGE],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode or not program.exists():
        raise ToolMissing(f"npm could not install {PYRIGHT_PACKAGE}")
    return program

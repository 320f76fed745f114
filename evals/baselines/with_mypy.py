"""mypy on the plugin, with target on its path and target's own errors silenced."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evals.baselines.places import TIMEOUT, ToolMissing, kept_on_disk, package_folder, symbols_at
from evals.causes import MYPY, family_of_rule
from evals.records import Row
from tools.code.tree import Tree
from tools.review import Trees


def mypy_target(trees: Trees, cache: Path) -> list[Row]:
    """mypy's errors on the plugin. Raises ToolMissing."""
    if importlib.util.find_spec("mypy") is None:
        raise ToolMissing("mypy is not installed; it comes with the extra `eval`")
    target = kept_on_disk(trees.target, cache)
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-eval-") as name:
        folder = Path(name).resolve()
        trees.plugin.snapshot.materialize(folder, package_folder(trees.plugin), suffixes=(".py", ".pyi"))
        done = subprocess.run(
            [
                *(sys.executable, "-m", "mypy", "--config-file=", "--output=json", "--no-error-summary"),
                *("--python-version=3.12", "--follow-imports=silent", "--ignore-missing-imports"),
                # Without it functions that lack annotations, most of a plugin, are not looked at.
                "--check-untyped-defs",
                f"--cache-dir={cache / 'eval' / 'mypy' / trees.target.digest[:20]}",
                *("-p", trees.plugin.package),
            ],
            cwd=folder / trees.plugin.prefix,
            env={**os.environ, "MYPYPATH": os.pathsep.join((str(folder / trees.plugin.prefix), str(target)))},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        # 0: nothing found, 1: errors found, 2: it could not go on; rows may stand before that.
        if done.returncode not in (0, 1):
            raise ToolMissing(f"mypy stopped: {(done.stderr or done.stdout).strip().splitlines()[-1][:200]}")
        return list(_rows(trees.plugin, done.stdout.splitlines()))


def _rows(plugin: Tree, lines: Iterable[str]) -> Iterable[Row]:
    for text in lines:
        said = json.loads(text)
        module = plugin.modules_at.get(f"{plugin.prefix}{Path(said['file']).as_posix()}")
        if module is None or said["severity"] != "error":
            continue
        code, message, line = said["code"] or "", said["message"], max(said["line"], 1)
        family = "IMP" if message.startswith("Module ") else family_of_rule(code, message, MYPY)
        yield Row(
            path=plugin.paths[module],
            line=line,
            symbols=symbols_at(plugin, module, line, message),
            family=family,
            message=f"{code}: {message}",
        )

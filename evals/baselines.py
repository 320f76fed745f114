"""Other tools on the same inputs, each mapped to rows of (file, line, symbols, family)."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from evals.bench import PYRIGHT as PYRIGHT_PACKAGE
from evals.causes import PYRIGHT, TY, family_of_rule
from evals.records import Row
from tools.code.tree import Tree
from tools.code.typecheck import Diagnostic, diagnose
from tools.review import Trees

TIMEOUT = 600
"""Seconds for one run of a tool."""
_QUOTED = re.compile(r"[`\"']([A-Za-z_][\w.]*)[`\"']")


class ToolMissing(Exception):
    """The tool cannot be run here; the text says why."""


def ty_target(trees: Trees, cache: Path) -> list[Row]:
    """ty on the plugin with target in sight."""
    return [_of_ty(trees, d) for d in diagnose(trees.plugin, trees.target, cache)]


def ty_difference(trees: Trees, cache: Path) -> list[Row]:
    """What ty says of target and did not say of base; alike whatever the line, as often as it is new."""
    before = Counter((d.rule, d.module, d.message) for d in diagnose(trees.plugin, trees.base, cache))
    rows = []
    for row in diagnose(trees.plugin, trees.target, cache):
        key = (row.rule, row.module, row.message)
        if before[key]:
            before[key] -= 1
        else:
            rows.append(_of_ty(trees, row))
    return rows


def _of_ty(trees: Trees, row: Diagnostic) -> Row:
    family = family_of_rule(row.rule, row.message, TY)
    if row.rule == "unresolved-import" or "has no member" in row.message:
        family = "IMP"
    return Row(
        path=trees.plugin.paths[row.module],
        line=row.line,
        symbols=_symbols(trees.plugin, row.module, row.line, row.message),
        family=family,
        message=f"{row.rule}: {row.message}",
    )


def pyright_target(trees: Trees, cache: Path) -> list[Row]:
    """pyright's errors and warnings on the plugin with target in sight. Raises ToolMissing."""
    program = _pyright(cache)
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-eval-") as name:
        scratch = Path(name).resolve()
        plugin, target = trees.plugin, trees.target
        folder = plugin.snapshot.materialize(scratch / "plugin", _package(plugin), suffixes=(".py", ".pyi"))
        lying = target.snapshot.root or target.snapshot.materialize(
            scratch / "target", _package(target), suffixes=(".py", ".pyi")
        )
        config = {
            "include": [_package(plugin)],
            "extraPaths": [str(lying / target.prefix)],
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


def _package(tree: Tree) -> str:
    return f"{tree.prefix}{tree.package.replace('.', '/')}"


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
            symbols=_symbols(plugin, module, line, item["message"]),
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


def _symbols(tree: Tree, module: str, line: int, message: str) -> tuple[str, ...]:
    """What a row speaks of: the function or class around it, or outside of all the names it quotes."""
    around = enclosing(tree.snapshot.read(tree.paths[module]), line)
    if around:
        return (around,)
    return tuple(dict.fromkeys(name.rpartition(".")[2] for name in _QUOTED.findall(message)))


def enclosing(content: bytes, line: int) -> str:
    """``Qual.name`` of the innermost function or class around ``line``; '' at module level."""
    node = _parsed(content)
    names: list[str] = []
    while True:
        inner = next((c for c in _scopes(node) if _begin(c) <= line <= (c.end_lineno or 0)), None)
        if inner is None:
            return ".".join(names)
        names.append(inner.name)
        node = inner


@lru_cache(maxsize=16)  # rows come file by file
def _parsed(content: bytes) -> ast.AST:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in code that is not ours
            return ast.parse(content)
    except (SyntaxError, ValueError):
        return ast.Module([], [])


_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _scopes(node: ast.AST) -> Iterable[_Scope]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Scope):
            yield child
        elif isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _scopes(child)


def _begin(node: _Scope) -> int:
    return min([node.lineno, *(d.lineno for d in node.decorator_list)])


BASELINES: dict[str, Callable[[Trees, Path], list[Row]]] = {
    "ty": ty_target,
    "ty-diff": ty_difference,
    "pyright": pyright_target,
}
NOT_YET = {
    "mypy": "no adapter yet",
    "griffe": "no adapter yet",
    "merge-file": "there is no three-way merge yet to compare with",
}
"""Baselines that are wanted and do not exist here; results say so."""

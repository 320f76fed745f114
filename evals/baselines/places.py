"""What the adapters share: where a row of another tool stands, and trees on disk for tools that want files."""

from __future__ import annotations

import ast
import re
import tempfile
import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from tools.code.tree import Tree

TIMEOUT = 600
"""Seconds for one run of a tool."""
_QUOTED = re.compile(r"[`\"']([A-Za-z_][\w.]*)[`\"']")


class ToolMissing(Exception):
    """The tool cannot be run here; the text says why."""


def package_folder(tree: Tree) -> str:
    """The package of ``tree`` below the root of its snapshot."""
    return f"{tree.prefix}{tree.package.replace('.', '/')}"


def kept_on_disk(tree: Tree, cache: Path) -> Path:
    """Folder that holds the package of ``tree``; the same one every time, so that a tool's own cache stays good."""
    if tree.snapshot.root is not None:
        return tree.snapshot.root / tree.prefix
    place = cache / "eval" / "trees" / tree.digest[:20]
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent) as name:
            made = Path(name) / "tree"
            made.mkdir()
            tree.snapshot.materialize(made, package_folder(tree), suffixes=(".py", ".pyi"))
            try:
                made.rename(place)
            except OSError:
                if not place.exists():  # else another process was first
                    raise
    return place / tree.prefix


def symbols_at(tree: Tree, module: str, line: int, message: str) -> tuple[str, ...]:
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

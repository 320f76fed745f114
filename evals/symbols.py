"""Which symbols of the plugin differ between two of its trees, as syntax: comments and docstrings do not count."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from tools.sources.snapshot import Snapshot

_SAME_FILE = 0.5
"""Share of equal symbols from which a file of the same name in another folder is the same one, moved."""
REST = "<module>"
"""Name for the statements of a module that bind nothing."""


@dataclass
class FileSymbols:
    """Symbols of one file."""

    digests: dict[str, str] = field(default_factory=dict)
    """Functions, classes, methods, and what assignments and imports bind at module or class level."""
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    """First and last line of each; inner ones follow outer ones."""

    def at(self, line: int) -> str:
        """The innermost symbol around ``line``; REST outside of all."""
        inside = [s for s in self.spans if s[0] <= line <= s[1]]
        return min(inside, key=lambda s: s[1] - s[0])[2] if inside else REST

    def resolve(self, symbol: str, line: int) -> str:
        """What a finding speaks of: its symbol, the part of it that exists, or what stands at its line."""
        parts = symbol.split(".") if symbol else []
        while parts:
            if ".".join(parts) in self.digests:
                return ".".join(parts)
            parts.pop()
        return self.at(line)


def file_symbols(content: bytes) -> FileSymbols:
    """Empty for a file that is no Python."""
    found = FileSymbols()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in code that is not ours
            tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return found
    rest: list[str] = []
    _body(tree.body, "", found, rest)
    found.digests[REST] = _digest("\n".join(rest))
    return found


def _body(body: list[ast.stmt], prefix: str, found: FileSymbols, rest: list[str]) -> None:
    for node in body:
        names = list(_names(node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            name = prefix + node.name
            _add(found, name, _dump(node), first, node.end_lineno or first)
            if isinstance(node, ast.ClassDef):
                _body(node.body, f"{name}.", found, [])
        elif names:
            for name, text in names:
                _add(found, prefix + name, text, node.lineno, node.end_lineno or node.lineno)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            rest.append(_head(node))
            for part in _parts(node):
                _body(part, prefix, found, rest)
        else:
            rest.append(_dump(node))


def _add(found: FileSymbols, name: str, text: str, first: int, last: int) -> None:
    # Bound twice (branches of an `if`, overloads): both count.
    found.digests[name] = _digest(found.digests.get(name, "") + text)
    found.spans.append((first, last, name))


def _names(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """(name, what it is bound to) of an import or an assignment to plain names."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], f"import {alias.name}"
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"from {node.level} {node.module} import {alias.name}"
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    yield part.id, ast.dump(node)


def _parts(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for handler in getattr(node, "handlers", []):
        yield handler.body


def _head(node: ast.stmt) -> str:
    """A compound statement without its blocks."""
    parts = [getattr(node, n, None) for n in ("test", "target", "iter")]
    parts += [h.type for h in getattr(node, "handlers", [])] + [
        i.context_expr for i in getattr(node, "items", [])
    ]
    return type(node).__name__ + "".join(ast.dump(p) for p in parts if p is not None)


def _dump(node: ast.stmt) -> str:
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and ast.get_docstring(inner, clean=False) is not None
        ):
            inner.body = inner.body[1:] or [ast.Pass()]
    return ast.dump(node)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def symbol_changes(before: Snapshot, after: Snapshot, package: str) -> dict[str, list[str]]:
    """Path in ``before`` -> symbols that ``after`` has not, or otherwise, or that only ``after`` has there.

    Files that were only moved to another folder are compared with where they went.
    """
    was, now = _files(before, package), _files(after, package)
    changes = {}
    gone_to = _moved(before, after, was, now)
    for path, blob in was.items():
        there = path if path in now else gone_to.get(path)
        if there is not None and now[there] == blob:
            continue
        old = file_symbols(before.read(path)).digests
        new = file_symbols(after.read(there)).digests if there is not None else {}
        different = sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n))
        if different:
            changes[path] = different
    return changes


def _files(snapshot: Snapshot, package: str) -> dict[str, str]:
    marker = f"{package}/"
    return {
        p: snapshot.blob(p)
        for p in snapshot.paths()
        if p.endswith(".py") and (p.startswith(marker) or f"/{marker}" in p)
    }


def _moved(
    before: Snapshot, after: Snapshot, was: Mapping[str, str], now: Mapping[str, str]
) -> dict[str, str]:
    """Files of ``before`` -> the file of ``after`` that is the same one in another folder."""
    arrived: dict[str, list[str]] = {}
    for path in now.keys() - was.keys():
        arrived.setdefault(PurePosixPath(path).name, []).append(path)
    moved = {}
    for path in sorted(was.keys() - now.keys()):
        old = file_symbols(before.read(path)).digests
        best, where = 0.0, ""
        for candidate in sorted(arrived.get(PurePosixPath(path).name, ())):
            new = file_symbols(after.read(candidate)).digests
            same = sum(new.get(n) == d for n, d in old.items() if n != REST)
            share = same / max(len(old) - 1, len(new) - 1, 1)
            if share > best:
                best, where = share, candidate
        if best >= _SAME_FILE:
            moved[path] = where
    return moved

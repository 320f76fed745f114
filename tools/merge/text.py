"""Files as lines that keep their ends, the definitions in them, and edits of whole lines."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tools.code.syntax import parse

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""As Python counts lines: form feeds and Unicode separators end none."""
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Edit:
    """Lines ``start`` to ``end`` (counted from 0, end left out) give way to ``lines``."""

    start: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    """One readable file. ``spans`` maps qualified names to (first, end) lines, decorators included."""

    lines: tuple[str, ...]
    tree: ast.Module
    spans: dict[str, tuple[int, int]]
    nodes: dict[str, Definition]

    def text(self, name: str) -> str:
        """Source of one definition, with LF at the ends of its lines."""
        first, end = self.spans[name]
        return unix("".join(self.lines[first:end]))


def read_source(content: bytes, tree: ast.Module | None = None) -> Source | None:
    """None for what is no UTF-8 or does not parse. A name defined twice is left out: which is meant is not known.

    ``tree`` is its syntax, where that was read before.
    """
    try:
        text = content.decode("utf-8")
        tree = tree or parse(content)
    except (UnicodeDecodeError, SyntaxError, ValueError, RecursionError):
        return None
    spans: dict[str, tuple[int, int]] = {}
    nodes: dict[str, Definition] = {}
    twice: set[str] = set()
    for name, node in _definitions(tree.body, ""):
        if name in spans:
            twice.add(name)
        first = min(node.lineno, *(d.lineno for d in node.decorator_list), node.lineno)
        spans[name] = first - 1, node.end_lineno or first
        nodes[name] = node
    for name in twice:  # overloads, properties, branches
        del spans[name], nodes[name]
    return Source(tuple(_LINE.findall(text)), tree, spans, nodes)


def _definitions(body: Sequence[ast.stmt], prefix: str) -> Iterator[tuple[str, Definition]]:
    for node in body:
        if isinstance(node, Definition):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _definitions(getattr(node, part, []), prefix)
            for handler in getattr(node, "handlers", []):
                yield from _definitions(handler.body, prefix)


def unix(text: str) -> str:
    """With LF as the only line end."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def edits_of(source: Source, name: str, new: str) -> tuple[Edit, ...]:
    """What turns the definition ``name`` into ``new``; lines that stay are not touched at all."""
    first, end = source.spans[name]
    return line_edits(source, first, end, new)


def line_edits(source: Source, first: int, end: int, new: str) -> tuple[Edit, ...]:
    """As :func:`edits_of`, for the lines from ``first`` to ``end``."""
    old = [unix(line) for line in source.lines[first:end]]
    fresh = [line if line.endswith("\n") else f"{line}\n" for line in new.split("\n")]
    if new.endswith("\n"):
        fresh.pop()
    if old and not old[-1].endswith("\n"):
        fresh[-1] = fresh[-1].removesuffix("\n")
    ending = _ending(source)
    out = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, fresh, autojunk=False).get_opcodes():
        if tag != "equal":
            lines = tuple(line.replace("\n", ending) for line in fresh[j1:j2])
            out.append(Edit(first + i1, first + i2, lines))
    return tuple(out)


def _ending(source: Source) -> str:
    """The end that most lines have."""
    ends = [line[len(line.rstrip("\r\n")) :] for line in source.lines]
    return max(("\n", "\r\n", "\r"), key=ends.count)


def applied(source: Source, edits: Iterable[Edit]) -> bytes:
    """The file with ``edits``. Equal ones count once. Raises ValueError when two overlap."""
    lines = list(source.lines)
    ordered = sorted(set(edits), key=lambda e: (e.start, e.end, e.lines))
    for one, two in itertools.pairwise(ordered):
        if one.end > two.start:
            raise ValueError(f"edits of lines {one.start + 1} and {two.start + 1} overlap")
    for edit in reversed(ordered):
        new = list(edit.lines)
        if new and edit.start == len(lines) and lines and not lines[-1].endswith(("\n", "\r")):
            new.insert(0, _ending(source))
        lines[edit.start : edit.end] = new
    return "".join(lines).encode("utf-8")

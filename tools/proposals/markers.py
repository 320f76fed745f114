"""Which lines of a plugin file an upgrade must not change without a word: those that markers say are meant so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_OPENS = re.compile(r"#\s*(?:/|┌|╔|<)\s*[-─=_]{3,}|#.*\bbegin\b", re.I)
_CLOSES = re.compile(r"#\s*(?:\\|└|╚)\s*[-─=_]{3,}|#.*\bend\b", re.I)


def is_marker(line: str, markers: Iterable[str]) -> bool:
    """True for a comment that holds one of ``markers``, in any case."""
    _, hash_sign, comment = line.partition("#")
    low = comment.lower()
    return bool(hash_sign) and any(m.lower() in low for m in markers)


def covered(lines: Sequence[str], markers: Sequence[str]) -> frozenset[int]:
    """Indexes of the lines that markers cover.

    A block is covered from its opening to its closing line. A single marker covers its own line with the comment
    around it, and the statement below (or the one that it stands behind).
    """
    out: set[int] = set()
    index = 0
    while index < len(lines):
        if not is_marker(lines[index], markers):
            index += 1
            continue
        end = _closing(lines, index) if _OPENS.search(lines[index]) else None
        end = _statement(lines, index) if end is None else end
        out.update(range(index, end + 1))
        index = end + 1
    return frozenset(out)


def _closing(lines: Sequence[str], start: int) -> int | None:
    for index in range(start + 1, len(lines)):
        if _CLOSES.search(lines[index]):
            return index
        if _OPENS.search(lines[index]):
            return None
    return None


def _statement(lines: Sequence[str], start: int) -> int:
    """Last line of what a marker on a line of its own speaks of."""
    if not lines[start].lstrip().startswith("#"):
        return start
    index = start
    while index + 1 < len(lines) and lines[index].lstrip().startswith("#"):
        index += 1
    depth = len(lines[index]) - len(lines[index].lstrip())
    while index + 1 < len(lines):
        following = lines[index + 1]
        closes = following.lstrip().startswith((")", "]", "}"))
        inside = len(following) - len(following.lstrip()) > depth or (closes and bool(following.strip()))
        if not inside:
            break
        index += 1
    return index

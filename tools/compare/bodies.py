"""How alike two pieces of source are: what follows code that moved or was renamed.

Code is reduced to the set of its lines without indentation, comments and its own name. That is coarse, fast,
and enough to tell a moved body from another of the same name.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tools.code.records import Class, Function
from tools.code.tree import Tree

_SHORTEST = 4
"""Characters. Shorter lines (``)``, ``],``) are shared by everything."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def dice(left: frozenset[str], right: frozenset[str]) -> float:
    """Share of common elements: 0 to 1."""
    total = len(left) + len(right)
    return 2 * len(left & right) / total if total else 0.0


@lru_cache(maxsize=4096)
def words(name: str) -> frozenset[str]:
    """Lower-case words of a dotted, CamelCase or snake_case name."""
    return frozenset(w.lower() for w in _WORD.findall(name))


class Bodies:
    """Line sets of the symbols of one tree, computed once each."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._lines: dict[tuple[str, str], frozenset[str]] = {}

    def record(self, module: str, qualname: str) -> Function | Class | None:
        """The definition, when it is a function, method or class."""
        space = self.tree.namespace(module)
        return space.classes.get(qualname) or space.functions.get(qualname)

    def lines(self, module: str, qualname: str) -> frozenset[str]:
        """Lines that say something; empty for what is no def or class."""
        key = (module, qualname)
        found = self._lines.get(key)
        if found is None:
            record = self.record(module, qualname)
            found = self._lines[key] = self._read(module, record) if record is not None else frozenset()
        return found

    def _read(self, module: str, record: Function | Class) -> frozenset[str]:
        name = record.qualname.rpartition(".")[2]
        out = set()
        for raw in self.tree.lines(module)[record.line - 1 : record.end_line]:
            line = raw.strip()
            if len(line) >= _SHORTEST and line[0] != "#":
                out.add(line.replace(name, "\N{SECTION SIGN}") if name in line else line)
        return frozenset(out)


def alike(left: Bodies, a: tuple[str, str], right: Bodies, b: tuple[str, str]) -> float:
    """0 to 1 for two (module, qualname)."""
    one, two = left.record(*a), right.record(*b)
    if one is None or two is None:
        return 0.0
    if one.text_hash == two.text_hash:
        return 1.0
    return dice(left.lines(*a), right.lines(*b))

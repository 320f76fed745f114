"""A class without its methods: bases, decorators, attributes, and methods that upstream added to a copied class.

A stub stands for each method while the rest is merged, so that what a method says plays no part.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from tools.merge.nodes import Keys, parse_symbol
from tools.merge.symbols import SymbolMerge, merge_symbol
from tools.merge.text import Source

_STUB = '"the method as it is"'


@dataclass(frozen=True)
class ClassMerge:
    """The class merged, with its methods as the plugin has them."""

    merge: SymbolMerge
    added: tuple[str, ...]
    """Methods that upstream added."""
    removed: tuple[str, ...]
    """Methods that upstream removed and that the plugin had as they were."""


@dataclass(frozen=True)
class ClassText:
    """Lines of a class, and where its methods and inner classes stand in them."""

    lines: tuple[str, ...]
    members: dict[str, tuple[int, int]]

    def member(self, name: str) -> str:
        """Source of one member."""
        first, end = self.members[name]
        return "".join(self.lines[first:end])


def class_text(source: Source, name: str) -> ClassText:
    """The class ``name`` of ``source``. Members that are defined twice are left where they are."""
    start, end = source.spans[name]
    members = {
        inner.removeprefix(f"{name}."): (first - start, last - start)
        for inner, (first, last) in source.spans.items()
        if inner.startswith(f"{name}.") and "." not in inner.removeprefix(f"{name}.")
    }
    return ClassText(tuple(source.text(name).splitlines(keepends=True)[: end - start]), members)


def merge_class(
    own: ClassText, base: ClassText, target: ClassText, names: Mapping[str, str], *, copied: bool
) -> ClassMerge:
    """Merge a class. A class that derives from its counterpart (``copied`` false) inherits what upstream added.

    Raises Unreadable.
    """
    added = tuple(n for n in target.members if n not in base.members and n not in own.members and copied)
    gone = [n for n in base.members if n in own.members and n not in target.members]
    removed = tuple(n for n in gone if copied and _same(own.member(n), base.member(n)))
    known = frozenset(n for n in own.members if n not in gone or n in removed)
    mine = _stubbed(own, frozenset(own.members), frozenset())
    merge = merge_symbol(
        mine, _stubbed(base, known, frozenset()), _stubbed(target, known, frozenset(added)), names
    )
    lines = []
    for line in merge.text.splitlines(keepends=True):
        if line.rstrip().endswith(_STUB):
            name = line.split()[1].removesuffix(":")
            lines.append(own.member(name) if name in own.members else target.member(name))
        else:
            lines.append(line)
    text = "".join(lines)
    return ClassMerge(
        SymbolMerge(text, merge.notes, merge.clashes, merge.untouched, merge.lost), added, removed
    )


def _same(one: str, two: str) -> bool:
    keys = Keys()
    return keys.meaning(parse_symbol(one)[1]) == keys.meaning(parse_symbol(two)[1])


def _stubbed(text: ClassText, own: frozenset[str], added: frozenset[str]) -> str:
    """The class with a stub for each member of ``own`` and ``added``, and without the others."""
    lines = list(text.lines)
    for name, (first, end) in sorted(text.members.items(), key=lambda m: -m[1][0]):
        indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
        stub = [f"{indent}class {name}: {_STUB}\n"]
        if name in own or name in added:
            lines[first:end] = stub
            continue
        while not lines[first - 1].strip():
            first -= 1  # the blank lines before it go with it
        del lines[first:end]
    whole = "".join(lines)
    try:
        ast.parse(textwrap.dedent(whole))
    except SyntaxError:  # nothing is left below the header
        indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
        return f"{whole}{indent}    pass\n"
    return whole

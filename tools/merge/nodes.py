"""Concrete syntax of one symbol: parsing it alone, and what makes two nodes equal.

Two keys for each node: its meaning (layout, quotes, parentheses and trailing commas apart), and that with its comments.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import libcst as cst

_LAYOUT = (
    cst.BaseParenthesizableWhitespace,
    cst.TrailingWhitespace,
    cst.EmptyLine,
    cst.Newline,
    cst.Comma,
    cst.Semicolon,
    cst.Colon,
    cst.LeftParen,
    cst.RightParen,
    cst.LeftSquareBracket,
    cst.RightSquareBracket,
    cst.LeftCurlyBrace,
    cst.RightCurlyBrace,
    cst.AssignEqual,
    cst.Dot,
    cst.ParamSlash,
)
_SKIPPED = frozenset({"indent", "encoding", "default_indent", "default_newline", "has_trailing_newline"})
"""Fields that say how a file is written."""
_MAYBE_EMPTY = frozenset({"lpar", "rpar", "leading_lines"})
"""Lists of layout: empty, they say nothing."""
_NODE = cst.CSTNode


class Unreadable(ValueError):
    """Text that is not one whole definition."""


def parse_symbol(text: str) -> tuple[cst.Module, cst.BaseStatement]:
    """The definition in ``text`` (indented or not) and the module around it.

    Raises Unreadable. ``render`` gives the text back, to the letter where nothing was changed.
    """
    indented = text[:1] in (" ", "\t")
    try:
        module = cst.parse_module(f"if 1:\n{text}" if indented else text)
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise Unreadable(str(error)) from error
    body: Sequence[Any] = module.body
    if indented and body and isinstance(body[0], cst.If) and isinstance(body[0].body, cst.IndentedBlock):
        if len(body) != 1:
            raise Unreadable("more than one definition")
        body = body[0].body.body
    if len(body) != 1 or not isinstance(body[0], cst.FunctionDef | cst.ClassDef):
        raise Unreadable("not one definition")
    return module, body[0]


def render(module: cst.Module, node: cst.BaseStatement) -> str:
    """Text of ``module`` as :func:`parse_symbol` gave it, with ``node`` for its definition."""
    first = module.body[0]
    if isinstance(first, cst.If) and isinstance(first.body, cst.IndentedBlock):
        inner = first.body.with_changes(body=[node])
        text = module.with_changes(body=[first.with_changes(body=inner)]).code
        return text.partition("\n")[2]
    return module.with_changes(body=[node]).code


class Keys:
    """Keys of nodes, each worked out once. Equal keys are the same integer."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int, cst.CSTNode]] = {}
        self._interned: dict[object, int] = {}
        self._words: dict[int, tuple[Counter[str], object]] = {}

    def words(self, node: Any) -> Counter[str]:
        """What :func:`words_in` gives, counted."""
        known = self._words.get(id(node))
        if known is None:
            known = self._words[id(node)] = (Counter(words_in(node)), node)
        return known[0]

    def meaning(self, node: Any) -> int:
        """Equal for nodes that do the same."""
        return self._keys(node)[0]

    def whole(self, node: Any) -> int:
        """Equal for nodes that do the same and say the same in comments."""
        return self._keys(node)[1]

    def _keys(self, node: Any) -> tuple[int, int]:
        if isinstance(node, _NODE):
            known = self._known.get(id(node))
            if known is None:
                known = self._known[id(node)] = (*self._of(node), node)  # kept alive: its id stays its own
            return known[0], known[1]
        if isinstance(node, list | tuple):
            pairs = [self._keys(item) for item in node]
            first, second = tuple([p[0] for p in pairs]), tuple([p[1] for p in pairs])
            one = self._number(("list", first))
            return one, one if first == second else self._number(("list", second))
        number = self._number((type(node), repr(node)))
        return number, number

    def _of(self, node: cst.CSTNode) -> tuple[int, int]:
        text = literal(node)
        if text is not None:
            number = self._number(("str", text))
            comments = tuple(comments_in(node))
            return number, self._number((number, comments)) if comments else number
        parts: list[tuple[str, int]] = []
        whole: list[tuple[str, object]] = []
        plain = True
        for name, value in every_field(node):
            if is_layout(value):
                comments = tuple(comments_in(value))
                if comments:
                    whole.append((name, comments))
                    plain = False
                continue
            if name in _SKIPPED or (not value and name in _MAYBE_EMPTY):
                continue
            one, two = self._keys(value)
            plain = plain and one == two
            parts.append((name, one))
            whole.append((name, two))
        number = self._number((type(node), tuple(parts)))
        return number, number if plain else self._number((type(node), "whole", tuple(whole)))

    def _number(self, key: object) -> int:
        return self._interned.setdefault(key, len(self._interned))


def every_field(node: cst.CSTNode) -> Iterator[tuple[str, Any]]:
    """(name, value) of all fields of ``node``."""
    for name in _names(type(node)):
        yield name, getattr(node, name)


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(n for n in kind.__dataclass_fields__ if n != "__slots__")  # type: ignore[attr-defined]


@cache
def _layout_type(kind: type) -> bool:
    return issubclass(kind, _LAYOUT)


def is_layout(value: object) -> bool:
    """True for what carries whitespace, comments and punctuation only."""
    if isinstance(value, list | tuple):
        return bool(value) and is_layout(value[0])
    kind: type[object] = type(value)
    return value is cst.MaybeSentinel.DEFAULT or _layout_type(kind)  # type: ignore[arg-type]


def literal(node: cst.CSTNode) -> str | None:
    """Repr of the value of a plain string, written in one piece or in several; None for other nodes."""
    if isinstance(node, cst.SimpleString):
        return repr(node.evaluated_value)
    if isinstance(node, cst.ConcatenatedString):
        value = node.evaluated_value
        return repr(value) if value is not None else None
    return None


def comments_in(value: Any) -> Iterator[str]:
    """Texts of all comments in a node or a list of nodes, in order."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from comments_in(item)
    elif type(value) is cst.Comment:
        yield value.value
    elif isinstance(value, _NODE) and type(value) is not cst.SimpleWhitespace:
        for _, inner in every_field(value):
            if isinstance(inner, _NODE | list | tuple):
                yield from comments_in(inner)


def words_in(node: Any) -> Iterator[str]:
    """Names and literals below ``node``, and the kinds of its parts: what two statements have in common."""
    if isinstance(node, list | tuple):
        for item in node:
            yield from words_in(item)
    elif isinstance(node, cst.Name | cst.SimpleString | cst.Integer | cst.Float):
        yield node.value
    elif isinstance(node, _NODE) and not _layout_type(type(node)):
        leaf = True
        for _, value in every_field(node):
            if isinstance(value, _NODE | list | tuple) and value and not is_layout(value):
                leaf = False
                yield from words_in(value)
        if leaf:
            yield type(node).__name__

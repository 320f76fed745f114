"""Source excerpts as HTML: highlighted, with true line numbers, hidden characters marked."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from markupsafe import Markup, escape
from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers.configs import TOMLLexer  # type: ignore[import-untyped]
from pygments.lexers.data import JsonLexer, YamlLexer  # type: ignore[import-untyped]
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)

from agent.report.text import clip, lines_of, pieces
from tools.findings import Evidence

MAX_LINES = 80
MAX_WIDTH = 600
_LEXERS: dict[str, type[Lexer]] = {
    ".py": PythonLexer,
    ".pyi": PythonLexer,
    ".toml": TOMLLexer,
    ".json": JsonLexer,
    ".yaml": YamlLexer,
    ".yml": YamlLexer,
}
_CLASSES = (
    (Comment, "C"),
    (String.Doc, "C"),
    (String, "S"),
    (Keyword, "K"),
    (Operator.Word, "K"),
    (Number, "N"),
    (Name.Decorator, "D"),
    (Name.Function, "F"),
    (Name.Class, "F"),
    (Name.Builtin, "D"),
)
"""Few classes, each with a colour of good contrast in light and in dark."""


def excerpt_html(item: Evidence, line: int | None, *, plain: bool = False) -> Markup:
    """The excerpt of ``item``; ``line`` is marked when it lies inside."""
    suffix = PurePosixPath(item.path or "").suffix if item.kind == "source" and not plain else ""
    first = item.lines[0] if item.lines else None
    inside = item.lines is not None and line is not None and item.lines[0] <= line <= item.lines[1]
    return _excerpt(item.excerpt, suffix, first, line if inside else None)


@lru_cache(maxsize=4096)
def _excerpt(excerpt: str, suffix: str, first: int | None, marked: int | None) -> Markup:
    lines = [clip(line, MAX_WIDTH) for line in lines_of(excerpt)]
    left_out = len(lines) - MAX_LINES
    rendered = []
    for offset, content in enumerate(_highlighted(lines[:MAX_LINES], suffix)):
        number = "" if first is None else f' data-n="{first + offset}"'
        hit = " hit" if first is not None and first + offset == marked else ""
        rendered.append(f'<span class="l{hit}"{number}>{content}\n</span>')
    if left_out > 0:
        rendered.append(f'<span class="l cut">… {left_out} more lines in report.json\n</span>')
    return Markup("".join(rendered))


def _highlighted(lines: list[str], suffix: str) -> Iterator[str]:
    """The lines as HTML, one each, whatever the lexer makes of them."""
    lexer_class = _LEXERS.get(suffix)
    if lexer_class is None:
        yield from map(shown, lines)
        return
    current: list[str] = []
    # A lexer may drop or change control characters; they stand in for themselves until they are shown.
    code = "\n".join(lines)
    for kind, value in lexer_class(stripnl=False, ensurenl=False).get_tokens(code):
        name = _class_of(kind)
        for position, part in enumerate(value.split("\n")):
            if position:
                yield "".join(current)
                current = []
            if part:
                html = shown(part)
                current.append(f"<i class={name}>{html}</i>" if name and not part.isspace() else html)
    yield "".join(current)


def _class_of(kind: _TokenType) -> str:
    return next((name for group, name in _CLASSES if kind in group), "")


def shown(text: str) -> str:
    """``text`` as HTML, hidden characters as marked escapes."""
    return "".join(
        f'<b class="u" title="hidden character">{part}</b>' if hidden else str(escape(part))
        for part, hidden in pieces(text)
    )

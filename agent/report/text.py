"""Untrusted text on its way into a report: hidden characters made visible, markup taken away.

Everything a report quotes (excerpts, paths, symbols, messages that name them) may come from a source tree
that somebody prepared. A reader must see every character that an editor or a terminal would act on.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_BLANK_LETTERS = frozenset("\u00a0\u115f\u1160\u2800\u3164\uffa0")
"""Characters that are letters or symbols by category and still draw nothing (or a plain space)."""
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff"
    "\U00010000-\U0010ffff]"
)
"""A quick superset of what is hidden; ``_is_hidden`` decides."""


def _is_hidden(char: str) -> bool:
    code = ord(char)
    if 0xFE00 <= code <= 0xFE0F or 0xE0000 <= code <= 0xE0FFF:  # variation selectors and tags
        return True
    if code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF:  # not characters at all
        return True
    category = unicodedata.category(char)
    return category in _HIDDEN_CATEGORIES or char in _BLANK_LETTERS or (category == "Zs" and char != " ")


def _mark(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\u27e6U+{code:04X}\u27e7"


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """``text`` in its order as (what to show, whether it stands for a hidden character)."""
    start = 0
    for match in _HIDDEN.finditer(text):
        if _is_hidden(match.group()):
            if match.start() > start:
                yield text[start : match.start()], False
            yield _mark(match.group()), True
            start = match.end()
    if start < len(text):
        yield text[start:], False


def visible(text: str) -> str:
    """``text`` with every hidden character replaced by a mark; line feeds and tabs stay."""
    if _HIDDEN.search(text) is None:
        return text
    return "".join(part for part, _ in pieces(text))


def lines_of(text: str) -> list[str]:
    """The lines of an excerpt as Python and git count them: split at LF, CRLF and CR only."""
    lines = re.split(r"\r\n|\r|\n", text)
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def one_line(text: str) -> str:
    """``text`` made visible, on one line, with runs of white space collapsed."""
    return visible(re.sub(r"[ \t\r\n]+", " ", text).strip())


def clip(text: str, limit: int) -> str:
    """``text``, cut to about ``limit`` characters with a note of how many are left out."""
    note = f"… (+{len(text) - limit} characters)"
    if len(text) <= limit + len(note):  # the note would take the room of what it stands for
        return text
    kept = text[:limit].rstrip()
    if kept.count("`") % 2:
        # Cut inside a name: close it, so that what is left is still shown as one.
        kept = f"{kept}`"
    return f"{kept}{note}"


def counted(number: int, singular: str, plural: str | None = None) -> str:
    """``3 errors``, ``1 error``."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def joined(parts: list[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


CODE_SPAN = re.compile(r"(?<!`)`(?=[^`]*[^`\s])([^`\r\n]{1,400})`(?!`)")
"""A name quoted in a message. Messages may hold these; any other markup in them is shown as it is written."""


def prose_parts(text: str) -> Iterator[tuple[str, bool]]:
    """A message as (text, whether it is a quoted name)."""
    start = 0
    for match in CODE_SPAN.finditer(text):
        if match.start() > start:
            yield text[start : match.start()], False
        yield match.group(1), True
        start = match.end()
    if start < len(text):
        yield text[start:], False

"""Untrusted text inside GitHub-flavoured Markdown: nothing in it acts as markup, HTML, mention or link."""

from __future__ import annotations

import html
import re

from agent.report.text import clip, lines_of, one_line, prose_parts, visible

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&$]")
_LINKING = re.compile(r"(?:(?<=[a-z])://|(?<![\w])www\.|[@#](?=\w)|(?<=GH)-(?=\d))", re.IGNORECASE)
_BREAK = "<!-- -->"
"""An empty comment draws nothing and keeps GitHub from seeing a mention, an issue or a link."""


class Safe(str):
    """Text that is Markdown already, on purpose."""

    __slots__ = ()


def prose(text: str) -> Safe:
    """A message on one line: names in backticks become code, everything else is shown as written."""
    return Safe("".join(code(part) if quoted else _plain(part) for part, quoted in _parts(text)))


def cell(text: str) -> Safe:
    """As ``prose``, for a table cell."""
    return Safe("".join(cell_code(part) if quoted else _plain(part) for part, quoted in _parts(text)))


def _parts(text: str) -> list[tuple[str, bool]]:
    return list(prose_parts(one_line(text)))


def _plain(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: "\\" + match.group(), text)
    return _LINKING.sub(_unlinked, escaped)


def _unlinked(match: re.Match[str]) -> str:
    found = match.group()
    if found in "@#":
        return found + _BREAK
    if found.startswith(":"):
        return f":{_BREAK}//"
    return f"{found[:-1]}{_BREAK}{found[-1]}"


def code(text: str) -> Safe:
    """A code span, with a fence longer than any run of backticks in ``text``."""
    shown = one_line(text)
    if not shown:
        return Safe("")
    fence = "`" * (_longest_run(shown) + 1)
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return Safe(f"{fence}{space}{shown}{space}{fence}")


def cell_code(text: str) -> Safe:
    """A code span in a table cell, where a pipe would end the cell even inside code."""
    shown = one_line(text)
    if "|" in shown and "\\" in shown:
        # `\|` inside code cannot be told from an escaped pipe, so such a text is not shown as code.
        return Safe(_plain(shown))
    return Safe(code(shown).replace("|", "\\|"))


def in_html(text: str) -> Safe:
    """Text inside an HTML block such as ``<summary>``, where Markdown does not apply."""
    parts = (
        f"<code>{html.escape(part)}</code>"
        if quoted
        else _LINKING.sub(_unlinked, html.escape(part, quote=False))
        for part, quoted in _parts(text)
    )
    return Safe("".join(parts))


def fenced(text: str, language: str = "", *, max_lines: int = 24, max_width: int = 200) -> Safe:
    """A fenced block that nothing in ``text`` can end, cut to a size fit for a pull request."""
    lines = [clip(visible(line), max_width) for line in lines_of(text)]
    left_out = len(lines) - max_lines
    if left_out > 0:
        lines = [*lines[:max_lines], f"… ({left_out} more lines in report.json)"]
    body = "\n".join(lines)
    fence = "`" * max(3, _longest_run(body) + 1)
    return Safe(f"{fence}{language}\n{body}\n{fence}")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def markdown_value(value: object) -> str:
    """What a template expression becomes: escaped unless it is Safe."""
    if isinstance(value, Safe):
        return value
    return prose(str(value))

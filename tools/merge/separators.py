"""Commas of a merged list: each element keeps its own, and the ends of the list keep their form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from tools.merge.nodes import comments_in

_AFTER = ("whitespace_after_arg", "whitespace_after_param")
"""Where the line break before a closing bracket hides when there is no last comma."""


def separated(merged: Sequence[Any], own: Sequence[Any], target: Sequence[Any]) -> Sequence[Any]:
    """``merged`` with a comma where one is needed, in the style of ``own``, or of ``target`` where own has none."""
    if not merged or not hasattr(merged[0], "comma"):
        return merged
    between = _between(own) or _between(target) or cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    model = own[-1] if own else target[-1]
    # A comma that was not replaced is the same object in the element that was.
    ends = {id(e.comma) for e in (*own[-1:], *target[-1:]) if not _missing(e)}
    merged = _comments_kept_above(merged, {id(e) for e in target}, between)
    out = []
    for index, element in enumerate(merged):
        if index < len(merged) - 1:
            if _missing(element) or (id(element.comma) in ends and not any(comments_in(element.comma))):
                element = _after(element.with_changes(comma=between), None)
        elif element is not model:
            element = _after(element.with_changes(comma=model.comma), model)
        out.append(element)
    return out


def _comments_kept_above(merged: Sequence[Any], new: set[int], between: cst.Comma) -> list[Any]:
    """Comments above an element stand in the comma before it: what is inserted there takes that comma over."""
    out = list(merged)
    for index in range(len(out) - 1):
        comma = out[index].comma
        after = comma.whitespace_after if isinstance(comma, cst.Comma) else None
        if not isinstance(after, cst.ParenthesizedWhitespace) or not any(comments_in(after.empty_lines)):
            continue
        last = index
        while last + 2 < len(out) and id(out[last + 1]) in new:
            last += 1
        if last == index or id(out[index]) in new:
            continue
        bare = comma.with_changes(whitespace_after=after.with_changes(empty_lines=[]))
        first_line = after.first_line.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
        out[index] = out[index].with_changes(comma=bare)
        moved = comma.with_changes(whitespace_after=after.with_changes(first_line=first_line))
        out[last] = out[last].with_changes(comma=moved)
    return out


def _missing(element: Any) -> bool:
    return not isinstance(element.comma, cst.Comma)


def _between(elements: Sequence[Any]) -> cst.Comma | None:
    """The plainest comma between two elements."""
    commas = [e.comma for e in elements[:-1] if isinstance(e.comma, cst.Comma)]
    return next((c for c in commas if not list(comments_in(c))), None)


def _after(element: Any, model: Any) -> Any:
    for name in _AFTER:
        if hasattr(element, name):
            value = getattr(model, name, None) if model is not None else cst.SimpleWhitespace("")
            return element.with_changes(**{name: value}) if value is not None else element
    return element

"""Filtering, sorting and marking."""

from __future__ import annotations

import pytest

from agent.tui.board import BadQuery, Board, Query, Sort
from tests.agent.tui.desks import report

REPORT = report()


def shown(query: str, **over: object) -> list[str]:
    board = Board(REPORT, **over).filtered(query)  # type: ignore[arg-type]
    return [f.id[-1] for f in board.shown]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "132"),
        ("check:IMP", "13"),
        ("check:imp001", "1"),
        ("severity:w", "2"),
        ("file:a.py", "3"),
        ("is:silent", "2"),
        ("is:old", "3"),
        ("is:new file:b", "12"),
        ("status:fixed", "3"),
        ("'no name'", "1"),
        ("nothing-like-it", ""),
        ("foo:bar", ""),
    ],
)
def test_a_query_shows(query: str, found: str) -> None:
    assert shown(query) == list(found)


@pytest.mark.parametrize(
    ("query", "why"), [("is:odd", "is:odd is not known"), ("severity:x", "severity:x"), ("'a", "quote")]
)
def test_a_query_that_says_nothing(query: str, why: str) -> None:
    with pytest.raises(BadQuery, match=why):
        Query.parse(query)


def test_orders() -> None:
    board = Board(REPORT)
    assert [f.id[-1] for f in board.sorted_by(Sort.FILE).ordered] == ["3", "1", "2"]
    assert [f.id[-1] for f in board.sorted_by(Sort.CHECK).ordered] == ["2", "1", "3"]
    assert [f.id[-1] for f in board.sorted_by(Sort.STATUS).ordered] == ["3", "1", "2"]


def test_marks_follow_the_report() -> None:
    first = REPORT.findings[0].id
    board = Board(REPORT).toggled(first).toggled(REPORT.findings[1].id)
    assert [f.id for f in board.filtered("is:marked").shown] == [first, REPORT.findings[1].id]
    assert board.toggled(first).marks == {REPORT.findings[1].id}
    smaller = REPORT.model_copy(update={"findings": REPORT.findings[1:]})
    assert board.with_report(smaller).marks == {REPORT.findings[1].id}


def test_counts_say_what_is_hidden() -> None:
    assert Board(REPORT).counts() == "2 errors, 1 warning"
    assert Board(REPORT).filtered("is:silent").counts() == "1 warning of 3"
    assert Board(REPORT).filtered("zzz").counts() == "no findings of 3"

"""Hidden characters and odd line ends."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.report.markdown_text import code, fenced
from agent.report.text import clip, lines_of, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\x00b\x1bc\x7f", "a␀b␛c␡"),
        ("a\u202eb", "a⟦U+202E⟧b"),
        ("\ufeffx\u200b\u00ad", "⟦U+FEFF⟧x⟦U+200B⟧⟦U+00AD⟧"),
        ("\udc80", "⟦U+DC80⟧"),
        ("\u2028\x85", "⟦U+2028⟧⟦U+0085⟧"),
        ("x\U000e0041\ufe0f", "x⟦U+E0041⟧⟦U+FE0F⟧"),
        ("äöü 漢字 🚀 é", "äöü 漢字 🚀 é"),
    ],
)
def test_hidden_characters_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_no_format_or_control_character_slips_through() -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    for number in range(sys.maxunicode + 1):
        char = chr(number)
        if char not in "\t\n" and unicodedata.category(char) in hidden:
            assert char not in visible(char), hex(number)


@given(st.text(alphabet=st.characters()))
def test_visible_is_idempotent_and_encodable(text: str) -> None:
    assert visible(visible(text)) == visible(text)
    visible(text).encode("utf-8")


def test_lines_are_split_as_git_counts_them() -> None:
    assert lines_of("a\r\nb\rc\nd\x0ce\u2028f") == ["a", "b", "c", "d\x0ce\u2028f"]
    assert lines_of("") == []
    assert lines_of("\n\n") == ["", ""]


def test_clip_says_how_much_is_left_out() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abcdef" * 6, 6) == "abcdef… (+30 characters)"


def test_clip_leaves_out_no_less_than_its_note_takes() -> None:
    note = "… (+17 characters)"
    assert clip("x" * (6 + len(note)), 6) == "x" * (6 + len(note))
    assert clip("x" * (7 + len(note)), 6) == "xxxxxx… (+19 characters)"


@given(st.text(alphabet="`a\n |\\", max_size=40))
def test_fences_are_longer_than_what_they_hold(text: str) -> None:
    lines = fenced(text, max_lines=1000).split("\n")
    fence = lines[0]
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    assert not any(line.strip().startswith(fence) for line in lines[1:-1])
    span = code(text)
    if span:
        run = len(span) - len(span.lstrip("`"))
        assert "`" * run not in span[run:-run].strip("`") or span[run] == " "

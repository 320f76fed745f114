"""Every check documents itself, and the published pages are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.checks.base import Check, all_checks
from tools.checks.pages import FAMILIES, document, table

ROOT = Path(__file__).parents[3]


def test_published_pages_are_current() -> None:
    published = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    assert published == document(), "run: python -m tools.checks.pages > docs/checks.md"


def test_readme_lists_every_check() -> None:
    assert table() in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("check", all_checks(), ids=lambda c: c.id)
def test_a_check_says_what_it_proves_and_what_escapes_it(check: Check) -> None:
    assert re.fullmatch(r"[A-Z]{3}\d{3}", check.id)
    assert check.id[:3] in FAMILIES
    assert "Example" in check.doc
    assert "Cannot see" in check.doc


def test_every_check_has_fixtures() -> None:
    """Some test of this folder names it; whether it fires and holds back is asserted there."""
    text = "".join(p.read_text(encoding="utf-8") for p in Path(__file__).parent.glob("test_*.py"))
    assert [c.id for c in all_checks() if f'"{c.id}"' not in text] == []

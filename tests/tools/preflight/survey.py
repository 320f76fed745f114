"""A preflight over a tiny environment, in one call."""

from __future__ import annotations

from pathlib import Path

from tests.tools.environment.venvs import Venv
from tests.tools.sources.helpers import PROFILE, opened
from tools.findings import Discrepancy
from tools.preflight.record import Preflight
from tools.preflight.survey import take_preflight


def surveyed(place: Venv, cwd: Path, vllm: Path | None = None, plugin: Path | None = None) -> Preflight:
    """The record of ``place`` beside the trees given."""
    return take_preflight(
        place.python,
        PROFILE,
        cwd=cwd,
        vllm=opened(vllm) if vllm else None,
        plugin=opened(plugin) if plugin else None,
    )


def kinds(record: Preflight, about: str | None = None) -> list[str]:
    """Kinds of discrepancies, of one thing if asked."""
    return [row.kind for row in record.discrepancies if about in (None, row.about)]


def one(record: Preflight, kind: str) -> Discrepancy:
    """The only discrepancy of that kind; each says something in all its parts."""
    (row,) = (row for row in record.discrepancies if row.kind == kind)
    assert row.what
    assert row.means
    assert row.remedy
    return row

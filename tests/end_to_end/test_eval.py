"""The replay through its command: releases from the package index, and what is said where clones are missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def evaluate(out: Path, cache: Path, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Run ``eval run``; exit status, stderr and results."""
    environment = {k: v for k, v in os.environ.items() if k != "METAX_UPGRADE_REPOS"}
    done = subprocess.run(
        [sys.executable, "-m", "agent", "eval", "run", *arguments, "--out", str(out)],
        cwd=out.parent,
        env={**environment, "PYTHONPATH": str(ROOT), "METAX_UPGRADE_CACHE": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, json.loads((out / "results.json").read_text(encoding="utf-8"))


@pytest.mark.index
def test_upgrades_between_releases_on_the_index(tmp_path: Path, cache: Path) -> None:
    status, errors, results = evaluate(tmp_path / "out", cache, "--family", "index", "--baseline", "ty")
    assert status == 0, errors
    assert [c["id"] for c in results["cases"]] == [
        "ascend-0.11.0-0.13.0",
        "ascend-0.13.0-0.18.0",
        "ascend-0.18.0-0.23.0",
    ]
    assert all(c["state"] == "run" for c in results["cases"])
    # The maintainers of a plugin this far behind change nearly everything that is reported; noise would show here.
    precision = results["scores"]["product"]["precision"]
    assert precision["hits"] / precision["of"] > 0.85
    assert precision["of"] > 300
    assert results["scores"]["product"]["load"]["errors"] < results["scores"]["ty"]["load"]["errors"]
    text = (tmp_path / "out" / "results.md").read_text(encoding="utf-8")
    assert "| ascend-0.11.0-0.13.0 | run | 1/1 |" in text

    again, said, second = evaluate(tmp_path / "again", cache, "--family", "index", "--baseline", "ty")
    assert again == 0
    assert said.count("kept") == 3
    assert second["scores"] == results["scores"]


def test_a_case_without_its_clone_is_not_run_and_the_status_says_so(tmp_path: Path, cache: Path) -> None:
    status, errors, results = evaluate(
        tmp_path / "out", cache, "--case", "metax-0.25.0-0.26.0", "--baseline", "none"
    )
    assert status == 3
    assert "needs a clone of MetaX-MACA/vLLM-metax; say with --repos where clones are" in errors
    (case,) = results["cases"]
    assert (case["state"], case["missing"]) == ("not run", case["reviews"])
    assert results["scores"]["product"]["reviews"] == 0

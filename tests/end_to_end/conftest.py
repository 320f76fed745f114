"""A real upgrade, reviewed once for all tests of this folder: vllm-ascend 0.11.0 from vLLM 0.11.0 to 0.13.0."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = [
    "--plugin", "pypi:vllm-ascend==0.11.0", "--profile", "vllm-ascend",
    "--base", "vllm==0.11.0", "--target", "vllm==0.13.0",
]  # fmt: skip


def review(out: Path, state: Path, cache: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user would, with folders of its own."""
    return subprocess.run(
        [sys.executable, "-m", "agent", "review", *ARGUMENTS, "--out", str(out), "--quiet", *more],
        env={**os.environ, "METAX_UPGRADE_CACHE": str(cache), "METAX_UPGRADE_STATE": str(state)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Empty at the beginning of the session."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def reviewed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """The folder with the reports."""
    folder = tmp_path_factory.mktemp("review")
    done = review(folder / "out", folder / "state", cache)
    assert done.returncode == 1, done.stderr  # findings at or above error
    assert done.stderr == ""
    return folder / "out"


@pytest.fixture(scope="session")
def report(reviewed: Path) -> dict[str, Any]:
    """report.json."""
    loaded: dict[str, Any] = json.loads((reviewed / "report.json").read_text(encoding="utf-8"))
    return loaded

"""An empty environment, an empty folder to start in, and no variable of the machine that counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.environment.venvs import Venv, make_venv
from tools.environment.probe import VARIABLES


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Venv:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return make_venv(tmp_path / "venv")


@pytest.fixture
def start(tmp_path: Path) -> Path:
    folder = tmp_path / "start"
    folder.mkdir()
    return folder

"""An index of a few releases, in a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.sources.helpers import FILES, make_index, make_sdist, use_index


@pytest.fixture
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index setting of this machine counts, and none is set."""
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def index(own_settings: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A simple index with three releases of vllm; the folder with the archives."""
    folder = tmp_path / "files"
    for version in ("0.9.0", "0.10.0", "0.11.0", "0.12.0rc1"):
        make_sdist(folder / f"vllm-{version}.tar.gz", {**FILES, "version.txt": version})
    (folder / "vllm-0.13.0-py3-none-any.whl").write_bytes(b"wheel")
    use_index(monkeypatch, make_index(tmp_path, sorted(folder.iterdir())))
    return folder

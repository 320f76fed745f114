"""A cache that cannot be used costs time only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.code.cache import CodeCache


def test_a_relative_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = CodeCache(Path("cache"))
    assert cache.note is None
    cache.close()
    assert (tmp_path / "cache" / "code.sqlite3").is_file()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = CodeCache(tmp_path / "file")
    assert cache.note is not None
    assert list(cache.load(["0"])) == []
    cache.store({"0": (b"", b"")})
    cache.close()

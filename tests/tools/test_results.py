"""Results are found again only for sources that would give the same."""

from __future__ import annotations

from pathlib import Path

from tools.profiles import load_profile
from tools.results import ResultCache
from tools.sources.folder import open_folder
from tools.sources.snapshot import MemorySnapshot

PROFILE = load_profile("metax")
FILES = {"vllm/__init__.py": "v = 1\n"}


def test_equal_contents_under_another_name_are_another_review(tmp_path: Path) -> None:
    results = ResultCache(tmp_path)
    kept = {"check": "speaks of vllm 1.0"}
    results.put("check", [MemorySnapshot(FILES, label="a", version="1.0")], PROFILE, kept)
    assert results.get("check", [MemorySnapshot(FILES, label="a", version="1.0")], PROFILE) == kept
    assert results.get("check", [MemorySnapshot(FILES, label="a", version="2.0")], PROFILE) is None
    assert results.get("check", [MemorySnapshot(FILES, label="b", version="1.0")], PROFILE) is None


def test_what_is_left_out_counts(tmp_path: Path) -> None:
    results = ResultCache(tmp_path / "cache")
    folder = tmp_path / "vllm"
    folder.mkdir()
    (folder / "__init__.py").touch()
    results.put("check", [open_folder(tmp_path / "vllm", "vllm")], PROFILE, {"coverage": "nothing left out"})
    (folder / "away.py").symlink_to("/etc/passwd")
    assert results.get("check", [open_folder(tmp_path / "vllm", "vllm")], PROFILE) is None

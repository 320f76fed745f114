"""Releases from an index, without any network: the index is a folder, or a server on this machine."""

from __future__ import annotations

import errno
import hashlib
import json
import multiprocessing
import os
from pathlib import Path

import pytest

from tests.tools.sources.helpers import (
    FILES,
    contents,
    fingerprint,
    make_index,
    make_sdist,
    opened,
    refused,
    skipped,
    use_index,
)
from tools.sources import index as index_module
from tools.sources.release import ReleaseSnapshot
from tools.sources.snapshot import Snapshot

pytestmark = pytest.mark.usefixtures("own_settings")


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise AssertionError("the index was asked")

    monkeypatch.setattr(index_module, "find_release", denied)


def test_a_release_is_downloaded_checked_and_kept(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[tuple[str, int, int | None]] = []
    cache = tmp_path / "cache"
    first = opened("vllm==0.11", cache, role="base", progress=lambda *step: steps.append(step))
    assert contents(first) == {k: v if isinstance(v, bytes) else v.encode() for k, v in FILES.items()} | {
        "version.txt": b"0.11.0"
    }
    identity = first.identity
    assert (identity.kind, identity.name, identity.version) == ("release", "vllm", "0.11")
    size = (index / "vllm-0.11.0.tar.gz").stat().st_size
    assert ("downloading vllm-0.11.0.tar.gz", size, size) in steps
    assert isinstance(first, ReleaseSnapshot)
    assert first.verified
    assert first.sha256 == hashlib.sha256((index / "vllm-0.11.0.tar.gz").read_bytes()).hexdigest()
    no_network(monkeypatch)
    for offline in (False, True):
        again = opened("pypi:VLLM==0.11", cache, offline=offline)
        assert again.identity.digest == identity.digest
        assert contents(again) == contents(first)


def test_the_tree_on_disk_is_offered_as_it_is(index: Path, tmp_path: Path) -> None:
    snapshot = opened("vllm==0.10.0", tmp_path / "cache")
    assert snapshot.root is not None
    assert {str(p.relative_to(snapshot.root)) for p in snapshot.root.rglob("*") if p.is_file()} == set(
        snapshot.paths()
    )
    assert opened(snapshot.root).identity.digest == snapshot.identity.digest


def test_a_find_links_folder_is_enough(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    snapshot = opened("vllm==0.9.0", tmp_path / "cache")
    assert isinstance(snapshot, ReleaseSnapshot)
    assert not snapshot.verified
    assert snapshot.read("version.txt") == b"0.9.0"


def test_what_is_not_there_lists_what_is(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    error = refused(lambda: opened("vllm==0.10.5", cache))
    assert "no release 0.10.5" in error.why
    assert "0.9.0, 0.10.0, 0.11.0, 0.13.0" in error.remedy
    assert not error.wrong_use
    assert opened("vllm==0.12.0rc1", cache).read("version.txt") == b"0.12.0rc1"
    assert "only wheels" in refused(lambda: opened("vllm==0.13.0", cache)).why
    assert "no package 'nothing-here'" in refused(lambda: opened("nothing-here==1.0", cache)).why
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert "switched off" in refused(lambda: opened("vllm==0.11.0", cache)).why


def test_offline_with_a_cold_cache_says_so(index: Path, tmp_path: Path) -> None:
    error = refused(lambda: opened("vllm==0.11.0", tmp_path / "cache", offline=True))
    assert "offline" in error.why
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("fault", ["hash", "truncated", "hostile"])
def test_a_bad_archive_leaves_nothing(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_sdist(tmp_path / "files/vllm-1.0.tar.gz", {"../x": "x"} if fault == "hostile" else FILES)
    use_index(monkeypatch, make_index(tmp_path, [place], hashes=fault == "hash"))
    if fault == "hash":
        make_sdist(place, {"a.py": "other"})
    if fault == "truncated":
        place.write_bytes(place.read_bytes()[:-20])
    error = refused(lambda: opened("vllm==1.0", tmp_path / "cache"))
    expected = {"hash": "sha256 differs", "truncated": "truncated or corrupt", "hostile": "leaves the tree"}
    assert expected[fault] in error.why
    assert [p.name for p in (tmp_path / "cache/releases/vllm").iterdir()] == [".1.0.lock"]


def test_a_full_disk_and_a_cache_that_cannot_be_written(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"

    def failing(code: int) -> None:
        def fail(*_: object, **__: object) -> None:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(index_module, "create", fail)

    failing(errno.ENOSPC)
    error = refused(lambda: opened("vllm==0.11.0", cache))
    assert "full" in error.why
    assert "METAX_UPGRADE_CACHE" in error.remedy
    assert not list((cache / "releases/vllm").glob(".0.11.0-*"))
    failing(errno.EROFS)
    assert "cannot be written" in refused(lambda: opened("vllm==0.11.0", cache)).why
    (tmp_path / "file").write_text("")
    assert "cannot be written" in refused(lambda: opened("vllm==0.11.0", tmp_path / "file")).why


def test_a_warm_cache_is_never_written(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "cache"
    opened("vllm==0.11.0", cache)
    before = fingerprint(cache)
    for place in (cache, *cache.rglob("*")):
        if place.is_dir():
            place.chmod(0o555)
    no_network(monkeypatch)
    try:
        assert contents(opened("vllm==0.11.0", cache))
    finally:
        for place in (cache, *cache.rglob("*")):
            if place.is_dir():
                place.chmod(0o755)
    assert fingerprint(cache) == before


def test_a_damaged_cache_is_noticed(index: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    snapshot = opened("vllm==0.11.0", cache)
    assert snapshot.root is not None
    place = snapshot.root / "vllm/a.py"
    place.chmod(0o644)
    place.write_text("evil")
    error = refused(lambda: snapshot.read("vllm/a.py"))
    assert "changed in the cache" in error.why
    (snapshot.root.parent / "manifest.json").write_text("{")
    assert contents(opened("vllm==0.11.0", cache))["vllm/a.py"] == b"a = 1\r\n"
    manifest = cache / "releases/vllm/0.11.0/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 0}))
    assert contents(opened("vllm==0.11.0", cache))
    assert {p.name for p in (cache / "releases/vllm").iterdir()} == {"0.11.0", ".0.11.0.lock"}


def test_what_a_killed_download_left_is_cleared(index: Path, tmp_path: Path) -> None:
    left = tmp_path / "cache/releases/vllm/.0.11.0-abcd"
    left.mkdir(parents=True)
    (left / "archive").write_bytes(b"half")
    opened("vllm==0.11.0", tmp_path / "cache")
    assert not left.exists()


def test_an_interrupted_download_leaves_nothing(index: Path, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened("vllm==0.11.0", tmp_path / "cache", progress=interrupt)
    assert [p.name for p in (tmp_path / "cache/releases/vllm").iterdir()] == [".0.11.0.lock"]
    assert contents(opened("vllm==0.11.0", tmp_path / "cache"))


def _digest(cache: Path) -> str:
    snapshot: Snapshot = opened("vllm==0.11.0", cache)
    return snapshot.identity.digest + str(len(contents(snapshot)))


def test_processes_that_download_at_once_agree(index: Path, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        found = pool.map(_digest, [tmp_path / "cache"] * 6)
    assert len(set(found)) == 1
    assert {p.name for p in (tmp_path / "cache/releases/vllm").iterdir()} == {"0.11.0", ".0.11.0.lock"}


def test_large_files_of_a_release_are_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_sdist(tmp_path / "f/vllm-1.0.tar.gz", {"a.py": "a", "b.png": b"\0" * (5 << 20)})
    use_index(monkeypatch, make_index(tmp_path, [place]))
    for _ in range(2):
        snapshot = opened("vllm==1.0", tmp_path / "cache")
        assert snapshot.paths() == ("a.py",)
        assert "larger than" in skipped(snapshot)["b.png"]


@pytest.mark.index
def test_the_real_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    snapshot = opened("pypi:vllm-ascend==0.11.0", tmp_path / "cache")
    assert isinstance(snapshot, ReleaseSnapshot)
    assert snapshot.verified
    assert "vllm_ascend/__init__.py" in snapshot.paths()
    assert "Nearest" in refused(lambda: opened("vllm-ascend==0.11.99", tmp_path / "cache")).remedy

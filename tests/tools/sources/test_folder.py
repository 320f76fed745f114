"""Plain folders, and writing a snapshot out for a tool that needs files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, make_repo, opened, refused, skipped, write
from tools.sources.snapshot import MemorySnapshot


def test_caches_and_version_control_are_left_alone(tmp_path: Path) -> None:
    kept: dict[str, bytes | str] = {"a.py": "a", "build/b.py": "b", ".github/c.yml": "c"}
    write(tmp_path / "t", kept)
    for name in (".hg", "sub/.git", "__pycache__", ".venv", "node_modules", "sub/__pycache__"):
        write(tmp_path / "t" / name, {"x.py": "x"})
    assert set(contents(opened(tmp_path / "t"))) == set(kept)


def test_links_and_special_files(tmp_path: Path) -> None:
    write(tmp_path, {"secret.py": "s"})
    tree = tmp_path / "tree"
    write(tree, {"pkg/a.py": "a"})
    (tree / "in.py").symlink_to("pkg/a.py")
    (tree / "abs.py").symlink_to(tree / "pkg/a.py")
    (tree / "out.py").symlink_to("../secret.py")
    (tree / "loop").symlink_to("loop")
    (tree / "pkg/up").symlink_to("..")
    os.mkfifo(tree / "pipe.py")
    snapshot = opened(tree)
    assert contents(snapshot) == {"abs.py": b"a", "in.py": b"a", "pkg/a.py": b"a"}
    reasons = skipped(snapshot)
    assert set(reasons) == {"out.py", "loop", "pkg/up", "pipe.py"}
    assert "regular" in reasons["pipe.py"]


def test_large_files_stay_out_unless_they_are_python(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"gen.py": b"x = 1\n" * 900_000, "weights.bin": b"\0" * (4 << 20 | 1), "ok.bin": b"\0" * (4 << 20)},
    )
    snapshot = opened(tmp_path)
    assert snapshot.paths() == ("gen.py", "ok.bin")
    assert len(snapshot.read("gen.py")) == 5_400_000


def test_an_unreadable_file_is_named_when_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "a", "locked.py": "x"})
    real = os.open

    def denied(path: os.PathLike[str] | str, *rest: int) -> int:
        if str(path).endswith("locked.py"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest)

    monkeypatch.setattr("os.open", denied)
    snapshot = opened(tmp_path)
    assert snapshot.read("a.py") == b"a"
    for call in (lambda: snapshot.read("locked.py"), lambda: snapshot.blob("locked.py")):
        error = refused(call)
        assert "locked.py" in error.what
        assert "ermission denied" in error.why


def test_a_folder_without_files_or_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no files" in refused(lambda: opened(tmp_path)).why
    write(tmp_path, {"a.py": "a"})

    def denied(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.scandir", denied)
    assert "cannot be listed" in refused(lambda: opened(tmp_path)).why


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "a"})
    for call in (opened(tmp_path).read, opened(tmp_path).blob):
        assert "no such file" in refused(lambda call=call: call("../a.py")).why  # type: ignore[misc]


def test_materialize_writes_what_is_below_the_prefix(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"pkg/a.py": "a", "pkg/d.txt": "d", "pkg2/b.py": "b", "c.py": "c"})
    snapshot = opened(repo)
    assert snapshot.root is None
    assert snapshot.materialize(tmp_path / "one", "pkg") == tmp_path / "one"
    assert contents(opened(tmp_path / "one")) == {"pkg/a.py": b"a", "pkg/d.txt": b"d"}
    snapshot.materialize(tmp_path / "two", suffixes=(".py",))
    assert set(opened(tmp_path / "two").paths()) == {"pkg/a.py", "pkg2/b.py", "c.py"}
    snapshot.materialize(tmp_path / "three", "c.py")
    assert opened(tmp_path / "three").paths() == ("c.py",)


@pytest.mark.parametrize("path", ["../x.py", "/x.py", "a/../../x.py", "a/./x.py", "", "a\0b"])
def test_materialize_never_leaves_its_folder(tmp_path: Path, path: str) -> None:
    refused(lambda: MemorySnapshot({path: "x"}).materialize(tmp_path / "dest"))
    assert not (tmp_path / "x.py").exists()


def test_materialize_does_not_write_through_what_is_there(tmp_path: Path) -> None:
    write(tmp_path, {"victim.py": "v"})
    (tmp_path / "dest").mkdir()
    (tmp_path / "dest/a.py").symlink_to(tmp_path / "victim.py")
    refused(lambda: MemorySnapshot({"a.py": "x"}).materialize(tmp_path / "dest"))
    assert (tmp_path / "victim.py").read_text() == "v"

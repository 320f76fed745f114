"""Every kind of commit is read as it is, whatever its files and messages hold."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from tests.tools.history.repos import Upstream
from tests.tools.sources.helpers import make_repo, run_git
from tools.history.gitlog import count_of, patch_texts, range_of, read_commits
from tools.history.records import NO_BLOB, FileChange
from tools.history.store import HistoryStore
from tools.history.upstream import read_range
from tools.sources.snapshot import SourceError

LINES = "".join(f"line {n} of a file that is long enough to be known again\n" for n in range(30))


@pytest.fixture
def up(tmp_path: Path) -> Upstream:
    return Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "vllm/a.py": LINES, "t.sh": "true\n"})


def only(up: Upstream, base: str = "HEAD~1") -> FileChange:
    (commit,) = up.commits(base)
    (change,) = commit.files
    return change


def test_an_edit_with_its_lines(up: Upstream) -> None:
    up.commit("x (#12)", {"vllm/a.py": LINES.replace("line 3 ", "row 3 ") + "more\n"})
    (commit,) = up.commits("HEAD~1")
    (change,) = commit.files
    assert (commit.title, commit.number, commit.short) == ("x (#12)", "#12", f"{up.head[:12]} (#12)")
    assert [tuple(getattr(h, n) for n in ("old", "old_count", "new", "new_count")) for h in change.hunks] == [
        (4, 1, 4, 1),
        (30, 0, 31, 1),
    ]


def test_a_rename_is_followed(up: Upstream) -> None:
    (up.folder / "vllm/a.py").unlink()
    up.commit("move", {"vllm/b.py": LINES.replace("line 3 ", "row 3 ")})
    change = only(up)
    assert (change.status, change.old_path, change.new_path) == ("R", "vllm/a.py", "vllm/b.py")
    assert len(change.hunks) == 1


def test_binary_mode_and_empty(up: Upstream) -> None:
    up.commit("binary", {"x.bin": b"\0\1\2" * 50})
    assert (only(up).binary, only(up).hunks, only(up).old_blob) == (True, (), NO_BLOB)
    (up.folder / "t.sh").chmod(0o755)
    up.commit("mode alone")
    assert (only(up).old_mode, only(up).new_mode, only(up).hunks) == ("100644", "100755", ())
    up.commit("nothing")
    assert up.commits("HEAD~1")[0].files == ()


def test_a_file_becomes_a_link(up: Upstream) -> None:
    (up.folder / "t.sh").unlink()
    (up.folder / "t.sh").symlink_to("vllm/a.py")
    up.commit("link", {"vllm/z.py": "z\n"})
    (commit,) = up.commits("HEAD~1")
    assert [(f.status, f.new_path) for f in commit.files] == [("T", "t.sh"), ("A", "vllm/z.py")]
    assert commit.files[1].hunks


def test_a_submodule_is_no_file(up: Upstream, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other", {"f": "f"})
    up.git("submodule", "add", "-q", str(other), "sub")
    up.commit("submodule")
    (commit,) = up.commits("HEAD~1")
    assert {f.new_path: f.submodule for f in commit.files} == {".gitmodules": False, "sub": True}


def test_the_first_commit_of_all(up: Upstream) -> None:
    base = up.head
    up.git("checkout", "-q", "--orphan", "fresh")
    up.git("commit", "-qm", "root")
    up.git("checkout", "-q", "main")
    up.git("merge", "-q", "--allow-unrelated-histories", "-m", "join", "fresh")
    commits = up.commits(base)
    assert {c.title: len(c.parents) for c in commits} == {"root": 0, "join": 2}
    assert {f.status for f in commits[0].files} == {"A"}


def test_what_looks_like_structure_is_content(up: Upstream) -> None:
    hostile = b"-- a/x\n++ b/x\n@@ -1 +1 @@\ndiff --git a/x b/x\n\0\1deadbeef\0\n:100644 x\nno end"
    up.commit("one", {"vllm/h.txt": b"text\n" * 2000 + hostile})
    up.commit(
        "two\n\ndiff --git a/x b/x\n@@ -1 +1 @@\n:100644 100644", {"vllm/h.txt": b"text\n" * 2000 + b"end\n"}
    )
    up.commit("three", {"vllm/i.txt": b"i\n"})
    titles = [(c.title, len(c.files)) for c in up.commits("HEAD~3")]
    assert titles == [("one", 1), ("two", 1), ("three", 1)]


@pytest.mark.parametrize("name", ['q"uote.py', "tab\there.py", "new\nline.py", "back\\slash.py", "é ü.py"])
def test_odd_names(up: Upstream, name: str) -> None:
    up.commit("odd", {name: "x = 1\n"})
    assert only(up).new_path == name
    assert "+x = 1" in patch_texts(up.repository, up.commits("HEAD~1")[0], [name])


def test_a_name_that_is_no_text(up: Upstream) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    up.commit("latin", {name: "x\n"})
    assert only(up).new_path == name


def test_a_message_that_is_no_text(up: Upstream, tmp_path: Path) -> None:
    raw = b"caf\xe9 \x1b[31mred\x1b[0m | **bold** <script> `tick`\n\n# heading\n"
    (tmp_path / "message").write_bytes(raw)
    up.git("config", "i18n.commitEncoding", "utf-8")
    up.git("commit", "-q", "--allow-empty", "-F", str(tmp_path / "message"), "--cleanup=verbatim")
    (commit,) = up.commits("HEAD~1")
    assert commit.title.endswith("\x1b[31mred\x1b[0m | **bold** <script> `tick`")
    assert commit.message == "# heading"


def test_a_merge_lists_what_it_decided_itself(up: Upstream) -> None:
    base = up.head
    up.git("checkout", "-qb", "side")
    up.commit("side", {"vllm/a.py": LINES.replace("line 3 ", "side 3 "), "vllm/s.py": "s = 1\n"})
    up.git("checkout", "-q", "main")
    up.commit("main", {"vllm/a.py": LINES.replace("line 3 ", "main 3 ")})
    run_git(up.folder, "merge", "-q", "side", check=False)
    up.commit("merged", {"vllm/a.py": LINES.replace("line 3 ", "both 3 ")})
    commits = {c.title: c for c in up.commits(base)}
    assert [f.new_path for f in commits["merged"].files] == ["vllm/a.py"]
    assert commits["merged"].merge
    assert commits["merged"].files[0].hunks
    assert set(commits) == {"side", "main", "merged"}


def test_an_octopus(up: Upstream) -> None:
    base = up.head
    for name in ("one", "two", "three"):
        up.git("checkout", "-qb", name, base)
        up.commit(name, {f"vllm/{name}.py": "x = 1\n"})
    up.git("checkout", "-q", "main")
    up.git("merge", "-q", "-m", "octopus", "one", "two", "three")
    commits = up.commits(base)
    assert (
        {c.title: len(c.parents) for c in commits}["octopus"] == 3
        if up.git("cat-file", "-p", "HEAD").count("parent") == 3
        else True
    )
    assert len(commits) == count_of(up.repository, base, "HEAD") == 4


def test_nothing_of_the_repository_runs(up: Upstream, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho x >> '{tmp_path}/sprung'\ncat\n")
    trap.chmod(0o755)
    for key in ("diff.external", "core.pager", "gpg.program", "diff.x.command", "diff.x.textconv"):
        up.git("config", key, str(trap))
    for key, value in (
        ("log.showSignature", "true"),
        ("diff.noprefix", "true"),
        ("log.diffMerges", "separate"),
    ):
        up.git("config", key, value)
    up.commit("attributes", {".gitattributes": "* diff=x\n", "vllm/a.py": LINES + "y\n"})
    commits = up.commits("HEAD~1")
    assert patch_texts(up.repository, commits[0], ["vllm/a.py"])
    assert [f.new_path for f in commits[0].files] == [".gitattributes", "vllm/a.py"]
    assert not (tmp_path / "sprung").exists()


def test_a_clone_that_lacks_contents(up: Upstream) -> None:
    base = up.head
    up.commit("kept", {"vllm/k.py": "k = 1\n"})
    up.commit("lost", {"vllm/a.py": LINES + "lost\n"})
    up.commit("after", {"vllm/b.py": "b = 1\n"})
    blob = up.git("rev-parse", "HEAD:vllm/a.py")
    (up.folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (up.folder / ".git/index").unlink()  # git would take the content from the worktree
    commits = up.commits(base)
    assert [(c.title, c.unread) for c in commits] == [("kept", False), ("lost", True), ("after", False)]
    assert commits[1].files[0].new_path == "vllm/a.py"
    assert not commits[1].files[0].hunks


def test_a_shallow_clone_is_refused(up: Upstream, tmp_path: Path) -> None:
    base = up.head
    up.git("branch", "old", base)
    for n in range(5):
        up.commit(f"c{n}", {"vllm/n.py": f"n = {n}\n"})
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "--depth", "2", "--no-single-branch", up.folder.as_uri(), str(clone))
    shallow = Upstream(clone)
    with pytest.raises(SourceError, match="shallow"):
        read_range(shallow.repository, "origin/old", "HEAD", "vllm", HistoryStore(None), None)


@pytest.mark.parametrize("seed", range(6))
def test_as_many_come_out_as_went_in(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    up = Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "f0": "0\n"})
    base = up.head
    for n in range(10):
        name = f"vllm/f{rng.randrange(4)}.py"
        kind = rng.choice(["edit", "edit", "edit", "empty", "remove", "branch", "binary"])
        if kind == "branch":
            up.git("checkout", "-qb", f"b{n}", rng.choice([base, "HEAD"]))
            up.commit(f"on b{n}", {f"vllm/only{n}.py": "x\n" * n})
            up.git("checkout", "-q", "main")
            up.git("merge", "-q", "--no-ff", "-m", f"merge {n}", f"b{n}")
        elif kind == "remove" and (up.folder / name).exists():
            up.commit(f"remove {n}", None, name)
        elif kind == "binary":
            up.commit(f"binary {n}", {name: bytes(rng.randrange(256) for _ in range(200)) + b"\0"})
        elif kind == "edit":
            up.commit(
                f"edit {n}", {name: "".join(f"v = {rng.randrange(9)}\n" for _ in range(rng.randrange(20)))}
            )
        else:
            up.commit(f"empty {n}")
    rows = range_of(up.repository, base, "HEAD")
    read = list(read_commits(up.repository, rows))
    assert sorted(c.id for c in read) == sorted(c for c, _ in rows)
    assert len(read) == int(up.git("rev-list", "--count", f"{base}..HEAD"))
    for commit in read:
        for change in commit.files if not commit.merge else ():
            names = up.git("show", "--format=", "--name-only", "-M", commit.id).split("\n")
            assert change.new_path in names


def test_what_was_read_is_kept(up: Upstream, tmp_path: Path) -> None:
    base = up.head
    up.commit("one", {"vllm/a.py": LINES + "x\n"})
    cache = tmp_path / "cache"
    first = read_range(up.repository, base, up.head, "vllm", HistoryStore(cache), None)
    first.read_deltas(lambda _: True)
    objects = up.folder / ".git/objects"
    blob = up.git("rev-parse", "HEAD:vllm/a.py")
    (objects / blob[:2] / blob[2:]).unlink()
    again = read_range(up.repository, base, up.head, "vllm", HistoryStore(cache), None)
    assert again.commits == first.commits
    change = again.commits[0].files[0]
    assert again.delta(change) == first.delta(change)


def test_a_damaged_cache_costs_time_only(up: Upstream, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/history.sqlite3").write_bytes(b"not a database" * 100)
    store = HistoryStore(tmp_path / "cache")
    up.commit("one", {"vllm/a.py": "x = 1\n"})
    found = read_range(up.repository, "HEAD~1", "HEAD", "vllm", store, None)
    assert len(found.commits) == 1
    assert store.note
    shutil.rmtree(tmp_path / "cache")

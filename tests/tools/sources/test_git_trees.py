"""Revision, index and worktree of real repositories."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, make_repo, opened, refused, run_git, skipped, write


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A checkout with staged, unstaged, untracked, ignored and deleted files."""
    files: dict[str, bytes | str] = {
        "pkg/a.py": "a = 1\n",
        "pkg/b.py": "b = 1\n",
        "pkg/gone.py": "",
        "pkg/crlf.py": b"x = 1\r\n",
        ".gitignore": "*.log\n",
    }
    repo = make_repo(tmp_path / "repo", files)
    write(repo, {"pkg/a.py": "a = 2\n"})
    run_git(repo, "add", "pkg/a.py")
    write(repo, {"pkg/a.py": "a = 3\n", "pkg/new.py": "n = 1\n", "run.log": "noise"})
    (repo / "pkg/gone.py").unlink()
    return repo


def test_revision_index_and_worktree_each_show_their_own_state(mixed: Path) -> None:
    head = run_git(mixed, "rev-parse", "HEAD")
    revision, index, worktree = (contents(opened(f"{mixed}{view}")) for view in ("@HEAD", ":index", ""))
    assert (revision["pkg/a.py"], index["pkg/a.py"], worktree["pkg/a.py"]) == (
        b"a = 1\n",
        b"a = 2\n",
        b"a = 3\n",
    )
    assert "pkg/new.py" not in revision
    assert "pkg/new.py" not in index
    assert worktree["pkg/new.py"] == b"n = 1\n"
    assert "pkg/gone.py" in revision
    assert "pkg/gone.py" in index
    assert "pkg/gone.py" not in worktree
    assert "run.log" not in worktree
    assert revision["pkg/crlf.py"] == worktree["pkg/crlf.py"] == b"x = 1\r\n"
    identity = opened(f"{mixed}@HEAD").identity
    assert (identity.kind, identity.revision, identity.dirty) == ("revision", head, None)
    identity = opened(mixed).identity
    assert (identity.kind, identity.revision, identity.dirty) == ("worktree", head, True)
    assert opened(f"{mixed}:index").identity.dirty is True
    assert opened(f"{mixed}:worktree").identity == opened(mixed).identity.model_copy(
        update={"label": f"{mixed}:worktree"}
    )


def test_equal_trees_have_equal_digests_in_every_kind(tmp_path: Path) -> None:
    files: dict[str, bytes | str] = {"a.py": "a", "b/é.py": "b", "big.bin": b"\0" * (5 << 20)}
    repo = make_repo(tmp_path / "repo", files)
    plain = tmp_path / "plain"
    write(plain, files)
    snapshots = [opened(f"{repo}{view}") for view in ("@main", ":index", "")] + [opened(plain)]
    assert len({s.identity.digest for s in snapshots}) == 1
    assert [s.identity.dirty for s in snapshots] == [None, False, False, None]
    for snapshot in snapshots:
        assert list(snapshot.paths()) == ["a.py", "b/é.py"]
        assert snapshot.blob("a.py") == run_git(repo, "rev-parse", "main:a.py")
        assert "larger than 4 MiB" in skipped(snapshot)["big.bin"]


@pytest.mark.parametrize("change", ["unstaged", "staged", "untracked", "deleted", "link"])
def test_any_difference_from_the_commit_is_dirty(tmp_path: Path, change: str) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a", "b.py": "b"})
    if change == "untracked":
        write(repo, {"c.py": "c"})
    elif change in ("deleted", "link"):
        (repo / "a.py").unlink()
        if change == "link":
            (repo / "a.py").symlink_to("b.py")
    else:
        write(repo, {"a.py": "A"})
        if change == "staged":
            run_git(repo, "add", "-A")
    assert opened(repo).identity.dirty is True


def test_line_ends_converted_by_git_are_not_a_change(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a\nb\n"})
    write(repo, {"a.py": b"a\r\nb\r\n"})
    assert opened(repo).identity.dirty is False
    assert opened(repo).read("a.py") == b"a\r\nb\r\n"


def test_a_bare_repository_needs_a_revision(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    bare = tmp_path / "bare.git"
    run_git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    assert contents(opened(f"{bare}@main")) == {"a.py": b"a"}
    for view in ("", ":index", ":worktree"):
        error = refused(lambda view=view: opened(f"{bare}{view}"))  # type: ignore[misc]
        assert "bare" in error.why
        assert "@REV" in error.remedy


def test_a_repository_without_commits_is_said_to_be_empty(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {})
    for view in ("", ":index", "@HEAD", "@main"):
        error = refused(lambda view=view: opened(f"{repo}{view}"))  # type: ignore[misc]
        assert "empty" in error.why
        assert not error.wrong_use
    write(repo, {"a.py": "a"})
    worktree = opened(repo)
    assert contents(worktree) == {"a.py": b"a"}
    assert (worktree.identity.revision, worktree.identity.dirty) == (None, True)


def test_an_unknown_revision_suggests_close_names(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    run_git(repo, "tag", "v0.11.0")
    run_git(repo, "branch", "feature/moe")
    assert "v0.11.0" in refused(lambda: opened(f"{repo}@v0.11.00")).remedy
    assert "feature/moe" in refused(lambda: opened(f"{repo}@feature/mo")).remedy
    assert "does not exist" in refused(lambda: opened(f"{repo}@--help")).why
    assert "does not exist" in refused(lambda: opened(f"{repo}@main:a.py")).why
    assert "no revision" in refused(lambda: opened(f"{repo}@")).why


def test_a_shallow_clone_says_that_it_is_one(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "1"})
    first = run_git(repo, "rev-parse", "HEAD")
    write(repo, {"a.py": "2"})
    run_git(repo, "commit", "-qam", "second")
    run_git(tmp_path, "clone", "-q", "--depth=1", repo.as_uri(), "shallow")
    shallow = tmp_path / "shallow"
    assert contents(opened(f"{shallow}@HEAD")) == {"a.py": b"2"}
    error = refused(lambda: opened(f"{shallow}@{first}"))
    assert "shallow" in error.why
    assert "--unshallow" in error.remedy


def test_submodules_and_nested_repositories_are_skipped(tmp_path: Path) -> None:
    inner = make_repo(tmp_path / "inner", {"i.py": "i"})
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    run_git(repo, "submodule", "add", "-q", str(inner), "sub")
    run_git(repo, "commit", "-qm", "submodule")
    assert opened(repo).identity.dirty is False
    make_repo(repo / "nested", {"n.py": "n"})
    for view in ("@HEAD", ":index", ""):
        snapshot = opened(f"{repo}{view}")
        assert "a.py" in snapshot.paths()
        assert not [path for path in snapshot.paths() if path.startswith(("sub/", "nested/"))]
        assert skipped(snapshot)["sub"] == "a submodule"
    assert skipped(opened(repo))["nested"] == "a repository of its own"


def test_links_are_followed_inside_the_tree_only(tmp_path: Path) -> None:
    write(tmp_path, {"secret.py": "s"})
    repo = make_repo(tmp_path / "repo", {"real/a.py": "a"})
    links = {
        "in.py": "real/a.py",
        "real/up.py": "../in.py",
        "out.py": "../secret.py",
        "abs.py": str(tmp_path / "secret.py"),
        "loop1.py": "loop2.py",
        "loop2.py": "loop1.py",
        "folder": "real",
        "dangling.py": "nothing.py",
        "through.py": "folder/a.py",
    }
    for link, target in links.items():
        (repo / link).symlink_to(target)
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", "links")
    for view in ("@HEAD", ":index", ""):
        snapshot = opened(f"{repo}{view}")
        assert list(snapshot.paths()) == ["in.py", "real/a.py", "real/up.py", "through.py"]
        assert set(contents(snapshot).values()) == {b"a"}
        assert len({snapshot.blob(path) for path in snapshot.paths()}) == 1
        reasons = skipped(snapshot)
        assert "out of the tree" in reasons["out.py"]
        assert "out of the tree" in reasons["abs.py"]
        assert "itself" in reasons["loop1.py"]
        assert "folder" in reasons["folder"]
        assert "not part" in reasons["dangling.py"]
        assert "left out" in refused(lambda snapshot=snapshot: snapshot.read("out.py")).why  # type: ignore[misc]


def test_a_tracked_folder_replaced_by_a_link_out_is_not_entered(tmp_path: Path) -> None:
    write(tmp_path / "outside", {"a.py": "secret"})
    repo = make_repo(tmp_path / "repo", {"pkg/a.py": "a", "b.py": "b"})
    (repo / "pkg/a.py").unlink()
    (repo / "pkg").rmdir()
    (repo / "pkg").symlink_to(tmp_path / "outside")
    snapshot = opened(repo)
    assert contents(snapshot) == {"b.py": b"b"}
    assert "link" in skipped(snapshot)["pkg/a.py"]


def test_names_that_are_not_utf8_survive(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    repo = make_repo(tmp_path / "repo", {"a b\n'\".py": "1"})
    (repo / name).write_bytes(b"2")
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", "names")
    expected = {"a b\n'\".py": b"1", name: b"2"}
    snapshots = [opened(f"{repo}{view}") for view in ("@HEAD", ":index", "")]
    assert all(contents(snapshot) == expected for snapshot in snapshots)
    assert len({snapshot.identity.digest for snapshot in snapshots}) == 1


def test_an_unfinished_merge_stops_the_index_not_the_worktree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "1"})
    run_git(repo, "checkout", "-qb", "other")
    write(repo, {"a.py": "2"})
    run_git(repo, "commit", "-qam", "two")
    run_git(repo, "checkout", "-q", "main")
    write(repo, {"a.py": "3"})
    run_git(repo, "commit", "-qam", "three")
    run_git(repo, "merge", "-q", "other", check=False)
    error = refused(lambda: opened(f"{repo}:index"))
    assert "unmerged" in error.why
    assert "a.py" in error.why
    assert b"<<<<" in opened(repo).read("a.py")
    assert opened(repo).identity.dirty is True


def test_a_file_changed_after_listing_is_not_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "1", "b.py": "2", "c.py": "3"})
    snapshot = opened(repo)
    write(repo, {"a.py": "x"})
    (repo / "b.py").unlink()
    (repo / "c.py").unlink()
    (repo / "c.py").symlink_to("a.py")
    assert refused(lambda: snapshot.read("a.py")).why == "changed while being read"
    assert "b.py" in refused(lambda: snapshot.read("b.py")).what
    assert "c.py" in refused(lambda: snapshot.read("c.py")).what


def test_a_subfolder_is_a_tree_of_its_own(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"plugin/p/a.py": "a", "other/b.py": "b"})
    write(repo, {"other/b.py": "changed", "unpacked/x.py": "x"})
    for view in ("@HEAD", ":index", ""):
        assert contents(opened(f"{repo}/plugin{view}")) == {"p/a.py": b"a"}
    assert opened(repo / "plugin").identity.dirty is False
    assert opened(repo / "unpacked").identity.kind == "folder"


def test_sparse_checkouts_and_linked_worktrees(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"in/a.py": "a", "out/b.py": "b"})
    run_git(repo, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    assert set(opened(tmp_path / "linked").paths()) == {"in/a.py", "out/b.py"}
    run_git(repo, "sparse-checkout", "set", "in")
    snapshot = opened(repo)
    assert snapshot.paths() == ("in/a.py",)
    assert "sparse" in skipped(snapshot)["out/b.py"]
    assert snapshot.identity.dirty is False


def test_a_sha256_repository_answers_the_same_blob_ids(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    run_git(repo, "init", "-q", "-b", "main", "--object-format=sha256")
    write(repo, {"a.py": "a"})
    run_git(repo, "add", "-A")
    run_git(repo, "commit", "-qm", "first")
    snapshots = [opened(f"{repo}{view}") for view in ("@main", ":index", "")]
    assert len({snapshot.identity.digest for snapshot in snapshots}) == 1
    assert snapshots[0].read("a.py") == b"a"
    assert snapshots[2].identity.dirty is False


def test_a_snapshot_survives_pickling_and_a_fork(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a", "b.py": "b"})
    snapshot = opened(f"{repo}@main")
    assert snapshot.read("a.py") == b"a"
    assert contents(pickle.loads(pickle.dumps(snapshot))) == {"a.py": b"a", "b.py": b"b"}
    child = os.fork()
    if child == 0:
        os._exit(0 if all(snapshot.read("b.py") == b"b" for _ in range(50)) else 1)
    assert all(snapshot.read("a.py") == b"a" for _ in range(50))
    assert os.waitpid(child, 0)[1] == 0


def test_git_missing_is_said_and_plain_folders_do_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    write(tmp_path / "plain", {"a.py": "a"})
    monkeypatch.setenv("PATH", str(tmp_path))
    error = refused(lambda: opened(repo))
    assert error.what == "git"
    assert "not installed" in error.why
    assert contents(opened(tmp_path / "plain")) == {"a.py": b"a"}

"""Nothing configured inside the repository under review runs, and nothing is written to it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, fingerprint, make_repo, opened, refused, run_git, write

VIEWS = ("@HEAD", ":index", ":worktree", "")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A repository whose settings, attributes and hooks would all leave a trace if any of them ran."""
    repo = make_repo(tmp_path / "repo", {"a.py": "a\n", "b.py": "b\n"})
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{tmp_path}/sprung'\ncat\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "diff.external", "core.editor"):
        run_git(repo, "config", name, str(trap))
    for name in ("clean", "smudge", "process"):
        run_git(repo, "config", f"filter.x.{name}", str(trap))
    for name in ("textconv", "command"):
        run_git(repo, "config", f"diff.x.{name}", str(trap))
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (repo / ".git/hooks").mkdir(exist_ok=True)
        (repo / ".git/hooks" / hook).write_text(trap.read_text())
        (repo / ".git/hooks" / hook).chmod(0o755)
    run_git(repo, "config", "core.hooksPath", str(repo / ".git/hooks"))
    run_git(repo, "config", "core.untrackedCache", "true")
    # Same size, other content, attributes that name the filter: the case where git itself would filter.
    write(repo, {"a.py": "A\n", ".gitattributes": "* filter=x diff=x\n", "new.py": "n\n"})
    (tmp_path / "sprung").unlink(missing_ok=True)
    return repo


def test_no_setting_hook_or_filter_of_the_repository_runs(hostile: Path) -> None:
    for view in VIEWS:
        assert contents(opened(f"{hostile}{view}"))
    refused(lambda: opened(f"{hostile}@nothing"))
    assert not (hostile.parent / "sprung").exists()


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_written_into_the_repository(hostile: Path, view: str) -> None:
    (hostile / "b.py").touch()  # the index holds another time now: git would refresh it
    before = fingerprint(hostile)
    contents(opened(f"{hostile}{view}"))
    assert fingerprint(hostile) == before


def test_a_git_program_in_the_tree_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a", "git": "#!/bin/sh\ntouch sprung\nexit 1\n"})
    (repo / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.environ['PATH']}")
    monkeypatch.chdir(repo)
    assert "a.py" in opened(".").paths()
    assert not (repo / "sprung").exists()


def test_a_partial_clone_never_fetches(tmp_path: Path) -> None:
    origin = make_repo(tmp_path / "origin", {"a.py": "1"})
    run_git(origin, "config", "uploadpack.allowFilter", "true")
    write(origin, {"a.py": "2"})
    run_git(origin, "commit", "-qam", "second")
    run_git(tmp_path, "clone", "-q", "--filter=blob:none", origin.as_uri(), "partial")
    partial = tmp_path / "partial"
    run_git(partial, "config", "remote.origin.uploadpack", f"touch '{tmp_path}/sprung'; git-upload-pack")
    before = fingerprint(partial)
    assert contents(opened(f"{partial}@HEAD")) == {"a.py": b"2"}
    error = refused(lambda: contents(opened(f"{partial}@HEAD~1")))
    assert "partial clone" in error.why
    assert not (tmp_path / "sprung").exists()
    assert fingerprint(partial) == before


def test_variables_that_point_git_elsewhere_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    other = make_repo(tmp_path / "other", {"o.py": "o"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    for view in VIEWS:
        assert opened(f"{repo}{view}").paths() == ("a.py",)


def test_a_worktree_that_the_settings_put_elsewhere_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "private", {"key.py": "secret"})
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    run_git(repo, "config", "core.worktree", str(tmp_path / "private"))
    error = refused(lambda: opened(repo))
    assert "core.worktree" in error.why or "takes" in error.why


def test_replaced_objects_do_not_change_a_revision(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "honest", "b.py": "forged"})
    run_git(repo, "replace", *(run_git(repo, "rev-parse", f"HEAD:{name}") for name in ("a.py", "b.py")))
    assert opened(f"{repo}@HEAD").read("a.py") == b"honest"


def test_a_damaged_repository_is_a_clear_error(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    blob = run_git(repo, "rev-parse", "HEAD:a.py")
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert refused(lambda: contents(opened(f"{repo}@HEAD"))).why
    (repo / ".git/index").write_bytes(b"DIRC nonsense")
    assert "git cannot read" in refused(lambda: opened(repo)).why
    (repo / ".git/HEAD").write_text("nonsense")
    assert refused(lambda: opened(repo)).remedy


def test_tree_entries_that_would_leave_the_tree_are_skipped(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    blob = run_git(repo, "rev-parse", "HEAD:a.py")
    raw = b"100644 ..\0" + bytes.fromhex(blob) + b"100644 ok.py\0" + bytes.fromhex(blob)
    (tmp_path / "tree").write_bytes(raw)
    tree = run_git(repo, "hash-object", "-t", "tree", "-w", "--literally", str(tmp_path / "tree"))
    commit = run_git(repo, "commit-tree", "-m", "x", tree)
    snapshot = opened(f"{repo}@{commit}")
    assert snapshot.paths() == ("ok.py",)
    assert [item.path for item in snapshot.skipped] == [".."]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_repository_of_another_owner_is_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", {"a.py": "a"})
    subprocess.run(["chown", "-R", "65534:65534", str(repo)], check=True)
    for view in ("@main", ":index", ""):
        assert contents(opened(f"{repo}{view}")) == {"a.py": b"a"}

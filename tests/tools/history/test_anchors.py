"""Which commit a source stands for, with and without tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.history.repos import PROFILE, Upstream
from tools.history.anchors import Anchor, find_anchors
from tools.history.store import HistoryStore
from tools.sources.snapshot import MemorySnapshot, SourceError
from tools.sources.spec import open_source

FILES: dict[str, bytes | str] = {"vllm/__init__.py": "", **{f"vllm/m{n}.py": f"x = {n}\n" for n in range(20)}}


@pytest.fixture
def line(tmp_path: Path) -> Upstream:
    """Twelve commits: each changes one module; every third touches documentation alone."""
    up = Upstream.make(tmp_path / "up", FILES)
    for n in range(12):
        path = "docs/d.md" if n % 3 == 2 else f"vllm/m{n}.py"
        up.commit(f"c{n}", {path: f"changed = {n}\n"})
    return up


def release(up: Upstream, revision: str, changed: dict[str, str] | None = None) -> MemorySnapshot:
    """The tree of ``revision`` as a source archive would hold it, with some files otherwise."""
    names = up.git("ls-tree", "-r", "--name-only", revision).split()
    files: dict[str, bytes | str] = {name: up.git("show", f"{revision}:{name}") + "\n" for name in names}
    files["vllm/__init__.py"] = ""
    return MemorySnapshot({**files, **(changed or {})}, label="vllm==1.0", version="1.0")


def anchor(up: Upstream, source: MemorySnapshot, ref: str | None = None, cache: Path | None = None) -> Anchor:
    return find_anchors(up.repository, ref, {"base": source}, PROFILE, HistoryStore(cache))["base"]


def test_the_nearest_commit_and_what_differs(line: Upstream) -> None:
    wanted = line.git("rev-parse", "HEAD~5")
    source = release(line, "HEAD~5", {"vllm/m19.py": "picked = 1\n", "vllm/_version.py": "v = 1\n"})
    found = anchor(line, source)
    assert (found.commit, found.how, found.differing) == (wanted, "nearest", ("vllm/m19.py",))
    assert "1 of its 22 Python files differ" in found.said


def test_of_commits_that_are_alike_the_one_that_changed_the_package(line: Upstream) -> None:
    # c8 touches documentation alone: its package is that of c7.
    assert line.git("log", "-1", "--format=%s", anchor(line, release(line, "HEAD~3")).commit) == "c7"


def test_a_tag_wins_when_its_tree_bears_it_out(line: Upstream) -> None:
    line.git("tag", "v1.0", "HEAD~5")
    assert anchor(line, release(line, "HEAD~5")).how == "tag"
    line.git("tag", "-f", "v1.0", "HEAD~11")
    assert anchor(line, release(line, "HEAD~1", {})).how == "nearest"


def test_a_revision_of_the_repository_stands_for_itself(line: Upstream) -> None:
    source = open_source(
        f"{line.folder}@HEAD~4", role="base", profile=PROFILE, python=None, cache=Path("unused")
    )
    found = find_anchors(line.repository, None, {"base": source}, PROFILE, HistoryStore(None))["base"]
    assert (found.how, found.commit, found.differing) == ("revision", line.git("rev-parse", "HEAD~4"), ())


def test_the_line_may_be_named(line: Upstream) -> None:
    line.git("branch", "upstream-main")
    line.git("checkout", "-q", "--orphan", "elsewhere")
    line.git("rm", "-rqf", ".")
    line.commit("other", {"readme": "r"})
    with pytest.raises(SourceError, match="holds no Python file below vllm/"):
        anchor(line, release(line, "upstream-main~2"))
    assert anchor(line, release(line, "upstream-main~2"), "upstream-main").how == "nearest"
    with pytest.raises(SourceError, match="'nothing'"):
        anchor(line, release(line, "upstream-main~2"), "nothing")


def test_another_project_is_refused(line: Upstream) -> None:
    strange = MemorySnapshot({f"vllm/s{n}.py": f"s = {n}\n" for n in range(9)}, label="x", version="9")
    with pytest.raises(SourceError, match="no commit of its main line is like the base"):
        anchor(line, strange)


def test_the_answer_is_kept(line: Upstream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = release(line, "HEAD~5")
    first = anchor(line, source, cache=tmp_path / "cache")
    monkeypatch.setattr("tools.history.anchors._nearest", lambda *_: {})
    assert anchor(line, source, cache=tmp_path / "cache") == first

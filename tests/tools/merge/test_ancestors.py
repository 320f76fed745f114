"""Late copies are merged from the version that they were taken from."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tools.merge.ancestors import GitHistory, Version, nearest

OLD = "def f(a):\n    one(a)\n    two(a)\n    three(a)\n    return a\n"
BASE = "def f(a):\n    uno(a)\n    dos(a)\n    tres(a)\n    return a\n"


def test_an_earlier_version_that_is_clearly_nearer() -> None:
    version = Version("r1", OLD)
    assert nearest(OLD.replace("two(a)", "mx_two(a)"), BASE, lambda: [version]) == version


def test_base_stays_where_the_plugin_only_has_edits_of_its_own() -> None:
    assert nearest(BASE.replace("dos(a)", "mx_dos(a)"), BASE, lambda: [Version("r1", OLD)]) is None


def test_nothing_is_looked_up_for_a_plain_copy() -> None:
    def refuse() -> list[Version]:
        raise AssertionError("not needed")

    assert nearest(BASE, BASE.replace("    uno", "    # why\n    uno"), refuse) is None


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def test_versions_from_a_clone_newest_first_and_none_after_base(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    revisions = []
    for text in (OLD, BASE, BASE + "\n\ndef g():\n    pass\n", "def f():\n    pass\n"):
        (tmp_path / "m.py").write_text(text, encoding="utf-8")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "x")
        revisions.append(git(tmp_path, "rev-parse", "HEAD"))
    history = GitHistory(tmp_path, revisions[2])
    history.expect(["m.py", "none.py"])
    assert [v.text for v in history.versions("m.py", "f")] == [BASE, OLD]
    assert [v.revision for v in history.versions("m.py", "f")] == [revisions[2], revisions[0]]
    assert history.versions("none.py", "f") == ()
    assert GitHistory(tmp_path, "0" * 40).versions("m.py", "f") == ()

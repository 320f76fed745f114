"""Commits that take each other back, and patches that land twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.history.repos import Meaning, Upstream, audited
from tools.history.relations import Relation, relations_of

START: dict[str, bytes | str] = {
    "vllm/__init__.py": "",
    "vllm/a.py": "def f():\n    return 1\n",
    "vllm/b.py": "".join(f"b{n} = {n}\n" for n in range(9)),
}
PLUGIN = {"a.py": "from vllm.a import f\n\nx = f()\n"}


@pytest.fixture
def up(tmp_path: Path) -> Upstream:
    return Upstream.make(tmp_path / "up", START)


def told(up: Upstream, base: str) -> list[tuple[str, str, str]]:
    commits = up.commits(base)
    titles = {c.id: c.title for c in commits}
    return [
        (titles[c], str(r.relation), titles.get(r.commit, r.commit))
        for c, rows in relations_of(commits).items()
        for r in rows
    ]


def test_a_revert_and_what_it_takes_back(up: Upstream) -> None:
    base = up.head
    first = up.commit("two (#1)", {"vllm/a.py": "def f():\n    return 2\n"})
    up.commit("between", {"vllm/b.py": str(START["vllm/b.py"]) + "late = 1\n"})
    up.git("revert", "--no-edit", first)
    assert told(up, base) == [
        ('Revert "two (#1)"', "reverts", "two (#1)"),
        ("two (#1)", "is reverted by", 'Revert "two (#1)"'),
    ]
    rows = audited(PLUGIN, up, base).dispositions
    assert [r.disposition for r in rows] == [Meaning.INHERITED, Meaning.OUTSIDE, Meaning.INHERITED]
    assert "nothing of it is left" in rows[0].reason
    assert rows[0].related[0].commit == rows[2].commit


def test_a_patch_that_lands_again(up: Upstream) -> None:
    base = up.head
    new = {"vllm/a.py": "def f():\n    return 2\n"}
    up.commit("one", dict(new))
    up.commit("undo", {"vllm/a.py": START["vllm/a.py"]})
    up.commit("once more", dict(new))
    assert set(told(up, base)) == {
        ("undo", "reverts", "one"),
        ("one", "is reverted by", "undo"),
        ("once more", "is the same patch as", "one"),
    }
    rows = audited({"a.py": "def f():\n    return 1\n"}, up, base).dispositions
    assert [r.disposition for r in rows] == [Meaning.INHERITED, Meaning.INHERITED, Meaning.MERGE]


def test_a_revert_of_part_is_no_cancellation(up: Upstream) -> None:
    base = up.head
    up.commit("both (#7)", {"vllm/a.py": "def f():\n    return 2\n", "vllm/c.py": "c = 1\n"})
    up.commit("[Core] Partially revert #7 (#9)", {"vllm/a.py": START["vllm/a.py"]})
    assert set(told(up, base)) == {
        ("[Core] Partially revert #7 (#9)", "reverts part of", "both (#7)"),
        ("both (#7)", "is partly reverted by", "[Core] Partially revert #7 (#9)"),
    }


def test_titles_that_say_revert_and_are_none(up: Upstream) -> None:
    base = up.head
    up.commit("Add x (#7)", {"vllm/c.py": "c = 1\n"})
    up.commit('Revert "Add x (#7)" in the docs', {"vllm/b.py": "b0 = 5\n"})
    up.commit("Handle reverts in #8", {"vllm/a.py": "f = 1\n"})
    assert told(up, base) == []


def test_white_space_alone_undoes_nothing(up: Upstream) -> None:
    base = up.head
    up.commit("wide", {"vllm/a.py": "def f():\n    return  1\n"})
    up.commit("wider", {"vllm/a.py": "def f():\n    return   1\n"})
    assert told(up, base) == []


def test_a_pick_in_the_range(up: Upstream) -> None:
    base = up.head
    up.git("checkout", "-qb", "release")
    picked = up.commit("fix", {"vllm/a.py": "def f():\n    return 3\n"})
    up.git("checkout", "-q", "main")
    up.commit("other", {"vllm/c.py": "c = 1\n"})
    up.git("cherry-pick", "-x", picked)
    up.git("merge", "-q", "--no-ff", "-m", "join", "release")
    assert ("fix", "is the same patch as", "fix") in told(up, base)


def test_what_the_release_branch_of_base_has_already(up: Upstream) -> None:
    start = up.head
    fix = up.commit("fix (#3)", {"vllm/a.py": "def f():\n    return 3\n"})
    up.commit("more", {"vllm/c.py": "c = 1\n"})
    up.git("checkout", "-qb", "release", start)
    up.commit("version", {"vllm/version.txt": "1\n"})
    up.git("cherry-pick", fix)
    base = up.head
    up.git("checkout", "-q", "main")
    rows = audited({"a.py": "def f():\n    return 1\n"}, up, base).dispositions
    assert (rows[0].title, rows[0].disposition) == ("fix (#3)", Meaning.INHERITED)
    assert "Base has it already" in rows[0].reason
    assert rows[0].related[0].relation == Relation.IN_BASE

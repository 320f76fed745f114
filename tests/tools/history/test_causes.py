"""The commit behind a finding, by the symbol it names and by trying the check."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from tests.tools.history.repos import Meaning, Upstream, context_of, open_audit
from tools.bisection import Bisection
from tools.checks.base import all_checks
from tools.checks.engine import run_all
from tools.findings import Disposition, Finding
from tools.history.causes import Event

PLUGIN = {"a.py": "from vllm.a import f\n\n\ndef g():\n    return f(1)\n"}


@pytest.fixture
def up(tmp_path: Path) -> Upstream:
    return Upstream.make(
        tmp_path / "up",
        {"vllm/__init__.py": "", "vllm/a.py": "def f(x):\n    return x\n\n\nclass C:\n    old = 1\n"},
    )


def reviewed(up: Upstream, base: str, check: str) -> tuple[list[Finding], list[Disposition]]:
    context = context_of(PLUGIN, up, base, up.head)
    result = run_all([c for c in all_checks() if c.id == check], context)
    assert not result.checks_failed
    with closing(open_audit(context, up)) as audit:
        rows = audit.run().dispositions
        bisection = Bisection(context, up.repository)
        cited = audit.cite(result.findings, rows, bisection.narrowed)
    return list(cited.findings), list(cited.dispositions)


def test_what_happened_to_a_symbol(up: Upstream) -> None:
    base = up.head
    up.commit("signature (#1)", {"vllm/a.py": "def f(x, y=0):\n    return x\n\n\nclass C:\n    old = 1\n"})
    up.commit("move", {"vllm/b.py": "def f(x, y=0):\n    return x\n\n\nclass C:\n    old = 1\n"}, "vllm/a.py")
    up.commit("body", {"vllm/b.py": "def f(x, y=0):\n    return y\n\n\nclass C:\n    new = 1\n"})
    with closing(open_audit(context_of(PLUGIN, up, base, up.head), up)) as audit:

        def titles(symbol: str, event: Event) -> list[str]:
            return [c.commit.title for c in audit.causes.of(symbol, event)]

        assert titles("vllm.a:f", Event.SIGNATURE) == ["signature (#1)"]
        assert titles("vllm.a:f", Event.CHANGED) == ["signature (#1)", "body"]
        assert titles("vllm.a:f", Event.GONE) == ["move"]
        assert titles("vllm.a", Event.GONE) == ["move"]
        assert titles("vllm.b", Event.CAME) == ["move"]
        assert titles("vllm.b:C", Event.MEMBERS) == ["body"]
        assert titles("vllm.nothing:f", Event.CHANGED) == []


def test_a_finding_says_since_when(up: Upstream) -> None:
    base = up.head
    up.commit("unrelated", {"vllm/z.py": "z = 1\n"})
    cause = up.commit("remove f (#42)", {"vllm/a.py": "class C:\n    old = 1\n"})
    up.commit("later", {"vllm/a.py": "class C:\n    old = 2\n"})
    findings, rows = reviewed(up, base, "IMP001")
    assert [f.since for f in findings] == [f"{cause[:12]} (#42)"]
    row = rows[1]
    assert (row.commit, row.findings) == (cause, (findings[0].id,))
    assert set(row.evidence) <= set(findings[0].evidence)


def test_bisection_tells_which_of_several_commits_it_was(up: Upstream) -> None:
    base = up.head
    up.commit("harmless (#1)", {"vllm/a.py": "def f(x, y=0):\n    return x\n"})
    cause = up.commit("breaks (#2)", {"vllm/a.py": "def f(x, y):\n    return x\n"})
    up.commit("harmless again (#3)", {"vllm/a.py": "def f(x, y, z=0):\n    return x\n"})
    findings, rows = reviewed(up, base, "CAL001")
    assert [f.since for f in findings] == [f"{cause[:12]} (#2)"]
    assert {r.title for r in rows if r.findings} == {"breaks (#2)"}


def test_a_commit_that_caused_a_finding_needs_work(up: Upstream) -> None:
    base = up.head
    up.commit("breaks", {"vllm/a.py": "def f(x, y):\n    return x\n"})
    findings, rows = reviewed(up, base, "CAL001")
    assert rows[0].disposition is Meaning.MERGE
    assert "vllm_metax.a:g" in rows[0].symbols
    assert findings


def test_what_commits_cancel_is_no_cause(up: Upstream) -> None:
    base = up.head
    up.commit("away", {"vllm/a.py": "class C:\n    old = 1\n"})
    up.git("revert", "--no-edit", "HEAD")
    cause = up.commit("away for good", {"vllm/a.py": "class C:\n    old = 5\n"})
    findings, _ = reviewed(up, base, "IMP001")
    assert [f.since for f in findings] == [cause[:12]]

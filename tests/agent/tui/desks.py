"""A small session to look at: three files in memory and as many findings as a test wants."""

from __future__ import annotations

from agent.tui.desk import Desk
from agent.tui.panes import Panes
from tests.agent.report.records import evidence, finding, identity
from tools.compare.deltas import CompareResult, CounterpartRow
from tools.findings import Certainty, Coverage, Finding, Report, Severity, Status
from tools.sources.snapshot import MemorySnapshot, Snapshot

LOCAL = "from vllm.a import Old\n\n\nclass Own:\n    def run(self, x):\n        return Old(x)\n"
BASE = "class Old:\n    def run(self, x):\n        return x\n"
TARGET = "class New:\n    def run(self, x, y):\n        return x + y\n"
COMPARED = CompareResult(
    counterparts=(
        CounterpartRow(
            path="p/b.py",
            line=5,
            symbol="Own.run",
            base="vllm.a:Old.run",
            target="vllm.a:New.run",
            how="same path and name",
            certainty=Certainty.LIKELY,
            deltas=(),
        ),
    ),
    unchanged=(),
)
THREE = (
    finding(
        1, check="IMP001", path="p/b.py", line=1, symbol="", message="no name `Old`", evidence=("e1", "e2")
    ),
    finding(
        2, check="CAL001", path="p/b.py", line=6, symbol="Own.run", severity=Severity.WARNING, silent=True
    ),
    finding(
        3, check="IMP002", path="p/a.py", line=2, introduced=False, status=Status.FIXED, evidence=("e1",)
    ),
)
EVIDENCE = (
    evidence(1, "plugin", "p/b.py", 1, "from vllm.a import Old\n"),
    evidence(2, "target", "vllm/a.py", 1, "class New:\n"),
)


def report(*findings: Finding) -> Report:
    """A report of ``findings`` (three without any)."""
    return Report(
        tool_version="1",
        profile="metax",
        subject=identity("worktree", "plugin"),
        base=identity("release", "vllm==1.0"),
        target=identity("release", "vllm==2.0"),
        environment={},
        coverage=Coverage(),
        timings={},
        findings=findings or THREE,
        evidence=EVIDENCE,
    )


def many(number: int) -> tuple[Finding, ...]:
    """Findings on different lines."""
    return tuple(
        finding(n, line=n, path=f"p/f{n % 40}.py", message=f"finding number {n}")
        for n in range(1, number + 1)
    )


def source(role: str) -> Snapshot:
    """What the findings speak of."""
    files = {
        "plugin": {"p/__init__.py": "", "p/b.py": LOCAL, "p/a.py": "import vllm\nvllm.x\n"},
        "base": {"vllm/__init__.py": "", "vllm/a.py": BASE},
        "target": {"vllm/__init__.py": "", "vllm/a.py": TARGET},
    }[role]
    return MemorySnapshot(dict(files), label=role)


def desk(*findings: Finding) -> Desk:
    """A session at its findings."""
    made = report(*findings)
    return Desk("session", made, Panes(made, COMPARED, source).pane)

"""What each tab shows."""

from __future__ import annotations

import pytest

from agent.tui.panes import Pane, Panes, Tab
from tests.agent.tui.desks import COMPARED, THREE, report, source
from tools.findings import Disposition
from tools.sources.snapshot import Snapshot, SourceError

IMPORT, CALL, OLD = THREE
PANES = Panes(report(), COMPARED, source)


def test_local_is_the_whole_file_at_the_line() -> None:
    pane = PANES.pane(CALL, Tab.LOCAL)
    assert pane.text.splitlines()[pane.focus - 1 if pane.focus else 0].strip() == "return Old(x)"
    assert pane.title == "p/b.py:6"
    assert PANES.pane(IMPORT, Tab.LOCAL).marks == {1}


def test_upstream_is_what_is_cited_or_else_the_counterpart() -> None:
    assert PANES.pane(IMPORT, Tab.TARGET).title == "vllm/a.py:1"
    base = PANES.pane(CALL, Tab.BASE)
    assert (base.title, base.focus, base.marks) == ("vllm/a.py:2", 2, {2, 3})
    assert "no counterpart" in PANES.pane(OLD, Tab.BASE).text


def test_both_differences() -> None:
    text = PANES.pane(CALL, Tab.DIFF).text
    assert "=== base -> target ===" in text
    assert "-        return x\n+    def run(self, x, y):" in text.partition("=== local")[0]
    assert "-        return Old(x)" in text.partition("=== local -> target ===")[2]
    assert "nothing to compare" in PANES.pane(OLD, Tab.DIFF).text


def test_a_counterpart_that_is_gone_is_said() -> None:
    compared = COMPARED.model_copy(
        update={"counterparts": (COMPARED.counterparts[0].model_copy(update={"target": None}),)}
    )
    assert (
        "base -> target: target has no such symbol"
        in Panes(report(), compared, source).pane(CALL, Tab.DIFF).text
    )


def test_commits() -> None:
    assert "not audited" in PANES.pane(CALL, Tab.COMMITS).text
    row = Disposition(
        commit="a" * 40,
        title="Add y",
        disposition="needs a MetaX merge",
        reason="it changes what Own.run copies",
        symbols=("p.b:Own.run",),
        certainty=CALL.certainty,
    )
    told = (
        Panes(report().model_copy(update={"dispositions": (row,)}), COMPARED, source)
        .pane(CALL, Tab.COMMITS)
        .text
    )
    assert "aaaaaaaaaaaa Add y" in told


def test_trace_and_probe() -> None:
    text = PANES.pane(IMPORT, Tab.TRACE).text
    assert "[e2] target vllm/a.py:1-1" in text
    assert IMPORT.consequence in text
    assert "Nothing was run" in PANES.pane(IMPORT, Tab.PROBE).text


@pytest.mark.parametrize("tab", [Tab.LOCAL, Tab.TARGET])
def test_a_source_that_is_gone_is_said_in_the_pane(tab: Tab) -> None:
    def gone(role: str) -> Snapshot:
        raise SourceError(role, "it is gone", "Put it back.")

    pane = Panes(report(), COMPARED, gone).pane(IMPORT, tab)
    assert isinstance(pane, Pane)
    assert "it is gone" in pane.text

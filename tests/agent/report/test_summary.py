"""The summary on the terminal."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from agent.report.summary import print_summary
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report
from tools.findings import Report


def printed(report: Report, *paths: Path, width: int = 100) -> str:
    stream = io.StringIO()
    print_summary(report, Console(file=stream, width=width, force_terminal=False), paths)
    return stream.getvalue()


def test_counts_worst_findings_and_places() -> None:
    text = printed(sample_report(), Path("out/report.md"), Path("out/report.html"))
    assert "introduced by the upgrade" in text
    assert "vllm_metax/attention/flashmla_sparse.py:13" in text
    assert "out/report.html" in text
    assert text.index("flashmla_sparse") < text.index("cumem.py")
    assert "the index does not answer" in text


def test_markup_is_text_and_controls_do_not_reach_the_terminal() -> None:
    text = printed(hostile_report(), width=400)
    assert "[red]rich[/red] [/]" in text
    assert not {"\x1b", "\x00", "\u202e", "\u2066", "\u200b"} & set(text)
    assert "␛" in text
    text.encode("utf-8")


def test_only_the_top_is_listed() -> None:
    assert "… and 90 more findings" in printed(large_report(50, 50))


def test_no_counts_where_nothing_could_be_looked_at() -> None:
    blocked = empty_report().model_copy(update={"blocked": sample_report().blocked})
    text = printed(blocked)
    assert "the index does not answer" in text
    assert "introduced by the upgrade" not in text
    assert "introduced by the upgrade" in printed(empty_report())


def test_nothing_found() -> None:
    assert "No findings in 164 plugin files." in printed(empty_report())

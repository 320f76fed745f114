"""report.md: what it says, what hostile text cannot do to it, and that it fits a pull request."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from agent.report import render
from agent.report.as_markdown import LIMIT
from agent.report.budget import fit
from tests.agent.report.records import RULES
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report
from tools.findings import Report


def markdown(report: Report) -> str:
    return render(report, "md", rules=RULES).decode()


class Elements(HTMLParser):
    """Elements and attributes that a renderer would make of the report."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(attrs)
        if tag not in ("br", "hr", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def rendered(report: Report) -> str:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    html = parser.render(markdown(report))
    assert isinstance(html, str)
    return html


@pytest.mark.parametrize("report", [sample_report(), hostile_report(), empty_report(), large_report(40, 120)])
def test_only_elements_of_ours_appear_and_they_nest(report: Report) -> None:
    elements = Elements(rendered(report))
    assert elements.open == []
    assert elements.tags <= {
        *("h1", "h2", "h3", "h4", "p", "ul", "li", "strong", "em", "code", "pre", "br", "sub"),
        *("table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    }
    assert {name for name, _ in elements.attributes} <= {"class"}


def test_hostile_text_neither_links_nor_mentions() -> None:
    text = re.sub(r"<(pre|code)[ >].*?</\1>", "", rendered(hostile_report()), flags=re.DOTALL)
    assert "@<!-- -->someone" in text
    assert not re.search(r"@someone|#12\b|(?<![\w])www\.|http://", text)


def test_hostile_text_adds_no_heading_and_no_cell() -> None:
    elements = rendered(hostile_report())
    headings = re.findall(r"<h[1-6]>(.*?)</h", elements)
    assert not any(heading.startswith("not a heading") for heading in headings)
    for table in re.findall(r"<table>.*?</table>", elements, flags=re.DOTALL):
        widths = {row.count("<td") + row.count("<th>") for row in table.split("<tr>")[1:]}
        assert len(widths) == 1, table
    assert not {"\x00", "\x1b", "\u202e", "\u200b", "\udc80"} & set(markdown(hostile_report()))
    assert "⟦U+202E⟧" in elements


def test_the_order_of_what_a_reader_needs() -> None:
    text = markdown(sample_report())
    parts = [
        "| **Base** | vllm 0.25.0 |",
        "**The upgrade introduces 3 errors, 1 warning and 1 note. 1 error was there before.",
        "## Blocked",
        "## Silent faults first",
        "## What to do",
        "## Introduced by the upgrade",
        "## There before the upgrade",
        "## Not decided",
        "## Registrations, patches and overrides",
        "## Unchanged",
        "## Coverage",
        "No model was used",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_finding_is_told_whole() -> None:
    text = markdown(sample_report())
    start = text.index("#### error `CAL001`")
    told = text[start : text.index("</details>", start)]
    for part in (
        "`vllm_metax/quant_config/unquantized.py:88` in `MacaUnquantizedMethod.process_weights`",
        "- **When:** Loading any unquantized MoE model",
        "- **Then:** TypeError while weights are loaded",
        "- **Since:** 0.26.0",
        "Pass `moe_config=self.moe`",
        "base source `vllm/model_executor/layers/fused_moe/oracle.py:40-42`",
        "```python\nreturn super().forward(",
    ):
        assert part in told


def test_findings_of_one_cause_stand_together() -> None:
    text = markdown(sample_report())
    start = text.index("### `SparseMLAAttentionImpl` renamed to")
    group = text[start : text.index("\n### ", start + 1)]
    assert "flashmla_sparse.py:13" in group
    assert "sparse_indexer.py:5" in group
    assert "2 errors" in group


def test_an_earlier_defect_is_not_under_what_the_upgrade_brings() -> None:
    text = markdown(sample_report())
    introduced, earlier = text.split("## There before the upgrade")
    assert "#### error `IMP001` `vllm_metax/device_allocator/cumem.py:40`" in earlier
    assert "#### error `IMP001` `vllm_metax/device_allocator/cumem.py:40`" not in introduced


def test_nothing_found_is_said() -> None:
    text = markdown(empty_report())
    assert "**No findings in 164 plugin files.**" in text
    assert "Nothing was left undecided." in text
    assert "incomplete" not in text


def test_nothing_found_while_blocked_is_not_a_pass() -> None:
    report = empty_report().model_copy(update={"blocked": sample_report().blocked})
    assert "The review is incomplete" in markdown(report)


@pytest.mark.parametrize("numbers", [(40, 120, 0), (300, 900, 800), (0, 160, 0), (500, 0, 0)])
def test_a_large_report_fits_a_pull_request_and_says_what_is_missing(numbers: tuple[int, int, int]) -> None:
    report = large_report(*numbers)
    content = render(report, "md", rules=RULES)
    assert LIMIT * 0.8 < len(content) <= LIMIT
    text = content.decode()
    shown = len(re.findall(r"^(?:#### \w+|- \*\*\w+\*\*) `[A-Z]{3}\d{3}` ", text, flags=re.MULTILINE))
    left_out = sum(
        int(n.replace(",", "")) for n in re.findall(r"\*\*([\d,]+) findings? not shown at all", text)
    )
    assert shown + left_out == sum(numbers)
    brief = len(re.findall(r"^#### error", text, flags=re.MULTILINE))
    assert brief >= min(15, numbers[0])


def test_fit_keeps_the_first_and_counts_the_rest() -> None:
    assert fit(["aa", "bb", "cc"], 6) == (["aa", "bb"], 1)
    assert fit(["aaaaaaaa", "b"], 6) == ([], 2)
    assert fit([], 0) == ([], 0)

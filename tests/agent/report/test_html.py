"""report.html as a file: self-contained, safe, small, and complete without a script."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from agent.report import render
from agent.report.highlight import excerpt_html
from tests.agent.report.records import HOSTILE, IMPORT_EXCERPT, RULES, evidence
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report
from tools.findings import Report

REPORTS = [sample_report(), hostile_report(), empty_report(), large_report(10, 10)]


class Page(HTMLParser):
    """What the file consists of."""

    VOID = frozenset({"meta", "input", "br", "wbr"})

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.source = render(report, "html", rules=RULES).decode()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.bodies: dict[str, str] = {}
        self.open: list[str] = []
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style", "title"):
            self.bodies[self.open[-1]] = self.bodies.get(self.open[-1], "") + data


@pytest.mark.parametrize("report", REPORTS)
def test_the_file_asks_nothing_of_the_network(report: Report) -> None:
    page = Page(report)
    assert page.open == []
    assert page.tags.count("script") == page.tags.count("style") == 1
    assert not {"img", "link", "iframe", "object", "embed", "base", "svg"} & set(page.tags)
    assert not [item for item in page.attributes if item[1] in ("src", "srcset", "style", "action")]
    assert not [item for item in page.attributes if item[1].startswith("on")]
    assert all(value.startswith("#") for tag, name, value in page.attributes if name == "href")
    assert "url(" not in page.bodies["style"]
    assert "@import" not in page.bodies["style"]


@pytest.mark.parametrize("report", REPORTS)
def test_the_policy_allows_exactly_the_two_assets(report: Report) -> None:
    page = Page(report)
    policy = next(value for _, name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for name in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.bodies[name].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("report", REPORTS)
def test_ids_are_unique_and_internal_links_lead_somewhere(report: Report) -> None:
    page = Page(report)
    ids = [value for _, name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert {value[1:] for _, name, value in page.attributes if name == "href"} <= set(ids)
    assert {finding.id for finding in report.findings} <= set(ids)


def test_headings_go_down_one_step_at_a_time() -> None:
    levels = [int(tag[1]) for tag in Page(sample_report()).tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_hidden_characters_are_marked() -> None:
    source = render(hostile_report(), "html").decode()
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\u200b", "\udc80"} & set(source)
    assert '<b class="u" title="hidden character">⟦U+202E⟧</b>' in source
    assert '<b class="u" title="hidden character">␛</b>' in source
    assert "{{ 7*7 }}" in source


def test_colours_have_contrast_in_both_schemes() -> None:
    css = Page(sample_report()).bodies["style"]
    colours = {
        name: (light, dark)
        for name, light, dark in re.findall(r"--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)", css)
    }
    texts = [
        name
        for name in colours
        if name not in ("bg", "panel", "raised", "hit", "hit-line", "line", "line-strong")
    ]
    assert len(texts) >= 14
    for scheme in (0, 1):
        for text in texts:
            for ground in ("bg", "panel", "raised", "hit"):
                assert contrast(colours[text][scheme], colours[ground][scheme]) >= 4.5, (text, ground, scheme)


def contrast(one: str, two: str) -> float:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(two)))
    return (high + 0.05) / (low + 0.05)


def test_lines_bear_their_true_numbers_and_the_offending_one_is_marked() -> None:
    html = excerpt_html(evidence(1, "plugin", "a.py", 8, IMPORT_EXCERPT), 12)
    assert re.findall(r'data-n="(\d+)"', html) == [str(n) for n in range(8, 22)]
    assert re.findall(r'class="l hit" data-n="(\d+)"', html) == ["12"]
    assert "<i class=K>import</i>" in html
    assert "hit" not in excerpt_html(evidence(1, "plugin", "a.py", 8, IMPORT_EXCERPT), 99)


def test_highlighting_loses_no_character() -> None:
    for text in (
        IMPORT_EXCERPT,
        'x = """open\nnever closed',
        f"# {HOSTILE}\n\n\n",
        "\n\n",
        "\x00\x0c\tdef f(:\r\n",
    ):
        item = evidence(1, "plugin", "a.py", 1, text)
        spans = re.findall(r'<span class="l"[^>]*>(.*?)\n</span>', excerpt_html(item, None), flags=re.DOTALL)
        plain = re.findall(
            r'<span class="l"[^>]*>(.*?)\n</span>', excerpt_html(item, None, plain=True), flags=re.DOTALL
        )
        assert [re.sub(r"</?i[^>]*>", "", span) for span in spans] == plain
        assert len(plain) == len(re.split(r"\r\n|\n", text.removesuffix("\n")))


def test_two_thousand_findings_stay_small_and_keep_the_worst_excerpts() -> None:
    source = render(large_report(300, 900, 800), "html", rules=RULES).decode()
    assert len(source.encode()) <= 6_000_000
    assert source.count('<details class="f"') == 2000
    blocks = source.split('<details class="f"')[1:]
    errors = [block for block in blocks if 'data-s="error"' in block and 'data-w="introduced"' in block]
    assert errors
    assert all("Only in report.json" not in block for block in errors)
    assert any("Only in report.json" in block for block in blocks)


def test_empty_states() -> None:
    source = render(empty_report(), "html").decode()
    for text in (
        "No findings.",
        "Nothing was left undecided.",
        "No registration, patch or override was found.",
    ):
        assert text in source
    blocked = empty_report().model_copy(update={"blocked": sample_report().blocked})
    assert "No findings, but the review is incomplete." in render(blocked, "html").decode()

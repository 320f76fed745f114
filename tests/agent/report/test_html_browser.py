"""report.html in a real browser: light and dark, phone and wide, filters, deep links, keyboard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.report import write_reports
from tests.agent.report.browser import Browser, find_chromium
from tests.agent.report.records import RULES
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        find_chromium() is None and not os.environ.get("CI"), reason="Chromium is not installed"
    ),
]

SHOWN = (
    "[...document.querySelectorAll('details.f')].filter(item => item.checkVisibility()).map(item => item.id)"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("reports")
    reports = {
        "sample": sample_report(),
        "hostile": hostile_report(),
        "empty": empty_report(),
        "large": large_report(300, 900, 800),
    }
    return {
        name: write_reports(report, folder / name, ["html"], rules=RULES)[0].as_uri()
        for name, report in reports.items()
    }


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = find_chromium()
    assert program, "CI is to install Chromium"
    with Browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """Fails the test afterwards when the page complained or asked for anything but itself."""
    chromium.problems.clear()
    chromium.requests.clear()
    yield chromium
    assert chromium.problems == []
    assert all(url.startswith(("file:", "about:")) for url in chromium.requests)


@pytest.mark.parametrize("name", ["sample", "hostile", "empty"])
@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
@pytest.mark.parametrize("width", [390, 1600])
def test_draws_in_both_schemes_without_sideways_scrolling(
    browser: Browser, pages: dict[str, str], tmp_path: Path, name: str, scheme: str, dark: bool, width: int
) -> None:
    browser.open(pages[name], width=width, scheme=scheme)
    browser.js("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    browser.settle()
    assert browser.screenshot(tmp_path / f"{name}-{scheme}-{width}.png").startswith(b"\x89PNG")
    assert browser.js("document.documentElement.scrollWidth") <= width
    red = browser.js("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    assert (red < 60) is dark
    assert browser.js("document.title") != "owned"


def test_plugin_and_upstream_stand_side_by_side_only_where_there_is_room(
    browser: Browser, pages: dict[str, str]
) -> None:
    tops = (
        "[...document.querySelectorAll('#f00000000001 .side')].map(item => item.getBoundingClientRect().top)"
    )
    browser.open(pages["sample"] + "#f00000000001", width=1600)
    left, right = browser.js(tops)
    assert left == right
    browser.open(pages["sample"] + "#f00000000001", width=390)
    above, below = browser.js(tops)
    assert above < below


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sev=warning,note", ["f00000000004", "f00000000006"]),
        ("when=before", ["f00000000005"]),
        ("silent=1", ["f00000000004", "f00000000005"]),
        ("check=CAL001", ["f00000000003"]),
        ("q=moe_config%20typeerror", ["f00000000003"]),
        ("q=nothing-has-this", []),
        ("sev=error&when=introduced&group=none&sort=place", ["f00000000001", "f00000000002", "f00000000003"]),
        ("sort=check&group=none&sev=bogus&check=bogus", None),
    ],
)
def test_the_address_selects_filters(
    browser: Browser, pages: dict[str, str], query: str, expected: list[str] | None
) -> None:
    browser.open(f"{pages['sample']}#{query}")
    shown = browser.js(SHOWN)
    assert len(shown) == 6 if expected is None else shown == expected
    assert browser.js("document.getElementById('ui-none').hidden") is bool(shown)
    assert browser.js("document.getElementById('ui-shown').textContent").startswith(str(len(shown)))


def test_clicks_filter_and_are_kept_in_the_address(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["sample"])
    browser.js("document.querySelector('[data-sev=error]').click()")
    browser.js("document.querySelector('[data-when=introduced]').click()")
    assert browser.js(SHOWN) == ["f00000000001", "f00000000002", "f00000000003"]
    assert browser.js("location.hash") == "#sev=error&when=introduced"
    assert browser.js("document.querySelector('[data-sev=error]').ariaPressed") == "true"
    browser.js("document.getElementById('ui-reset').click()")
    assert len(browser.js(SHOWN)) == 6
    assert browser.js("location.hash") == ""


def test_grouping_by_file_and_back_keeps_every_finding(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(f"{pages['sample']}#group=file")
    headings = "[...document.querySelectorAll('#ui-list h3 .what')].map(item => item.textContent)"
    assert "vllm_metax/patch/sparse_indexer.py" in browser.js(headings)
    browser.js(
        "(() => { const s = document.getElementById('ui-group'); s.value = 'cause';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    assert browser.js(headings)[0] == "SparseMLAAttentionImpl renamed to SparseMLACommonImpl"
    assert len(browser.js(SHOWN)) == 6


def test_a_deep_link_opens_its_finding_even_behind_a_filter(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(f"{pages['sample']}#f00000000004")
    opened = "[...document.querySelectorAll('details.f[open]')].map(item => item.id)"
    assert browser.js(opened) == ["f00000000004"]
    browser.open(f"{pages['sample']}#sev=error")
    browser.js("location.hash = '#f00000000004'")
    browser.settle()
    assert browser.js(opened) == ["f00000000004"]
    assert "f00000000004" in browser.js(SHOWN)


def test_the_keyboard_reaches_and_opens_a_finding(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["sample"])
    browser.press("/")
    assert browser.js("document.activeElement.id") == "ui-q"
    browser.js("document.querySelector('details.f summary').focus()")
    browser.press("Enter")
    assert browser.js("document.querySelector('details.f').open") is True


def test_the_theme_button_overrides_the_system(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["sample"], scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = browser.js(ground)
    while browser.js("document.documentElement.dataset.theme") != "dark":
        browser.js("document.getElementById('ui-theme').click()")
    assert browser.js(ground) != light
    browser.js("document.getElementById('ui-theme').click()")
    assert browser.js("document.documentElement.dataset.theme") == "auto"


def test_two_thousand_findings_open_filter_and_link(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(f"{pages['large']}#f000000007d0", width=1600)
    place = "document.getElementById('f000000007d0').getBoundingClientRect().top"
    assert 0 <= browser.js(place) < 300
    browser.js("location.hash = '#q=maca_op_5%20layer1234'")
    browser.js("location.hash = '#q=macalayer1234'")
    browser.settle()
    assert browser.js("document.getElementById('ui-shown').textContent") == "1 of 2,000 findings"


def test_printing_opens_the_folds_and_closes_them_again(browser: Browser, pages: dict[str, str]) -> None:
    browser.open(pages["sample"])
    count = "document.querySelectorAll('details[open]').length"
    before = browser.js(count)
    browser.js("dispatchEvent(new Event('beforeprint'))")
    assert browser.js(count) == browser.js("document.querySelectorAll('details').length")
    browser.js("dispatchEvent(new Event('afterprint'))")
    assert browser.js(count) == before


def test_without_script_everything_is_there(browser: Browser, pages: dict[str, str]) -> None:
    browser.allow_scripts(False)
    try:
        browser.open(pages["sample"])
        assert browser.js("document.getElementById('ui-bar').checkVisibility()") is False
        assert len(browser.js(SHOWN)) == 6
    finally:
        browser.allow_scripts(True)

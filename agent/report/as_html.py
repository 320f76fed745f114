"""report.html: one self-contained file for people. It asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agent.report.highlight import excerpt_html, shown
from agent.report.rules import RuleInfo
from agent.report.text import clip, counted, joined, prose_parts, visible
from agent.report.view import (
    View,
    by_cause,
    count_by_severity,
    counts_in_words,
    identity_name,
    identity_rows,
    identity_state,
    place,
    place_of,
)
from tools.findings import Evidence, Finding, Report

ROW_LIMIT = 3_000
"""Rows of a list beyond which the reader is sent to report.json."""
HIGHLIGHT_LIMIT = 3_200_000
"""Bytes of excerpts that are highlighted, worst findings first; a browser opens such a file in a second."""
EXCERPT_LIMIT = 4_000_000
"""Bytes of excerpts in all."""


def render(report: Report, rules: Mapping[str, RuleInfo]) -> bytes:
    """The report as one HTML document."""
    view = View(report, rules)
    style, script = _asset("report.css"), _asset("report.js")
    text = (
        _environment()
        .get_template("report.html.j2")
        .render(
            view=view,
            report=report,
            excerpts=_excerpts(view),
            causes=by_cause(view.findings),
            identities=identity_rows(report),
            counts=count_by_severity(view.findings),
            row_limit=ROW_LIMIT,
            style=Markup(style),
            script=Markup(script),
            policy=f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
            "base-uri 'none'; form-action 'none'",
        )
    )
    return text.encode("utf-8")


def _excerpts(view: View) -> dict[tuple[str, str], Markup]:
    """Excerpts by (finding, evidence); past the limits plain, then left out, so that the file stays small."""
    rendered: dict[tuple[str, str], Markup] = {}
    total = 0
    for finding in view.findings:
        for item in view.evidence_of(finding):
            if total > EXCERPT_LIMIT:
                continue
            excerpt = excerpt_html(item, _marked(finding, item), plain=total > HIGHLIGHT_LIMIT)
            rendered[finding.id, item.id] = excerpt
            total += len(excerpt)
    return rendered


def _marked(finding: Finding, item: Evidence) -> int | None:
    """The offending line, where the evidence shows the place of the finding itself."""
    own = item.path == finding.path and item.source not in ("base", "target")
    return finding.line if own else None


def _hash(asset: str) -> str:
    digest = hashlib.sha256(asset.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _asset(name: str) -> str:
    return files("agent.report").joinpath("templates", name).read_text(encoding="utf-8")


def prose(text: str) -> Markup:
    """A message: names in backticks become code, line ends stay, nothing else is markup."""
    return Markup(
        "".join(
            f"<code>{shown(part)}</code>" if quoted else shown(part) for part, quoted in prose_parts(text)
        )
    )


def breakable(text: str) -> Markup:
    """A path or dotted name that may wrap after its separators on a narrow screen."""
    html = shown(text)
    for separator in ("/", ".", "_"):
        html = html.replace(separator, f"{separator}<wbr>") if "<" not in html.replace("<wbr>", "") else html
    return Markup(html)


def _finalize(value: object) -> object:
    """Every plain text that leaves a template is made visible here; escaping is jinja's."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return visible(value)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("agent.report"),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "prose": prose,
        "breakable": breakable,
        "shown": lambda text: Markup(shown(text)),
        "clip": clip,
        "counted": counted,
    }
    environment.globals |= {
        "counts_in_words": counts_in_words,
        "identity_name": identity_name,
        "identity_state": identity_state,
        "joined": joined,
        "place": place,
        "place_of": place_of,
    }
    return environment

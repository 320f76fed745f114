"""report.html: one self-contained file for people. It asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agent.report.highlight import excerpt_html, shown
from agent.report.rules import RuleInfo
from agent.report.text import clip, counted, joined, prose_parts, visible
from agent.report.trees import ends, facts_by_verdict, fallbacks, tree, unknown
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
SIZE_LIMIT = 5_600_000
"""Bytes of the file up to which excerpts are shown, worst findings first; a browser opens it in a second."""
PLAIN_SHARE = 0.2
"""Share of the room for excerpts, the last of it, in which they are not highlighted."""


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
    room = SIZE_LIMIT - _size_without_excerpts(view)
    plain_from = room * PLAIN_SHARE
    for finding in view.findings:
        for item in view.evidence_of(finding):
            if room < 0:
                continue
            excerpt = excerpt_html(item, _marked(finding, item), plain=room < plain_from)
            rendered[finding.id, item.id] = excerpt
            room -= len(excerpt)
    return rendered


def _size_without_excerpts(view: View) -> int:
    """An estimate on the safe side: the frame of each row and its texts, some of which appear twice."""
    report = view.report
    texts = sum(
        len(f.message)
        + len(f.trigger)
        + len(f.consequence)
        + len(f.suggestion)
        + 4 * len(f.path)
        + len(f.symbol)
        for f in view.findings
    )
    rows = (
        len(report.unresolved) + 3 * len(report.inventory) + 2 * len(report.dispositions) + len(report.merges)
    )
    steps = sum(len(chain.steps) for chain in report.chains)
    said = sum(len(cell.facts) for row in report.support for cell in row.cells)
    rows += 2 * steps + 2 * said + 9 * len(report.support)
    patches = sum(len(view.evidence[e].excerpt) for row in report.dispositions for e in row.evidence)
    rows += 2 * len(report.files) + sum(
        len(d.symbols[:20]) + len(d.related) + len(d.findings) for d in report.dispositions
    )
    return (
        60_000
        + 2 * patches
        + 1_350 * len(view.findings)
        + texts
        + 250 * rows
        + 80 * len(report.coverage.unchanged)
    )


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
    """A path that may wrap between its parts on a narrow screen."""
    return Markup("<wbr>".join(shown(part) for part in re.split(r"(?<=[/:])(?=\w)", text)))


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
        "chain_tree": tree,
        "counts_in_words": counts_in_words,
        "ends": ends,
        "facts_by_verdict": facts_by_verdict,
        "fallbacks": fallbacks,
        "identity_name": identity_name,
        "unknown": unknown,
        "identity_state": identity_state,
        "joined": joined,
        "place": place,
        "place_of": place_of,
    }
    return environment

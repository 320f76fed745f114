"""report.html: one self-contained file for people."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from agent.report.rules import RuleInfo
from agent.report.text import visible
from agent.report.view import View
from tools.findings import Report


def render(report: Report, rules: Mapping[str, RuleInfo]) -> bytes:
    """The report as one HTML document."""
    view = View(report, rules)
    rows = "".join(f"<li>{escape(visible(f.message))}</li>" for f in view.findings)
    return f"<!doctype html><title>Report</title><p>{escape(view.headline)}</p><ul>{rows}</ul>\n".encode()

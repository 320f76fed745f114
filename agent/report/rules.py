"""What a report says about a check, passed in by the caller so that reports do not import the checks."""

from __future__ import annotations

from dataclasses import dataclass

from tools.findings import Severity


@dataclass(frozen=True)
class RuleInfo:
    """One check as reports present it."""

    title: str
    """One line: what the check proves."""
    help: str = ""
    """Its documentation page, in Markdown."""
    severity: Severity = Severity.WARNING
    """Of a finding, unless the check says otherwise."""

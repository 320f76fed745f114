"""What a command prints: errors on stderr, results on stdout, or one JSON envelope for scripts."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent import tool_version
from agent.errors import Exit, Stop
from tools.sources.redact import redacted

if TYPE_CHECKING:
    from tools.findings import Report

ENVELOPE_VERSION = "1.0"
_REASON = {
    Exit.OK: "finished",
    Exit.FINDINGS: "findings",
    Exit.USAGE: "wrong use",
    Exit.BLOCKED: "blocked",
    Exit.BUG: "fault",
    Exit.INTERRUPTED: "interrupted",
}


@dataclass
class Screen:
    """Where messages go. ``quiet`` keeps errors only; ``envelope`` prints one JSON object at the end."""

    quiet: bool = False
    envelope: bool = False
    _session: str | None = None
    _problems: int = 0

    def __post_init__(self) -> None:
        self._entries: list[dict[str, str]] = []
        self._result: dict[str, Any] = {}

    def say(self, text: str) -> None:
        """A line on stderr. Names from reviewed trees cannot move the cursor."""
        print(_printable(text), file=sys.stderr)

    def session(self, name: str) -> None:
        """Announces the session, so that it can be resumed even after a kill."""
        self._session = name
        if not self.quiet:
            self.say(f"session {name}")

    def problem(self, what: str, why: str, remedy: str) -> None:
        """An error: what, why, and what to do."""
        self._entries.append({"what": what, "why": why, "remedy": remedy})
        self.say(f"metax-upgrade: {what}: {why.rstrip('.')}.{' ' + remedy if remedy else ''}")

    def stop(self, stop: Stop) -> Exit:
        """Shows why the command ends."""
        self.problem(redacted(stop.what), redacted(stop.why), redacted(stop.remedy))
        return stop.status

    def interrupted(self, name: str | None) -> None:
        """After Ctrl-C."""
        how = f"Go on with: metax-upgrade resume {name}" if name else "Nothing was begun."
        self.say(f"\nmetax-upgrade: interrupted. {how}")

    def result(self, session: str, report: Report, written: list[str], status: Exit) -> None:
        """The summary table and where the report lies."""
        counts = Counter(finding.severity.value for finding in report.findings)
        self._result = {"findings": dict(sorted(counts.items())), "reports": written}
        for check in report.coverage.checks_failed:
            self.say(f"metax-upgrade: check {check} failed and found nothing; the report says so")
        if self.quiet or self.envelope:
            return
        from rich.console import Console

        from agent.report.summary import print_summary

        print_summary(report, Console())
        print("report: " + "\n        ".join(written))

    def close(self, status: Exit) -> Exit:
        """Prints the envelope where one was asked for."""
        if self.envelope:
            envelope = {
                "envelope_version": ENVELOPE_VERSION,
                "tool_version": tool_version(),
                "session": self._session,
                "termination": _REASON[status],
                "exit_status": int(status),
                "problems": self._entries,
                **self._result,
            }
            print(json.dumps(envelope, ensure_ascii=False))
        return status


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)

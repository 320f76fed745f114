"""Keeping a report within what a pull request holds, and saying what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from agent.report.view import Cause
from tools.findings import Finding, Severity


class Form(IntEnum):
    """How much of a finding is shown."""

    NOTHING = 0
    ROW = 1
    BRIEF = 2
    FULL = 3


def size(text: str) -> int:
    """Bytes, which are never fewer than the characters that GitHub counts."""
    return len(text.encode("utf-8", "backslashreplace"))


def fit(blocks: Iterable[str], limit: int) -> tuple[list[str], int]:
    """The first of ``blocks`` that fit into ``limit`` bytes with a line end each, and how many did not."""
    kept: list[str] = []
    left_out = 0
    for block in blocks:
        limit -= size(block) + 1
        if limit < 0 or left_out:
            left_out += 1
        else:
            kept.append(block)
    return kept, left_out


@dataclass
class Plan:
    """The form of each finding, so chosen that the whole stays within a limit.

    Half of the room goes to the worst errors with their consequences. Then every other finding gets its
    line, and what is left goes to evidence and to the rest, worst first.
    """

    causes: Sequence[Cause]
    limit: int
    render: Callable[[Finding, Form], str]
    heading: Callable[[Cause], str]

    def __post_init__(self) -> None:
        self.forms: dict[str, Form] = {}
        self._room = self.limit
        group = {item.id: number for number, cause in enumerate(self.causes) for item in cause.findings}
        findings = sorted(
            (item for cause in self.causes for item in cause.findings), key=lambda f: f.sort_key
        )
        self._group = group
        self._opened: set[int] = set()
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        self._show(errors, Form.BRIEF, keep=self.limit // 2)
        self._show(findings, Form.ROW)
        for chosen in (errors, findings):
            listed = [finding for finding in chosen if finding.id in self.forms]
            self._show(listed, Form.BRIEF)
            self._show(listed, Form.FULL)

    def _show(self, findings: Sequence[Finding], form: Form, keep: int = 0) -> None:
        """Raise ``findings`` to ``form``, one after the other, while more than ``keep`` bytes are left."""
        for finding in findings:
            before = self.forms.get(finding.id, Form.NOTHING)
            if form <= before:
                continue
            number = self._group[finding.id]
            cost = self._cost(finding, form) - self._cost(finding, before)
            if number not in self._opened:
                cost += size(self.heading(self.causes[number])) + 1
            if self._room - cost < keep:
                continue
            self._room -= cost
            self._opened.add(number)
            self.forms[finding.id] = form

    def _cost(self, finding: Finding, form: Form) -> int:
        return 0 if form is Form.NOTHING else size(self.render(finding, form)) + 1

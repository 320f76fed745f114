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

    Every finding gets its row first, errors at once with their consequence; what room is left goes to
    evidence for errors, then to the rest, worst first.
    """

    causes: Sequence[Cause]
    limit: int
    render: Callable[[Finding, Form], str]
    heading: Callable[[Cause], str]

    def __post_init__(self) -> None:
        self.forms: dict[str, Form] = {}
        self._room = self.limit
        findings = sorted(
            (item for cause in self.causes for item in cause.findings), key=lambda f: f.sort_key
        )
        heading_of = {item.id: cause for cause in self.causes for item in cause.findings}
        opened: set[str] = set()
        for finding in findings:
            cause = heading_of[finding.id]
            extra = 0 if cause.name in opened else size(self.heading(cause)) + 2
            if self._raise(finding, Form.ROW, extra):
                opened.add(cause.name)
        errors = [finding for finding in findings if finding.severity is Severity.ERROR]
        for chosen, form in (
            (errors, Form.BRIEF),
            (errors, Form.FULL),
            (findings, Form.BRIEF),
            (findings, Form.FULL),
        ):
            for finding in chosen:
                if self.forms.get(finding.id, Form.NOTHING) in (Form.ROW, Form.BRIEF):
                    self._raise(finding, form)

    def _raise(self, finding: Finding, form: Form, extra: int = 0) -> bool:
        """Show ``finding`` as ``form`` if there is room."""
        before = self.forms.get(finding.id, Form.NOTHING)
        if form <= before:
            return True
        cost = self._cost(finding, form) - self._cost(finding, before) + extra
        if cost > self._room:
            return False
        self._room -= cost
        self.forms[finding.id] = form
        return True

    def _cost(self, finding: Finding, form: Form) -> int:
        return 0 if form is Form.NOTHING else size(self.render(finding, form)) + 2

    def count(self, form: Form) -> int:
        """How many findings are shown as ``form``."""
        total = sum(len(cause.findings) for cause in self.causes)
        if form is Form.NOTHING:
            return total - len(self.forms)
        return sum(chosen is form for chosen in self.forms.values())

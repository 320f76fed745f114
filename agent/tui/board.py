"""The findings of a report as a person works through them: filtered, sorted, marked. Knows nothing of screens."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from tools.findings import Evidence, Finding, Report, Severity


class Sort(StrEnum):
    """What the table is ordered by; ties fall back to the report's own order."""

    RANK = "worst first"
    CHECK = "check"
    FILE = "file"
    STATUS = "status"


_KEYS: dict[Sort, Callable[[Finding], tuple[object, ...]]] = {
    Sort.RANK: lambda f: (),
    Sort.CHECK: lambda f: (f.check,),
    Sort.FILE: lambda f: (f.path, f.line),
    Sort.STATUS: lambda f: (f.status.value,),
}
FIELDS = ("check", "severity", "file", "symbol", "status", "cause", "is")
"""Names that a query can put before a colon."""
FLAGS = ("new", "old", "silent", "marked")
"""What ``is:`` takes."""


class BadQuery(ValueError):
    """A filter that says nothing; the text tells the person why."""


@dataclass(frozen=True)
class Query:
    """``check:IMP severity:error file:platform is:silent some words``: all of it must hold."""

    words: tuple[str, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def parse(text: str) -> Query:
        """Raises BadQuery for an unknown field, flag or severity, or an open quote."""
        try:
            parts = shlex.split(text)
        except ValueError:
            raise BadQuery("a quote is not closed") from None
        words, fields = [], []
        for part in parts:
            name, colon, value = part.partition(":")
            if not colon or name not in FIELDS:
                words.append(part.casefold())
                continue
            if name == "is" and value not in FLAGS:
                raise BadQuery(f"is:{value} is not known; there are {', '.join(FLAGS)}")
            if name == "severity" and not any(s.startswith(value) for s in Severity):
                raise BadQuery(f"severity:{value} is not known; there are {', '.join(Severity)}")
            fields.append((name, value.casefold()))
        return Query(tuple(words), tuple(fields))

    def holds(self, finding: Finding, marked: bool) -> bool:
        """Whether ``finding`` is shown."""
        return all(_holds(name, value, finding, marked) for name, value in self.fields) and (
            not self.words or all(word in _text(finding) for word in self.words)
        )


def _holds(name: str, value: str, finding: Finding, marked: bool) -> bool:
    if name == "is":
        flags = {"new": finding.introduced, "old": not finding.introduced, "silent": finding.silent}
        return flags.get(value, marked)
    if name in ("check", "severity", "status"):
        return str(getattr(finding, name)).casefold().startswith(value)
    told = {"file": finding.path, "symbol": finding.symbol, "cause": finding.cause}[name]
    return value in told.casefold()


def _text(finding: Finding) -> str:
    return " ".join(
        (finding.check, finding.path, finding.symbol, finding.message, finding.consequence, finding.cause)
    ).casefold()


@dataclass(frozen=True)
class Board:
    """One report with what the person did to its table."""

    report: Report
    query: Query = field(default_factory=Query)
    sort: Sort = Sort.RANK
    marks: frozenset[str] = frozenset()

    @cached_property
    def ordered(self) -> tuple[Finding, ...]:
        """All findings in the chosen order."""
        key = _KEYS[self.sort]
        return tuple(sorted(self.report.findings, key=lambda f: (*key(f), *f.sort_key)))

    @cached_property
    def shown(self) -> tuple[Finding, ...]:
        """Those that the filter lets through."""
        return tuple(f for f in self.ordered if self.query.holds(f, f.id in self.marks))

    @cached_property
    def by_id(self) -> Mapping[str, Finding]:
        """Finding by id."""
        return {f.id: f for f in self.report.findings}

    @cached_property
    def evidence(self) -> Mapping[str, Evidence]:
        """Evidence by id."""
        return {e.id: e for e in self.report.evidence}

    def cited(self, finding: Finding, *sources: str) -> list[Evidence]:
        """What ``finding`` rests on, from ``sources`` only where some are named."""
        found = (self.evidence[name] for name in finding.evidence)
        return [e for e in found if not sources or e.source in sources]

    def filtered(self, text: str) -> Board:
        """With another filter. Raises BadQuery."""
        return replace(self, query=Query.parse(text))

    def sorted_by(self, sort: Sort) -> Board:
        """In another order."""
        return replace(self, sort=sort)

    def toggled(self, finding: str) -> Board:
        """With the mark of ``finding`` set or taken off."""
        return replace(self, marks=self.marks ^ {finding})

    def with_report(self, report: Report) -> Board:
        """After the report changed: marks of findings that are gone go too."""
        return replace(self, report=report, marks=self.marks & {f.id for f in report.findings})

    def counts(self) -> str:
        """What the table holds, in a line."""
        return counted(self.shown) + (
            "" if len(self.shown) == len(self.ordered) else f" of {len(self.ordered)}"
        )


def counted(findings: Iterable[Finding]) -> str:
    """``3 errors, 1 warning``."""
    found = list(findings)
    parts = []
    for severity in Severity:
        number = sum(f.severity is severity for f in found)
        if number:
            parts.append(f"{number} {severity}{'' if number == 1 else 's'}")
    return ", ".join(parts) or "no findings"

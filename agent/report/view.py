"""One report, arranged as people read it: what the renderers for people have in common."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.report.rules import RuleInfo
from agent.report.text import counted, joined
from tools.findings import (
    Disposition,
    Evidence,
    FileRow,
    Finding,
    Identity,
    Meaning,
    Report,
    Severity,
    Status,
    Unresolved,
)

_TOOL = ("platform", "python", "ty", "model")
"""Facts about what made the report; the others are about the environment that was looked at."""
NO_CAUSE = "No upstream change recorded"
"""Heading of the findings that name no cause."""


@dataclass(frozen=True)
class Cause:
    """One upstream change and the findings it explains, worst first."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def title(self) -> str:
        """The cause in words, also when there is none."""
        return self.name or NO_CAUSE

    @property
    def paths(self) -> list[str]:
        """Plugin files concerned."""
        return sorted({finding.path for finding in self.findings})

    @property
    def decisions(self) -> list[str]:
        """What is to be done, most frequent first."""
        return _by_frequency(finding.decision.value for finding in self.findings)

    @property
    def suggestions(self) -> list[str]:
        """What the checks propose, each text once, most frequent first."""
        return _by_frequency(finding.suggestion for finding in self.findings if finding.suggestion)

    @property
    def levels(self) -> list[str]:
        """How far the findings were verified."""
        return _by_frequency(finding.level.value for finding in self.findings)


@dataclass(frozen=True)
class View:
    """A report with the arrangements that its renderers share."""

    report: Report
    rules: Mapping[str, RuleInfo]

    @cached_property
    def evidence(self) -> dict[str, Evidence]:
        """Evidence by id."""
        return {item.id: item for item in self.report.evidence}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, worst, newest and surest first."""
        return tuple(sorted(self.report.findings, key=lambda finding: finding.sort_key))

    @cached_property
    def introduced(self) -> tuple[Finding, ...]:
        """Those that the upgrade brings."""
        return tuple(finding for finding in self.findings if finding.introduced)

    @cached_property
    def earlier(self) -> tuple[Finding, ...]:
        """Those that stand against the base as well."""
        return tuple(finding for finding in self.findings if not finding.introduced)

    @property
    def parts(self) -> list[tuple[str, tuple[Finding, ...]]]:
        """Findings in the two parts that every report keeps apart."""
        return [("Introduced by the upgrade", self.introduced), ("There before the upgrade", self.earlier)]

    @cached_property
    def silent(self) -> tuple[Finding, ...]:
        """Those that raise nothing and are therefore met last."""
        return tuple(finding for finding in self.findings if finding.silent)

    @cached_property
    def unresolved_by_check(self) -> list[tuple[str, list[Unresolved]]]:
        """Undecided rows by check."""
        rows: defaultdict[str, list[Unresolved]] = defaultdict(list)
        for row in self.report.unresolved:
            rows[row.check].append(row)
        return sorted(rows.items())

    @cached_property
    def commits_by_meaning(self) -> list[tuple[Meaning, list[Disposition]]]:
        """Upstream commits by what they ask for, those that ask for work first, the surest first in each group."""
        groups: defaultdict[Meaning, list[Disposition]] = defaultdict(list)
        for row in self.report.dispositions:
            groups[row.disposition].append(row)
        return [(m, sorted(groups[m], key=lambda r: r.certainty.rank)) for m in Meaning if groups[m]]

    @cached_property
    def files_by_state(self) -> list[tuple[str, list[FileRow]]]:
        """Files that differ, by how; those that the plugin hangs on first in each group."""
        groups: defaultdict[str, list[FileRow]] = defaultdict(list)
        for row in self.report.files:
            groups[row.state].append(row)
        return [(state, sorted(rows, key=lambda r: not r.plugin)) for state, rows in sorted(groups.items())]

    @property
    def cited(self) -> int:
        """How many findings rest on something that a model said."""
        return sum(
            any(self.evidence[name].kind == "model" for name in finding.evidence) for finding in self.findings
        )

    @property
    def tool_facts(self) -> dict[str, str]:
        """What made the report."""
        return {name: value for name, value in self.report.environment.items() if name in _TOOL}

    @property
    def environment_facts(self) -> dict[str, str]:
        """What an interpreter that was asked has and would import."""
        return {name: value for name, value in self.report.environment.items() if name not in _TOOL}

    @property
    def complete(self) -> bool:
        """Whether everything that was to be looked at was."""
        return not self.report.blocked and not self.report.coverage.checks_failed

    def title_of(self, check: str) -> str:
        """What a check is called, or '' when the caller did not say."""
        rule = self.rules.get(check)
        return rule.title if rule else ""

    def evidence_of(self, finding: Finding) -> list[Evidence]:
        """Plugin evidence first, then upstream, in the order cited."""
        cited = [self.evidence[name] for name in finding.evidence]
        return sorted(cited, key=lambda item: item.source != "plugin")

    @property
    def headline(self) -> str:
        """The verdict in a sentence."""
        if not self.findings:
            text = f"No findings in {counted(self.report.coverage.plugin_files, 'plugin file')}."
        else:
            text = f"The upgrade introduces {counts_in_words(self.introduced)}."
            if self.earlier:
                verb = "was" if len(self.earlier) == 1 else "were"
                text += f" {counts_in_words(self.earlier).capitalize()} {verb} there before."
        if self.silent:
            verb = "is a silent fault" if len(self.silent) == 1 else "are silent faults"
            text += f" {len(self.silent)} of the findings {verb}: nothing raises."
        if not self.complete:
            text += " The review is incomplete: see what was blocked and which checks failed."
        return text

    @property
    def asides(self) -> str:
        """What stands beside the findings, counted."""
        parts = []
        if self.report.unresolved:
            parts.append(counted(len(self.report.unresolved), "place") + " undecided")
        grave = sum(row.severity is not Severity.NOTE for row in self.report.discrepancies)
        if grave:
            parts.append(counted(grave, "discrepancy", "discrepancies") + " of the environment")
        if self.report.blocked:
            parts.append(counted(len(self.report.blocked), "input") + " blocked")
        if self.report.coverage.checks_failed:
            parts.append(counted(len(self.report.coverage.checks_failed), "check") + " failed")
        fixed = sum(finding.status is Status.FIXED for finding in self.findings)
        if fixed:
            parts.append(counted(fixed, "finding") + " fixed")
        return " · ".join(parts)

    @property
    def judgement(self) -> str:
        """Which statements no model had a hand in."""
        model = self.report.environment.get("model", "")
        without = len(self.findings) - self.cited
        if model in ("", "none") and not self.cited:
            return "No model was used: findings, attributions and decisions come from the checks alone."
        return (
            f"Model: {model or 'not named'}. {without:,} of {counted(len(self.findings), 'finding')} had no "
            "model judgement: they come from the checks alone."
        )


def by_cause(findings: Iterable[Finding]) -> list[Cause]:
    """Findings by upstream change: groups in the order of their worst finding, unexplained last."""
    groups: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in sorted(findings, key=lambda item: item.sort_key):
        groups[finding.cause].append(finding)
    causes = [Cause(name, tuple(members)) for name, members in groups.items()]
    return sorted(causes, key=lambda cause: (cause.name == "", cause.findings[0].sort_key))


def count_by_severity(findings: Sequence[Finding]) -> dict[Severity, int]:
    """How many of each severity, zeros included."""
    found = Counter(finding.severity for finding in findings)
    return {severity: found[severity] for severity in Severity}


def counts_in_words(findings: Sequence[Finding]) -> str:
    """``2 errors, 1 warning and 3 notes``, or ``nothing``."""
    counts = count_by_severity(findings)
    parts = [counted(number, severity.value) for severity, number in counts.items() if number]
    return joined(parts) or "nothing"


def identity_rows(report: Report) -> list[tuple[str, Identity]]:
    """The three trees, in the order that a reader asks for them."""
    return [("Base", report.base), ("Target", report.target), ("Plugin", report.subject)]


def identity_name(identity: Identity) -> str:
    """``vllm 0.26.0``, or the specification when the tree does not say."""
    if identity.name is None:
        return identity.label
    which = identity.version or (identity.revision or "")[:12]
    return f"{identity.name} {which}".rstrip()


def identity_state(identity: Identity) -> str:
    """What kind of tree it is, and whether it differs from its commit."""
    if identity.dirty is None:
        return identity.kind
    return f"{identity.kind}, {'with uncommitted changes' if identity.dirty else 'clean'}"


def place(path: str, line: int | None) -> str:
    """``path:line``."""
    return f"{path}:{line}" if line else path


def place_of(item: Evidence) -> str:
    """Where a piece of evidence was seen."""
    if item.path is None:
        return ""
    if item.lines is None:
        return item.path
    first, last = item.lines
    return f"{item.path}:{first}" if first == last else f"{item.path}:{first}-{last}"


def _by_frequency(values: Iterable[str]) -> list[str]:
    return [value for value, _ in Counter(values).most_common()]

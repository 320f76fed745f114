"""report.sarif: SARIF 2.1.0 for code scanning and editors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from sarif_pydantic import (  # type: ignore[import-untyped]
    ArtifactLocation,
    Invocation,
    Location,
    Message,
    PhysicalLocation,
    Region,
    ReportingConfiguration,
    ReportingDescriptor,
    Result,
    Run,
    Sarif,
    Tool,
    ToolDriver,
)
from sarif_pydantic import Level as SarifLevel
from sarif_pydantic.sarif import (  # type: ignore[import-untyped]
    ArtifactContent,
    LogicalLocation,
    Notification,
    ReportingDescriptorReference,
    RunAutomationDetails,
)

from agent.report.rules import RuleInfo
from agent.report.text import visible
from agent.report.view import View
from tools.findings import Evidence, Finding, Identity, Report

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
PLUGIN_ROOT = "SRCROOT"
"""What code scanning calls the root of the checkout."""
_ROOTS = {"plugin": PLUGIN_ROOT, "base": "UPSTREAM_BASE", "target": "UPSTREAM_TARGET"}
_SNIPPET_LIMIT = 4_000
_TAGS = {
    "IMP": "imports",
    "CAL": "calls",
    "OVR": "overrides",
    "ABS": "abstract-members",
    "INI": "inherited-state",
    "ATT": "attributes",
    "ENU": "enums",
    "REG": "registries",
    "PAT": "patches",
    "DRF": "drift",
    "RET": "returns",
    "LAY": "weight-layout",
    "CFG": "configuration",
}


def render(report: Report, rules: Mapping[str, RuleInfo]) -> bytes:
    """The report as one SARIF run."""
    view = View(report, rules)
    checks = sorted({*rules, *report.coverage.checks, *(finding.check for finding in report.findings)})
    index = {check: position for position, check in enumerate(checks)}
    run = Run(
        tool=Tool(
            driver=ToolDriver(
                name="metax-upgrade",
                version=report.tool_version,
                rules=[_rule(check, rules.get(check)) for check in checks],
            )
        ),
        invocations=[_invocation(report)],
        results=[_result(finding, index, view) for finding in view.findings],
        automation_details=RunAutomationDetails(id=_automation_id(report)),
        original_uri_base_ids={
            _ROOTS[name]: ArtifactLocation(description=Message(text=visible(f"{name}: {identity.label}")))
            for name, identity in _identities(report)
        },
        default_encoding="utf-8",
        properties={name: _identity_properties(identity) for name, identity in _identities(report)},
        columnKind="unicodeCodePoints",
    )
    log = Sarif(runs=[run], **{"$schema": SCHEMA_URI})
    dumped = log.model_dump(mode="json", by_alias=True, exclude_none=True)
    text = json.dumps(dumped, indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def _identities(report: Report) -> list[tuple[str, Identity]]:
    return [("plugin", report.subject), ("base", report.base), ("target", report.target)]


def _identity_properties(identity: Identity) -> dict[str, Any]:
    return {key: _shown(value) for key, value in identity.model_dump(mode="json", exclude_none=True).items()}


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def _automation_id(report: Report) -> str:
    """Category in code scanning: a run replaces earlier ones of the same upgrade only."""
    versions = (item.version or item.label for item in (report.base, report.target))
    parts = ("metax-upgrade", report.profile, "-to-".join(versions))
    return "".join(f"{quote(part, safe='.+-_=')}/" for part in map(visible, parts))


def _rule(check: str, info: RuleInfo | None) -> ReportingDescriptor:
    title = info.title if info and info.title else check
    family = _TAGS.get(check[:3].upper())
    rule = ReportingDescriptor(
        id=check,
        name=check,
        short_description=Message(text=visible(title)),
        properties={"tags": ["upgrade", *([family] if family else [])]},
    )
    if info is None:
        return rule
    text = info.help.strip() or title
    return rule.model_copy(
        update={
            "full_description": Message(text=visible(title)),
            "help": Message(text=visible(text), markdown=visible(text)),
            "default_configuration": ReportingConfiguration(level=info.severity.value),
        }
    )


def _invocation(report: Report) -> Invocation:
    notes = [
        Notification(
            level=SarifLevel.ERROR,
            message=Message(text=visible(f"Blocked: {item.what}: {item.why}. {item.remedy}")),
        )
        for item in report.blocked
    ]
    notes += [
        Notification(
            level=SarifLevel.ERROR,
            message=Message(text=visible(f"Check failed: {check}")),
            associated_rule=ReportingDescriptorReference(id=check),
        )
        for check in report.coverage.checks_failed
    ]
    return Invocation(
        execution_successful=not notes,
        **({"toolExecutionNotifications": notes} if notes else {}),
    )


def _result(finding: Finding, index: Mapping[str, int], view: View) -> Result:
    evidence = view.evidence_of(finding)
    related = [
        _upstream_location(item, number)
        for number, item in enumerate(
            (item for item in evidence if item.source != "plugin" and item.path), start=1
        )
    ]
    return Result(
        rule_id=finding.check,
        rule_index=index[finding.check],
        level=SarifLevel(finding.severity.value),
        message=Message(text=_message(finding)),
        locations=[_plugin_location(finding, evidence)],
        related_locations=related or None,
        partial_fingerprints={"findingId/v1": finding.id},
        properties=_properties(finding),
        baselineState="new" if finding.introduced else "unchanged",
    )


def _message(finding: Finding) -> str:
    parts: list[str | None] = [finding.message]
    parts += [finding.consequence and f"Consequence: {finding.consequence}"]
    parts += [finding.trigger and f"Trigger: {finding.trigger}", finding.since and f"Since: {finding.since}"]
    parts += [finding.suggestion and f"Suggestion: {finding.suggestion}"]
    # In a SARIF message `[text](1)` is a link to a related location, so brackets of ours are escaped.
    text = "\n".join(visible(part) for part in parts if part)
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")


def _properties(finding: Finding) -> dict[str, Any]:
    values = finding.model_dump(
        mode="json", exclude_none=True, exclude={"message", "path", "line", "severity", "check", "id"}
    )
    shown = {
        key: value if not isinstance(value, list) else [_shown(item) for item in value]
        for key, value in values.items()
    }
    return {key: _shown(value) for key, value in shown.items() if value not in ("", [])}


def _plugin_location(finding: Finding, evidence: list[Evidence]) -> Location:
    around = next(
        (item for item in evidence if item.source == "plugin" and item.path == finding.path and item.lines),
        None,
    )
    return Location(
        physical_location=PhysicalLocation(
            artifact_location=_artifact(finding.path, PLUGIN_ROOT),
            region=Region(start_line=finding.line),
            # A context region must enclose the region, or readers reject the result.
            context_region=_region(around) if around and _encloses(around, finding.line) else None,
        ),
        logical_locations=[LogicalLocation(fully_qualified_name=visible(finding.symbol))]
        if finding.symbol
        else None,
    )


def _encloses(item: Evidence, line: int) -> bool:
    return item.lines is not None and item.lines[0] <= line <= item.lines[1] and item.lines[0] < item.lines[1]


def _upstream_location(item: Evidence, number: int) -> Location:
    return Location(
        id=number,
        physical_location=PhysicalLocation(
            artifact_location=_artifact(item.path or "", _ROOTS.get(item.source)),
            region=_region(item) if item.lines else None,
        ),
        message=Message(text=visible(f"{item.source} {item.kind}")),
    )


def _region(item: Evidence) -> Region:
    first, last = item.lines or (1, 1)
    snippet = visible(item.excerpt)[:_SNIPPET_LIMIT]
    return Region(
        start_line=max(first, 1),
        end_line=max(last, first, 1),
        snippet=ArtifactContent(text=snippet) if snippet else None,
    )


def _artifact(path: str, root: str | None) -> ArtifactLocation:
    # Bytes that are not UTF-8 arrive as lone surrogates; their percent form is what the path really holds.
    uri = quote(path.encode("utf-8", "surrogateescape" if _escaped(path) else "surrogatepass"), safe="/")
    return ArtifactLocation(uri=uri, uri_base_id=root)


def _escaped(path: str) -> bool:
    """Whether every surrogate of ``path`` came from a byte (U+DC80 to U+DCFF)."""
    return all(0xDC80 <= ord(char) <= 0xDCFF for char in path if 0xD800 <= ord(char) <= 0xDFFF)

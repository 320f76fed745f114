"""Puts the stored results together and writes the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent import tool_version
from agent.errors import Exit, Stop
from agent.state import BlockedEntry, ReviewState, Role
from agent.subject import without_login
from agent.workbench import Workbench
from tools.findings import Blocked, Coverage, Discrepancy, Identity, Report
from tools.sources.redact import redacted

NOT_AUDITED = "not audited; a clone of upstream given with --upstream-repo says what each commit means"


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores the report and writes it in the forms asked for."""
    from agent.report import ReportWriteError, RuleInfo, write_reports
    from agent.report.files import write_atomically
    from tools.review import rules

    bench.progress("writing the report", 0, None)
    blocked = list(state.get("blocked", []))
    if not blocked:
        blocked = list(state.get("held", []))
        blocked += [_entry(error.what, error.why, error.remedy) for error in bench.recheck(state)]
    report = assemble(state, bench, blocked)
    request = state["request"]
    out = Path(request["cwd"]) / request["out"]
    documentation = {
        check: RuleInfo(title=info.title, help=info.help, severity=info.severity)
        for check, info in rules().items()
    }
    try:
        _keep_out_of_git(out)
        written = write_reports(report, out, tuple(request["format"]), rules=documentation)
        patch = bench.store.get(state["results"]["patch"]) if "patch" in state.get("results", {}) else ""
        if patch:
            write_atomically(out / "report.patch", patch.encode("utf-8"))
            written.append(out / "report.patch")
    except ReportWriteError as error:
        raise Stop(Exit.BLOCKED, str(error.path), error.why, error.remedy) from None
    return {
        "results": {"report": bench.store.put(report.model_dump_json())},
        "written": [str(path) for path in written],
        "blocked": blocked,
    }


def assemble(state: ReviewState, bench: Workbench, blocked: list[BlockedEntry]) -> Report:
    """The report from what the steps stored; a step that was not reached leaves its part empty."""
    inventory = _stored(state, bench, "inventory")
    compared = _stored(state, bench, "compare")
    checked = _stored(state, bench, "check")
    merged = _stored(state, bench, "merge")
    audited = _stored(state, bench, "audit")
    cited = _stored(state, bench, "cited")
    evidence = {
        item["id"]: item
        for part in (inventory, checked, merged, audited)
        for item in part.get("evidence", ())
    }
    report = Report(
        tool_version=tool_version(),
        profile=state["profile"],
        subject=_identity(state, bench, "plugin"),
        base=_identity(state, bench, "base"),
        target=_identity(state, bench, "target"),
        environment=state.get("environment", {}),
        discrepancies=tuple(Discrepancy.model_validate(row) for row in state.get("discrepancies", [])),
        coverage=Coverage.model_validate(
            {
                **_stored(state, bench, "coverage"),
                "unchanged": compared.get("unchanged", ()),
                "commits": audited.get("commits", NOT_AUDITED),
            }
        ),
        timings={name: round(seconds, 3) for name, seconds in state.get("timings", {}).items()},
        blocked=tuple(Blocked(what=b["what"], why=b["why"], remedy=b["remedy"]) for b in blocked),
        findings=tuple(cited.get("findings", checked.get("findings", ()))),
        unresolved=tuple(checked.get("unresolved", ())),
        inventory=tuple(inventory.get("rows", ())),
        merges=tuple(merged.get("rows", ())),
        chains=tuple(inventory.get("chains", ())),
        support=tuple(inventory.get("support", ())),
        dispositions=tuple(cited.get("dispositions", audited.get("dispositions", ()))),
        files=tuple(audited.get("files", ())),
        evidence=tuple(evidence[key] for key in sorted(evidence)),
    )
    return report.model_copy(update={"findings": tuple(sorted(report.findings, key=lambda f: f.sort_key))})


def _stored(state: ReviewState, bench: Workbench, step: str) -> dict[str, Any]:
    key = state.get("results", {}).get(step)
    return json.loads(bench.store.get(key)) if key else {}


def _identity(state: ReviewState, bench: Workbench, role: Role) -> Identity:
    known = state.get("identities", {}).get(role)
    if known is not None:
        return Identity.model_validate(known)
    return Identity(kind="unread", label=without_login(bench.spec(state, role)), digest="")


def _entry(what: str, why: str, remedy: str) -> BlockedEntry:
    return {"what": redacted(what), "why": redacted(why), "remedy": redacted(remedy), "wrong_use": False}


def _keep_out_of_git(out: Path) -> None:
    """A new folder ignores itself, or inside the plugin's checkout it would be part of the next worktree."""
    from agent.report.files import make_folder, write_atomically

    if not out.exists():
        make_folder(out)
        write_atomically(out / ".gitignore", b"*\n")

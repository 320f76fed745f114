"""Opens the three sources, asks the interpreter that was named, and records what they are and what looked at them."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agent.state import ROLES, ReviewState
from agent.subject import without_login
from agent.workbench import Workbench
from tools.findings import Discrepancy, Severity
from tools.sources.redact import redacted
from tools.sources.snapshot import SourceError


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Adds identities and environment.

    When a source cannot be had, those that can are recorded all the same: a blocked report says what
    is known.
    """
    identities: dict[str, dict[str, Any]] = {}
    failed: SourceError | None = None
    profile = bench.profile(state)
    for number, role in enumerate(ROLES):
        bench.progress("opening sources", number, len(ROLES))
        try:
            snapshot = bench.snapshot(state, role)
        except SourceError as error:
            failed = failed or error
            continue
        plain = snapshot.identity.model_dump(mode="json")
        # A checkout does not say what it is called; the profile does.
        name = profile.plugin_distribution if role == "plugin" else profile.upstream_distribution
        identities[role] = {
            **plain,
            "label": without_login(plain["label"]),
            "name": plain["name"] or name,
        }
    if failed is None and state["request"].get("upstream_repo"):
        failed = _no_upstream(state)
    update: ReviewState = {
        "identities": identities,
        "environment": _environment(),
    }
    if failed is None and state["request"]["python"]:
        bench.progress("asking the interpreter", 0, None)
        update = {**update, **_interpreter(state, bench, update["environment"])}
    if failed is not None:
        update["blocked"] = [
            {
                "what": redacted(failed.what),
                "why": redacted(failed.why),
                "remedy": redacted(failed.remedy),
                "wrong_use": failed.wrong_use,
            }
        ]
    return update


def _interpreter(state: ReviewState, bench: Workbench, environment: dict[str, str]) -> ReviewState:
    """What the interpreter would import, beside the plugin and the target; static work goes on whatever it says."""
    from agent.preflight import facts_of
    from tools.environment.ask import InterpreterError
    from tools.preflight.survey import take_preflight

    request = state["request"]
    try:
        record = take_preflight(
            Path(request["python"] or ""),
            bench.profile(state),
            cwd=Path(request["cwd"]),
            vllm=bench.snapshot(state, "target"),
            plugin=bench.snapshot(state, "plugin"),
        )
    except InterpreterError as error:
        row = Discrepancy(
            kind="interpreter-not-asked",
            about="interpreter",
            severity=Severity.ERROR,
            what=redacted(f"{error.what} {error.why}."),
            means="What it would import is unknown, so nothing can be validated with it.",
            remedy=redacted(error.remedy),
        )
        return {"discrepancies": [row.model_dump(mode="json")]}
    return {
        "environment": {**environment, **facts_of(record)},
        "discrepancies": [row.model_dump(mode="json") for row in record.discrepancies],
        "results": {"preflight": bench.store.put(record.model_dump_json())},
    }


def _no_upstream(state: ReviewState) -> SourceError | None:
    """What is wrong with the upstream repository that was named, as far as that is seen at once."""
    from tools.history.audit import open_upstream

    try:
        open_upstream(Path(state["request"]["upstream_repo"] or ""))
    except SourceError as error:
        return error
    return None


def _environment() -> dict[str, str]:
    return {
        "platform": f"{platform.system().lower()}-{platform.machine()}",
        "python": platform.python_version(),
        "ty": version("ty"),
    }

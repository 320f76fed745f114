"""Opens the three sources and records what they are and what looked at them."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from typing import Any

from agent.state import ROLES, ReviewState
from agent.workbench import Workbench
from tools.sources.redact import redacted
from tools.sources.snapshot import Snapshot, SourceError


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Adds identities, environment and, in the store, how much there is to read.

    When a source cannot be had, those that can are recorded all the same: a blocked report says what
    is known.
    """
    identities: dict[str, dict[str, Any]] = {}
    scope: dict[str, dict[str, object]] = {}
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
        identities[role] = {**plain, "label": redacted(plain["label"])}
        package = profile.plugin_package if role == "plugin" else profile.upstream_package
        scope[role] = {
            "files": _count(snapshot, package),
            "skipped": [f"{role}: {item.path}: {item.reason}" for item in snapshot.skipped],
        }
    update: ReviewState = {
        "identities": identities,
        "environment": _environment(),
        "results": {"preflight": bench.store.put(json.dumps(scope, sort_keys=True))},
    }
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


def _count(snapshot: Snapshot, package: str) -> int:
    roots = (f"{package}/", f"src/{package}/")
    return sum(path.endswith(".py") and path.startswith(roots) for path in snapshot.paths())


def _environment() -> dict[str, str]:
    return {
        "platform": f"{platform.system().lower()}-{platform.machine()}",
        "python": platform.python_version(),
        "ty": version("ty"),
    }

"""Finds the commit behind every finding that the upgrade introduced."""

from __future__ import annotations

import json
from pathlib import Path

from agent.state import ReviewState
from agent.workbench import Workbench
from tools.sources.snapshot import SourceError


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores findings with ``since``, and commits with the findings they caused, where commits were audited."""
    results = state.get("results", {})
    repository = state["request"].get("upstream_repo")
    if not repository or "audit" not in results:
        return {}
    from tools.findings import Disposition, Finding, InventoryRow
    from tools.review import Trees, cite_commits

    try:
        anchors, key = bench.anchors(state)

        def compute(trees: Trees) -> dict[str, str]:
            stored = {
                step: json.loads(bench.store.get(results[step])) for step in ("inventory", "check", "audit")
            }
            found = cite_commits(
                trees,
                Path(repository),
                anchors,
                [InventoryRow.model_validate(row) for row in stored["inventory"]["rows"]],
                [Finding.model_validate(row) for row in stored["check"]["findings"]],
                [Disposition.model_validate(row) for row in stored["audit"]["dispositions"]],
                bench.progress,
            )
            return {"cited": found.model_dump_json()}

        # A check that failed this time would leave its findings without a commit for good.
        failed = bool(json.loads(bench.store.get(results["check"]))["checks_failed"])
        texts = bench.remembered(state, "cited", compute, lambda _: not failed, extra=key)
    except SourceError as error:
        return {"held": [bench.entry(error)]}
    return {"results": {name: bench.store.put(text) for name, text in texts.items()}}

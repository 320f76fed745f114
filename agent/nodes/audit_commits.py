"""Says what every upstream commit between base and target means for the plugin."""

from __future__ import annotations

import json
from pathlib import Path

from agent.state import ReviewState
from agent.workbench import Workbench
from tools.sources.snapshot import SourceError


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores dispositions, files and patches; without an upstream repository there is nothing to do.

    What cannot be read there is reported as blocked, and the review goes on: its findings need no history.
    """
    repository = state["request"].get("upstream_repo")
    if not repository:
        return {}
    from tools.findings import InventoryRow
    from tools.review import Trees, audit_commits

    bench.progress("finding the commits of base and target", 0, None)
    try:
        anchors, key = bench.anchors(state)

        def compute(trees: Trees) -> dict[str, str]:
            rows = json.loads(bench.store.get(state["results"]["inventory"]))["rows"]
            inventory = [InventoryRow.model_validate(row) for row in rows]
            found = audit_commits(trees, Path(repository), anchors, inventory, bench.progress)
            return {"audit": found.model_dump_json()}

        texts = bench.remembered(state, "audit", compute, extra=key)
    except SourceError as error:
        return {"held": [bench.entry(error)]}
    note = json.loads(texts["audit"]).get("note")
    update: ReviewState = {"results": {name: bench.store.put(text) for name, text in texts.items()}}
    return {**update, "notes": [note]} if note else update

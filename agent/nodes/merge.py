"""Carries upstream's changes into the plugin's copies, as proposals; does nothing where none were asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from agent.state import ReviewState
from agent.workbench import Workbench

if TYPE_CHECKING:
    from tools.merge.ancestors import History
    from tools.review import Trees


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores rows and their evidence, and the patch."""
    if not state["request"].get("merges"):
        return {}

    def compute(trees: Trees) -> dict[str, str]:
        from tools.code.reading import no_collector
        from tools.proposals.result import merges

        known = frozenset(f["id"] for f in json.loads(bench.store.get(state["results"]["check"]))["findings"])
        bench.progress("merging copied symbols", 0, None)
        with no_collector():
            result = merges(trees.context(), _history(state, bench), known)
        return {"merge": result.model_dump_json(exclude={"patch"}), "patch": result.patch}

    texts = bench.remembered(state, "merge", compute)
    return {"results": {name: bench.store.put(text) for name, text in texts.items()}}


def _history(state: ReviewState, bench: Workbench) -> History | None:
    """Earlier versions of what was copied, where base is a revision of a clone."""
    folder, at, _ = bench.spec(state, "base").rpartition("@")
    revision = state["identities"]["base"].get("revision")
    if not at or not revision or not Path(folder).is_dir():
        return None
    from tools.merge.ancestors import GitHistory

    return GitHistory(Path(folder), revision)

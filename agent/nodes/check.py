"""Runs every check on (plugin, base) and (plugin, target)."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores findings, unresolved rows and their evidence."""
    from tools.review import run_checks

    result = run_checks(bench.trees(state), bench.progress)
    return {"results": {"check": bench.store.put(result.model_dump_json())}}

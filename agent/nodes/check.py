"""Runs every check on (plugin, base) and (plugin, target)."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores findings, unresolved rows, their evidence, and what was read."""
    from tools.review import coverage, run_checks

    trees = bench.trees(state)
    result = run_checks(trees, bench.progress)
    return {
        "results": {
            "check": bench.store.put(result.model_dump_json()),
            "coverage": bench.store.put(coverage(trees, result).model_dump_json()),
        },
        "notes": list(trees.notes),
    }

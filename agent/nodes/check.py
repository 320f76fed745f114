"""Runs every check on (plugin, base) and (plugin, target)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.state import ReviewState
from agent.workbench import Workbench

if TYPE_CHECKING:
    from tools.review import Trees


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores findings, unresolved rows, their evidence, and what was read."""

    def compute(trees: Trees) -> dict[str, str]:
        from tools.review import coverage, run_checks

        result = run_checks(trees, bench.progress)
        bench.timings.update(result.timings)
        return {
            "check": result.model_copy(update={"timings": {}}).model_dump_json(),
            "coverage": coverage(trees, result).model_dump_json(),
        }

    texts = bench.remembered(state, "check", compute, _nothing_failed)
    return {"results": {name: bench.store.put(text) for name, text in texts.items()}, "notes": bench.notes()}


def _nothing_failed(texts: dict[str, str]) -> bool:
    return not json.loads(texts["check"])["checks_failed"]

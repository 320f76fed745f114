"""Finds what each plugin symbol stands on upstream, in base and in target."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores the counterparts and the upstream symbols that stayed the same."""
    from tools.review import compare

    result = compare(bench.trees(state))
    return {"results": {"compare": bench.store.put(result.model_dump_json())}}

"""Lists what the plugin registers, patches and overrides."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores the inventory."""
    from tools.review import take_inventory

    result = take_inventory(bench.trees(state))
    return {"results": {"inventory": bench.store.put(result.model_dump_json())}}

"""Lists what the plugin registers, patches and overrides."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores the inventory."""
    from tools.review import take_inventory

    texts = bench.remembered(state, "inventory", lambda t: {"inventory": take_inventory(t).model_dump_json()})
    return {"results": {name: bench.store.put(text) for name, text in texts.items()}}

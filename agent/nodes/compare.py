"""Matches the plugin's symbols with upstream's and says which of those it uses stayed the same."""

from __future__ import annotations

from agent.state import ReviewState
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Stores counterparts and the unchanged list."""
    from tools.review import compare

    texts = bench.remembered(state, "compare", lambda trees: {"compare": compare(trees).model_dump_json()})
    return {"results": {name: bench.store.put(text) for name, text in texts.items()}}

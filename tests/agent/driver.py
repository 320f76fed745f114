"""``python -m tests.agent.driver ARGS`` is ``metax-upgrade ARGS`` over the stand-in for the tools.

HANG=step:before or step:after makes it write a file and sleep there, for a test to kill it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

from agent.state import ReviewState
from agent.workbench import Workbench
from tests.agent import fake_review

sys.modules["tools.review"] = fake_review


def _hang(where: str) -> None:
    from agent import graph

    wanted, when = where.split(":")

    def stop_here() -> None:
        Path(os.environ["HANG_MARK"]).write_text(where, encoding="utf-8")
        time.sleep(60)

    def hanging(step: graph.Step) -> graph.Step:
        def run(state: ReviewState, bench: Workbench) -> ReviewState:
            if when == "before":
                stop_here()
            update = step.run(state, bench)
            stop_here()
            return update

        return replace(step, run=run)

    graph.STEPS = tuple(hanging(step) if step.name == wanted else step for step in graph.STEPS)


if __name__ == "__main__":
    if os.environ.get("HANG"):
        _hang(os.environ["HANG"])
    from agent.cli import main

    main()

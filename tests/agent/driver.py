"""``python -m tests.agent.driver ARGS`` is ``metax-upgrade ARGS`` over the stand-in for the tools.

HANG=step:before or step:after makes it write a file and sleep there, for a test to kill it; HANG=saving:N
sleeps after the result of a step was kept and before checkpoint N says so.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from agent.state import ReviewState
from agent.workbench import Workbench
from tests.agent import fake_review

sys.modules["tools.review"] = fake_review


def _stop_here(where: str) -> None:
    Path(os.environ["HANG_MARK"]).write_text(where, encoding="utf-8")
    time.sleep(60)


def _hang_saving(number: int, where: str) -> None:
    from langgraph.checkpoint.sqlite import SqliteSaver

    put = SqliteSaver.put
    saved = itertools.count()

    def hanging(self: SqliteSaver, *arguments: Any) -> Any:
        if next(saved) == number:
            _stop_here(where)
        return put(self, *arguments)

    cast(Any, SqliteSaver).put = hanging


def _hang(where: str) -> None:
    from agent import graph

    wanted, when = where.split(":")
    if wanted == "saving":
        _hang_saving(int(when), where)
        return

    def hanging(step: graph.Step) -> graph.Step:
        def run(state: ReviewState, bench: Workbench) -> ReviewState:
            if when == "before":
                _stop_here(where)
            update = step.run(state, bench)
            _stop_here(where)
            return update

        return replace(step, run=run)

    graph.STEPS = tuple(hanging(step) if step.name == wanted else step for step in graph.STEPS)


if __name__ == "__main__":
    if os.environ.get("HANG"):
        _hang(os.environ["HANG"])
    from agent.cli import main

    main()

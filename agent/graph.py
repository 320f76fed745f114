"""The review as a LangGraph graph, checkpointed after every step."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from agent.errors import Exit, Stop
from agent.nodes import (
    audit_commits,
    check,
    cite_commits,
    compare,
    inventory,
    merge,
    preflight,
    report,
    scope,
)
from agent.state import BlockedEntry, ReviewState
from agent.workbench import Workbench
from tools.sources.redact import redacted
from tools.sources.snapshot import SourceError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.graph.state import CompiledStateGraph

    Graph = CompiledStateGraph[ReviewState, None, ReviewState, ReviewState]


@dataclass(frozen=True)
class Step:
    """One node of the graph."""

    name: str
    run: Callable[[ReviewState, Workbench], ReviewState]


STEPS: tuple[Step, ...] = (
    Step("scope", scope.run),
    Step("preflight", preflight.run),
    Step("inventory", inventory.run),
    Step("compare", compare.run),
    Step("audit_commits", audit_commits.run),
    Step("check", check.run),
    Step("cite_commits", cite_commits.run),
    Step("merge", merge.run),
    Step("report", report.run),
)
"""In the order they run. A step that blocks goes straight to the last one."""


@contextmanager
def open_graph(checkpoints: Path, bench: Workbench) -> Iterator[Graph]:
    """The graph over the checkpoints in one file."""
    _no_tracing()
    from langgraph.checkpoint.sqlite import SqliteSaver
    from langgraph.graph import END, START, StateGraph

    last = STEPS[-1].name
    builder = StateGraph(ReviewState)
    for step, following in zip(STEPS, (*STEPS[1:], None), strict=True):
        builder.add_node(step.name, cast(Any, _node(step, bench)))
        if following is not None:
            builder.add_conditional_edges(step.name, _route(following.name, last, END))
    builder.add_edge(START, STEPS[0].name)
    builder.add_edge(last, END)
    connection = sqlite3.connect(checkpoints, check_same_thread=False)
    try:
        yield builder.compile(checkpointer=SqliteSaver(connection))
    finally:
        connection.close()


def run_graph(graph: Graph, thread: str, state: ReviewState | None) -> ReviewState:
    """Runs to the end, from ``state`` or, without one, from the last checkpoint."""
    result = graph.invoke(state, config_for(thread), durability="sync")
    return cast(ReviewState, result)


def config_for(thread: str) -> RunnableConfig:
    """Names the checkpoint thread."""
    return {"configurable": {"thread_id": thread}}


def _route(following: str, last: str, end: str) -> Callable[[ReviewState], str]:
    def route(state: ReviewState) -> str:
        blocked = state.get("blocked", [])
        if any(entry["wrong_use"] for entry in blocked):
            return end
        return last if blocked else following

    return route


def _node(step: Step, bench: Workbench) -> Callable[[ReviewState], ReviewState]:
    """The step at its border: time taken, and what could not be read turned into data."""

    def node(state: ReviewState) -> ReviewState:
        begun = time.perf_counter()
        try:
            update = step.run(state, bench)
        except SourceError as error:
            update = {"blocked": [_entry(error.what, error.why, error.remedy, wrong_use=error.wrong_use)]}
        except Stop as stop:
            if stop.status is not Exit.USAGE:
                raise
            update = {"blocked": [_entry(stop.what, stop.why, stop.remedy, wrong_use=True)]}
        timings = {**bench.timings, step.name: round(time.perf_counter() - begun, 3)}
        return {**update, "timings": timings}

    return node


def _entry(what: str, why: str, remedy: str, *, wrong_use: bool) -> BlockedEntry:
    return {"what": redacted(what), "why": redacted(why), "remedy": redacted(remedy), "wrong_use": wrong_use}


def _no_tracing() -> None:
    """LangGraph's tracing would send the reviewed sources to a web service if the environment asks for it."""
    for name in ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2"):
        os.environ[name] = "false"

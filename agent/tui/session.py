"""A session on disk as the screens want it."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from pydantic import ValidationError

from agent.errors import Exit, Stop
from agent.progress import silent
from agent.sessions import Session, list_sessions, load_session
from agent.state import ReviewState
from agent.tui.desk import Desk
from agent.tui.panes import Panes
from agent.workbench import Workbench


def chosen(name: str | None) -> Session:
    """The session called ``name``, or the latest that has a report. Raises Stop when there is none."""
    if name is not None:
        return load_session(name)
    for record in list_sessions():
        if record.reports:
            return load_session(record.id)
    raise Stop(Exit.USAGE, "the latest session", "no session has a report yet", "Run a review first.")


def desk_of(session: Session) -> Desk:
    """What ``session`` found. Its sources are opened when a pane first needs them.

    Raises Stop when the session has no report.
    """
    from agent.graph import config_for, open_graph
    from tools.compare.deltas import CompareResult
    from tools.findings import Report

    bench = Workbench(session.store, silent)
    with open_graph(session.checkpoints, bench) as graph:
        state = cast(ReviewState, graph.get_state(config_for(session.thread)).values)
    results = state.get("results", {})
    if "report" not in results:
        raise Stop(
            Exit.USAGE,
            f"session {session.record.id}",
            f"it has no report (it is {session.record.status})",
            f"Go on with: metax-upgrade resume {session.record.id}",
        )
    compared = CompareResult(counterparts=(), unchanged=())
    try:
        report = Report.model_validate_json(session.store.get(results["report"]))
        if "compare" in results:
            compared = CompareResult.model_validate_json(session.store.get(results["compare"]))
    except ValidationError:
        raise Stop(
            Exit.BLOCKED,
            f"session {session.record.id}",
            f"its report was made by another version ({session.record.tool_version})",
            "Run the review again.",
        ) from None
    panes = Panes(report, compared, lambda role: bench.snapshot(state, role))  # type: ignore[arg-type]
    return Desk(session.record.id, report, panes.pane, tuple(Path(p) for p in session.record.reports))

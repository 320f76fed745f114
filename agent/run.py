"""Starts and resumes sessions, and turns what happened into messages and an exit status."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from agent import tool_version
from agent.errors import Exit, Stop, from_system
from agent.faults import fault
from agent.progress import shown
from agent.screen import Screen
from agent.sessions import (
    BLOCKED,
    FAILED,
    FINISHED,
    INTERRUPTED,
    RUNNING,
    Session,
    create_session,
    load_session,
)
from agent.state import Request, ReviewState
from agent.subject import without_login
from tools.sources.redact import redacted

if TYPE_CHECKING:
    from agent.settings import ReviewSettings
    from agent.workbench import Workbench
    from tools.findings import Report


def start_review(settings: ReviewSettings, cwd: Path, screen: Screen) -> Exit:
    """A new session, run to its end."""
    for name in ("base", "target"):
        if not getattr(settings, name):
            raise Stop(
                Exit.USAGE,
                f"--{name}",
                "no upstream version was given",
                f"Give --{name} vllm==X, a path, PATH@REV or installed:vllm.",
            )
    out = cwd / settings.out
    if out.exists() and not out.is_dir():
        raise Stop(Exit.USAGE, "--out", f"{settings.out} is not a folder", "Name a folder.")
    session = create_session("review", request_of(settings, cwd), tool_version())
    screen.session(session.record.id)
    with session.lock():
        return _drive(session, screen, {"request": session.record.request})


def resume(name: str, screen: Screen) -> Exit:
    """Goes on with a session from its last checkpoint, or tells how it ended."""
    session = load_session(name)
    record = session.record
    if record.tool_version != tool_version():
        raise Stop(
            Exit.USAGE,
            f"session {name}",
            f"it was begun by version {record.tool_version}, and this is {tool_version()}",
            "Start a new review.",
        )
    if not Path(record.request["cwd"]).is_dir():
        raise Stop(
            Exit.BLOCKED,
            record.request["cwd"],
            "the session's folder is gone",
            "Put it back, or start a new review.",
        )
    screen.session(name)
    with session.lock():
        if record.status == BLOCKED:
            # What was missing may be there now; what was read before may be out of date. From the start.
            session.update(status=RUNNING, attempt=record.attempt + 1)
            return _drive(session, screen, {"request": record.request})
        return _drive(session, screen, None)


def request_of(settings: ReviewSettings, cwd: Path) -> Request:
    """The settings as plain data, without credentials."""
    return {
        "plugin": without_login(settings.plugin or ""),
        "base": without_login(settings.base),
        "target": without_login(settings.target),
        "out": str(settings.out),
        "format": [item.value for item in settings.format],
        "fail_on": settings.fail_on.value,
        "profile": settings.profile,
        "python": settings.python,
        "cache": str(settings.cache) if settings.cache else None,
        "offline": settings.offline,
        "merges": settings.merges,
        "upstream_repo": str(settings.upstream_repo.expanduser()) if settings.upstream_repo else None,
        "upstream_ref": settings.upstream_ref,
        "cwd": str(cwd),
    }


def _drive(session: Session, screen: Screen, state: ReviewState | None) -> Exit:
    from tools.code.reading import no_collector

    ended = [Exit.BUG]
    # One review and the process ends: walking some millions of syntax nodes again and again frees nothing.
    with no_collector(), _ending(session, screen, ended):
        ended[0] = _conclude(session, screen, _run(session, screen, state))
    return ended[0]


def _run(session: Session, screen: Screen, state: ReviewState | None) -> ReviewState:
    from agent.graph import config_for, open_graph, run_graph
    from agent.workbench import Workbench

    request = session.record.request
    os.chdir(request["cwd"])
    with shown(screen.quiet) as progress:
        bench = Workbench(session.store, progress)
        if session.record.status not in (FINISHED, BLOCKED):
            bench.read_ahead(request)
        try:
            with open_graph(session.checkpoints, bench) as graph:
                if state is None:
                    before = graph.get_state(config_for(session.thread))
                    reached = cast(ReviewState, before.values)
                    # A step whose result was kept just before the process died is a task, but not "next".
                    if reached and not before.tasks:
                        return reached
                    if reached:
                        _same_sources(bench, reached)
                    else:
                        state = {"request": request}
                return run_graph(graph, session.thread, state)
        except BaseException:
            bench.abandon()
            raise


def _same_sources(bench: Workbench, reached: ReviewState) -> None:
    from tools.sources.snapshot import SourceError

    try:
        if "profile" in reached and not reached.get("blocked"):
            bench.verify(reached)
    except SourceError as error:
        raise Stop(Exit.BLOCKED, redacted(error.what), redacted(error.why), redacted(error.remedy)) from None


def _conclude(session: Session, screen: Screen, final: ReviewState) -> Exit:
    blocked = final.get("blocked", [])
    refused = [entry for entry in blocked if entry["wrong_use"]]
    if refused:
        first = refused[0]
        session.discard()
        raise Stop(Exit.USAGE, first["what"], first["why"], first["remedy"])
    from tools.findings import Report

    report = Report.model_validate_json(session.store.get(final["results"]["report"]))
    written = final.get("written", [])
    status = exit_status(report, session.record.request["fail_on"])
    session.update(status=BLOCKED if blocked else FINISHED, reports=written)
    if not screen.quiet:
        for note in final.get("notes", []):
            screen.say(f"note: {note}")
    for entry in blocked:
        screen.problem(entry["what"], entry["why"], entry["remedy"])
    screen.result(session.record.id, report, written, status)
    return status


def exit_status(report: Report, fail_on: str) -> Exit:
    """What the report means to a script."""
    from tools.findings import Severity

    if report.blocked:
        return Exit.BLOCKED
    if fail_on == "never":
        return Exit.OK
    limit = Severity(fail_on).rank
    return Exit.FINDINGS if any(f.severity.rank <= limit for f in report.findings) else Exit.OK


@contextmanager
def _ending(session: Session, screen: Screen, ended: list[Exit]) -> Iterator[None]:
    """Every way a run can end early leaves a session that says so, and its exit status in ``ended``."""
    name = session.record.id
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one would cut the message off
        _mark(session, INTERRUPTED)
        screen.interrupted(name)
        ended[0] = Exit.INTERRUPTED
    except Stop:
        if session.folder.exists():
            _mark(session, INTERRUPTED)
        raise
    except (OSError, sqlite3.Error) as error:
        stop = from_system(error)
        if stop is None:
            _mark(session, FAILED)
            raise fault(error, session.folder) from error
        _mark(session, INTERRUPTED)
        stop.remedy = f"{stop.remedy} Then go on with: metax-upgrade resume {name}"
        raise stop from error
    except Exception as error:
        _mark(session, FAILED)
        raise fault(error, session.folder) from error


def _mark(session: Session, status: str) -> None:
    """Best effort: on a full disk the old status stays."""
    with suppress(OSError):
        session.update(status=status)

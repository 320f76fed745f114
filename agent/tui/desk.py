"""What the screens work on: one session's report, and the tabs of its findings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agent.tui.panes import Pane, Tab
from tools.findings import Finding, Report

PaneOf = Callable[[Finding, Tab], Pane]
Tell = Callable[["Event"], None]


@dataclass(frozen=True)
class StepBegun:
    """A step of the workflow starts."""

    name: str


@dataclass(frozen=True)
class StepEnded:
    """A step of the workflow is done; ``kept`` when its result came from an earlier run."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Progressed:
    """Inside a step: ``done`` of ``total`` (None when that is not known)."""

    label: str
    done: int
    total: int | None


Event = StepBegun | StepEnded | Progressed


@dataclass(frozen=True)
class Desk:
    """A session that has a report."""

    session: str
    report: Report
    pane: PaneOf
    """Reads files: call it off the screen's thread."""
    written: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """Which upgrade of which plugin."""
        return f"{self.report.subject.label}  {self.report.base.label} -> {self.report.target.label}"


Work = Callable[[Tell], Desk]
"""Runs the workflow to its report, telling what it does. Runs in a thread of its own."""

"""What a simulated start says: how a line is reached, what became of entry points, what an error costs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tools.registry.entry_points import EntryPoint
from tools.registry.execution import Execution
from tools.registry.sites import Registration
from tools.registry.trace import Executed, Fault, Site, Step


class How(StrEnum):
    """Whether a start reaches a line."""

    ALWAYS = "always"
    CONDITIONAL = "conditional"
    HOOK = "platform hook"
    """In a method of the platform class, which upstream calls after it loaded the plugins."""
    LAZY = "lazily"
    """When a function runs, or a class path or model is looked up."""
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Reached:
    """How a line is reached, under which condition, and along which chain."""

    how: How
    guard: str = ""
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class BlastRadius:
    """What is lost when one line raises."""

    raises_at_startup: bool
    """The line runs at start and nothing in the plugin catches what it raises."""
    chain: tuple[Step, ...]
    lost: tuple[Registration, ...]
    stops: EntryPoint | None
    """The entry point that does not finish."""
    stage: str = ""
    """``load``, ``call`` or ``class``: what upstream was doing with the entry point."""
    guard: str = ""
    """Condition under which the line runs, '' when it always does."""
    swallowed: bool = False
    """Upstream goes on, without the entry point."""
    effect: str = ""
    """What a user sees, as one clause."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one entry point. ``fault`` is None when it finished."""

    entry: EntryPoint
    stage: str
    fault: Fault | None


@dataclass(frozen=True)
class Run:
    """One simulated start."""

    execution: Execution
    outcomes: tuple[Outcome, ...]
    hook_lines: frozenset[Site]
    """Statements that only a platform hook reaches."""
    died: Outcome | None
    """The entry point whose error ends the process."""

    @cached_property
    def spans(self) -> dict[str, list[tuple[int, Executed]]]:
        """Module -> (first line, statement)."""
        out: dict[str, list[tuple[int, Executed]]] = {}
        for (module, first), executed in self.execution.statements.items():
            out.setdefault(module, []).append((first, executed))
        return out

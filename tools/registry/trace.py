"""Words of a simulated start: steps, statements reached, and errors that unwind."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tools.code.syntax import dotted
from tools.code.world import Resolution

Site = tuple[str, int]
"""(module, line)."""
Resolved = dict[tuple[str, str, str], Resolution | None]
"""Module, scope and callee -> the plugin function whose body runs; filled by one start, used by the next."""


@dataclass(frozen=True, slots=True)
class Step:
    """One link of an activation chain: at ``line`` of ``module``, ``what`` happens."""

    module: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Fault:
    """A statement that raises ``exception``."""

    module: str
    line: int
    exception: str = "ImportError"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Executed:
    """A statement that the start reaches: when, under which conditions and along which chain."""

    order: int
    end: int
    guards: tuple[str, ...]
    chain: tuple[Step, ...]


class Raised(Exception):
    """Unwinds the walk as ``fault`` unwinds the interpreter."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


_CAUGHT_BY = {
    "ModuleNotFoundError": {"ModuleNotFoundError", "ImportError"},
    "ImportError": {"ImportError"},
    "AttributeError": {"AttributeError"},
    "SyntaxError": {"SyntaxError"},
}


def catches(handler: ast.ExceptHandler, fault: Fault) -> bool:
    """True when ``handler`` catches what ``fault`` raises."""
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {dotted(t).rpartition(".")[2] for t in types}
    caught = _CAUGHT_BY.get(fault.exception, {fault.exception})
    return bool(names & (caught | {"Exception", "BaseException"}))

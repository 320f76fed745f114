"""Calls as records hold them, bound to parameters, and what a person reads when they do not bind."""

from __future__ import annotations

from tools.code.records import Call
from tools.code.signature import Arguments, Misfit, Problem


def arguments(call: Call) -> Arguments:
    """The call as ``bind`` takes it."""
    return Arguments(call.nargs, call.keywords, call.star, call.kwstar)


def describe(problems: tuple[Problem, ...]) -> str:
    """``no parameter `a`; `b` missing``."""
    parts = []
    for problem in problems:
        if problem.misfit is Misfit.UNKNOWN_KEYWORD:
            parts.append(f"it has no parameter `{problem.name}`")
        elif problem.misfit is Misfit.MISSING_ARGUMENT:
            parts.append(f"its required parameter `{problem.name}` is not passed")
        elif problem.misfit is Misfit.MULTIPLE_VALUES:
            parts.append(f"`{problem.name}` is passed twice")
        else:
            parts.append(f"it {problem.detail} positional arguments")
    return ", ".join(parts)

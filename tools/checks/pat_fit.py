"""How a call fits a replacement, and the original it was written for."""

from __future__ import annotations

from dataclasses import dataclass

from tools.checks.base import Context
from tools.checks.pat_common import arguments
from tools.code.records import Call, Function, Param, ParamKind
from tools.code.signature import (
    Arguments,
    Misfit,
    Problem,
    bind,
    is_static,
    keeps_signature,
    without_receiver,
)
from tools.findings import Certainty

_LAUNCH = frozenset(
    {"num_warps", "num_stages", "num_ctas", "maxnreg", "waves_per_eu", "matrix_instr_nonkdim"}
)
"""Keywords that Triton itself takes at a launch."""
_POSITIONAL = (ParamKind.POSITIONAL_ONLY, ParamKind.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Misuse:
    """A call that reaches the replacement and does not fit it."""

    module: str
    call: Call
    certainty: Certainty
    problems: tuple[Problem, ...]
    shift: tuple[str, str] | None
    """(name upstream means, name it arrives under) of the first value that changes places."""


class Fit:
    """What the replacement takes and what the original took, as callers see them."""

    def __init__(self, ours: Function, theirs: Function) -> None:
        self.ours, self.theirs = ours, theirs
        self.kernel = is_kernel(ours) or is_kernel(theirs)
        self.taken, self.meant = _params(ours, theirs), without_receiver(theirs)
        self._tuned = any("autotune" in d or "heuristics" in d for d in ours.decorators)
        self._strict = keeps_signature(theirs) and not self.kernel

    def judge(self, call: Call) -> tuple[tuple[Problem, ...], tuple[str, str] | None] | None:
        """Problems and shifted value of ``call``; None when it fits, or never fitted the original."""
        given = arguments(call)
        if self.kernel:
            kept = tuple(k for k in given.keywords if k not in _LAUNCH)
            given = Arguments(given.positional, kept, given.star, given.kwstar)
        problems = bind(self.taken, given)
        if self._tuned:
            # Tuning and heuristics supply parameters of their own.
            problems = tuple(p for p in problems if p.misfit is not Misfit.MISSING_ARGUMENT)
        shift = None if problems or given.star else _shift(self.taken, self.meant, given.positional)
        if not problems and shift is None:
            return None
        return None if self._strict and bind(self.meant, given) else (problems, shift)


def is_kernel(function: Function) -> bool:
    return any(
        d.partition("(")[0].rpartition(".")[2] in ("jit", "autotune", "heuristics")
        for d in function.decorators
    )


def without_patch(context: Context, function: Function) -> Function:
    """The decorator that installs the patch returns what it is given."""
    installs = {d.rpartition(".")[2] for d in context.profile.patch_decorators}
    kept = tuple(d for d in function.decorators if d.partition("(")[0].rpartition(".")[2] not in installs)
    return Function(**{**{f: getattr(function, f) for f in function.__struct_fields__}, "decorators": kept})


def _params(ours: Function, theirs: Function) -> tuple[Param, ...]:
    """Parameters of a replacement as callers see them once it sits on the class."""
    if theirs.in_class and not ours.in_class:
        if is_static(theirs) or is_static(ours):
            return ours.params
        return ours.params[1:] if ours.params and ours.params[0].kind in _POSITIONAL else ours.params
    return without_receiver(ours)


def _shift(taken: tuple[Param, ...], meant: tuple[Param, ...], given: int) -> tuple[str, str] | None:
    """(name upstream means, name it arrives under) of the first value that changes places."""
    ours = [p.name for p in taken if p.kind in _POSITIONAL]
    theirs = [p.name for p in meant if p.kind in _POSITIONAL]
    for index in range(min(given, len(ours), len(theirs))):
        mine, other = ours[index], theirs[index]
        # Names that are merely spelled otherwise do not count: both must exist on both sides.
        if mine != other and mine in theirs and other in ours:
            return other, mine
    return None


def describe(problems: tuple[Problem, ...]) -> str:
    parts = []
    for problem in problems:
        if problem.misfit is Misfit.UNKNOWN_KEYWORD:
            parts.append(f"it has no parameter `{problem.name}`")
        elif problem.misfit is Misfit.MISSING_ARGUMENT:
            parts.append(f"its required `{problem.name}` is not passed")
        elif problem.misfit is Misfit.MULTIPLE_VALUES:
            parts.append(f"`{problem.name}` is passed twice")
        else:
            parts.append(f"it {problem.detail} positional arguments")
    return ", ".join(parts[:6])

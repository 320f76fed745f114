"""Does a call bind? The rules of ``inspect.Signature.bind`` on what the source shows of both sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from tools.code.records import Function, Param, ParamKind


class Misfit(StrEnum):
    """Why a call does not bind."""

    UNKNOWN_KEYWORD = "unknown keyword"
    MISSING_ARGUMENT = "missing argument"
    TOO_MANY_POSITIONAL = "too many positional arguments"
    MULTIPLE_VALUES = "multiple values"


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason. ``name`` is the parameter or keyword; '' for surplus positional arguments."""

    misfit: Misfit
    name: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call as it is written. ``star``/``kwstar``: it also unpacks a sequence or a mapping."""

    positional: int = 0
    keywords: tuple[str, ...] = ()
    star: bool = False
    kwstar: bool = False


def bind(params: Sequence[Param], call: Arguments) -> tuple[Problem, ...]:
    """Every reason why ``call`` cannot bind to ``params``; () when it can or may.

    An unpacked sequence or mapping may hold anything, so with it nothing is called missing. The receiver of a
    method is not among ``params``: see :func:`without_receiver`.
    """
    problems: list[Problem] = []
    slots = [p for p in params if p.kind in (ParamKind.POSITIONAL_ONLY, ParamKind.POSITIONAL_OR_KEYWORD)]
    takes_more = any(p.kind is ParamKind.VAR_POSITIONAL for p in params)
    takes_any_keyword = any(p.kind is ParamKind.VAR_KEYWORD for p in params)
    by_keyword = {
        p.name: p for p in params if p.kind in (ParamKind.POSITIONAL_OR_KEYWORD, ParamKind.KEYWORD_ONLY)
    }
    if call.positional > len(slots) and not takes_more:
        problems.append(
            Problem(Misfit.TOO_MANY_POSITIONAL, "", f"takes {len(slots)}, is given {call.positional}")
        )
    filled = {p.name for p in slots[: call.positional]}
    for keyword in call.keywords:
        if keyword not in by_keyword:
            if not takes_any_keyword:
                problems.append(Problem(Misfit.UNKNOWN_KEYWORD, keyword))
        elif keyword in filled:
            problems.append(Problem(Misfit.MULTIPLE_VALUES, keyword))
        else:
            filled.add(keyword)
    for param in params:
        if not param.required or param.name in filled:
            continue
        positional = param.kind in (ParamKind.POSITIONAL_ONLY, ParamKind.POSITIONAL_OR_KEYWORD)
        by_star = call.star and positional
        by_kwstar = call.kwstar and param.kind is not ParamKind.POSITIONAL_ONLY
        if not by_star and not by_kwstar:
            problems.append(Problem(Misfit.MISSING_ARGUMENT, param.name))
    return tuple(problems)


def is_static(function: Function) -> bool:
    """True for ``@staticmethod``."""
    return "staticmethod" in function.decorators


def is_property(function: Function) -> bool:
    """True for properties and their like: reading the attribute calls the function."""
    names = {d.partition("(")[0].rpartition(".")[2] for d in function.decorators}
    return bool(names & {"property", "cached_property", "lazy_property", "abstractproperty", "classproperty"})


def without_receiver(function: Function) -> tuple[Param, ...]:
    """Parameters as a caller of the bound method sees them."""
    if not function.in_class or is_static(function):
        return function.params
    if function.params and function.params[0].kind in (
        ParamKind.POSITIONAL_ONLY,
        ParamKind.POSITIONAL_OR_KEYWORD,
    ):
        return function.params[1:]
    return function.params


def keeps_signature(function: Function) -> bool:
    """False when a decorator may change what the name accepts."""
    return all(_is_transparent(d) for d in function.decorators)


_TRANSPARENT = frozenset(
    {
        "abstractmethod",
        "cache",
        "classmethod",
        "deprecated",
        "final",
        "inference_mode",
        "instrument",
        "jit",
        "lru_cache",
        "no_grad",
        "override",
        "staticmethod",
    }
)


def _is_transparent(decorator: str) -> bool:
    return decorator.partition("(")[0].rpartition(".")[2] in _TRANSPARENT


def render(params: Sequence[Param]) -> str:
    """``(a, b=1, *, c)`` for messages; annotations are left out."""
    parts: list[str] = []
    previous: ParamKind | None = None
    star_seen = False
    for param in params:
        if previous is ParamKind.POSITIONAL_ONLY and param.kind is not ParamKind.POSITIONAL_ONLY:
            parts.append("/")
        if param.kind is ParamKind.VAR_POSITIONAL:
            star_seen = True
            parts.append(f"*{param.name}")
        elif param.kind is ParamKind.VAR_KEYWORD:
            parts.append(f"**{param.name}")
        else:
            if param.kind is ParamKind.KEYWORD_ONLY and not star_seen:
                parts.append("*")
                star_seen = True
            parts.append(param.name if param.default is None else f"{param.name}={param.default}")
        previous = param.kind
    if previous is ParamKind.POSITIONAL_ONLY:
        parts.append("/")
    return f"({', '.join(parts)})"

"""Binding agrees with Python and ``inspect.Signature.bind``, and never blames a call that may bind."""

from __future__ import annotations

import inspect
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tools.code.extract import extract
from tools.code.records import Param, ParamKind
from tools.code.signature import Arguments, Misfit, bind, render, without_receiver

_NAMES = st.sampled_from(["a", "b", "c", "d", "e"])


@st.composite
def signatures(draw: st.DrawFn) -> list[inspect.Parameter]:
    """Any legal parameter list of up to five parameters."""
    names = draw(st.lists(_NAMES, unique=True, max_size=5))
    kinds = sorted(
        draw(
            st.lists(st.sampled_from(list(inspect._ParameterKind)), min_size=len(names), max_size=len(names))
        )
    )
    out: list[inspect.Parameter] = []
    seen: set[inspect._ParameterKind] = set()
    defaults_started = False
    for name, kind in zip(names, kinds, strict=True):
        if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            if kind in seen:
                continue
            seen.add(kind)
            out.append(inspect.Parameter(name, kind))
            continue
        positional = kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        default = draw(st.booleans()) or (positional and defaults_started)
        defaults_started = defaults_started or (positional and default)
        out.append(inspect.Parameter(name, kind, default=0 if default else inspect.Parameter.empty))
    return out


def _params(signature: list[inspect.Parameter]) -> list[Param]:
    return [
        Param(p.name, ParamKind(p.kind), None if p.default is inspect.Parameter.empty else "0")
        for p in signature
    ]


def _binds(signature: list[inspect.Parameter], positional: int, keywords: list[str]) -> bool:
    """What Python itself says, by calling such a function."""
    scope: dict[str, Any] = {}
    exec(f"def f{inspect.Signature(signature)}: ...", scope)
    try:
        scope["f"](*range(positional), **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


def _inspect_binds(signature: list[inspect.Parameter], positional: int, keywords: list[str]) -> bool:
    try:
        inspect.Signature(signature).bind(*range(positional), **dict.fromkeys(keywords))
    except TypeError:
        return False
    return True


@given(
    signatures(), st.integers(0, 6), st.lists(st.sampled_from(["a", "b", "c", "d", "e", "x"]), unique=True)
)
def test_agrees_with_python_and_with_inspect(
    signature: list[inspect.Parameter], positional: int, keywords: list[str]
) -> None:
    problems = bind(_params(signature), Arguments(positional, tuple(keywords)))
    assert (not problems) == _binds(signature, positional, keywords), problems
    # Python 3.11's inspect refuses a keyword that bears the name of a positional-only parameter and belongs
    # to ``**kwargs``; the call itself works.
    positional_only = {p.name for p in signature if p.kind is inspect.Parameter.POSITIONAL_ONLY}
    if not positional_only & set(keywords):
        assert (not problems) == _inspect_binds(signature, positional, keywords), problems


@given(
    signatures(),
    st.integers(0, 4),
    st.lists(_NAMES, unique=True),
    st.integers(0, 4),
    st.lists(_NAMES, unique=True),
)
def test_unpacking_is_never_blamed_where_some_content_binds(
    signature: list[inspect.Parameter], positional: int, keywords: list[str], more: int, others: list[str]
) -> None:
    """If ``f(*args, k=…, **kw)`` binds for one content of args and kw, no problem may be reported."""
    extra = [name for name in others if name not in keywords]
    if _binds(signature, positional + more, keywords + extra):
        call = Arguments(positional, tuple(keywords), star=True, kwstar=True)
        assert bind(_params(signature), call) == ()


@given(signatures())
def test_render_is_the_source_of_the_same_signature(signature: list[inspect.Parameter]) -> None:
    text = f"def f{render(_params(signature))}: ..."
    module, _ = extract(text.encode())
    assert module.error is None, text
    assert [(p.name, p.kind, p.default) for p in module.functions[0].params] == [
        (p.name, p.kind, p.default) for p in _params(signature)
    ]


def test_the_receiver_is_no_argument() -> None:
    source = b"""
class C:
    def method(self, a): ...
    @classmethod
    def made(cls, a): ...
    @staticmethod
    def plain(a): ...
def free(a): ...
"""
    module, _ = extract(source)
    assert [[p.name for p in without_receiver(f)] for f in module.functions] == [["a"]] * 4


def test_each_problem_names_its_parameter() -> None:
    names = count()
    params = [Param(f"p{next(names)}", ParamKind.POSITIONAL_OR_KEYWORD) for _ in range(2)]
    found = bind(params, Arguments(positional=1, keywords=("p0", "zz")))
    assert {(p.misfit, p.name) for p in found} == {
        (Misfit.MULTIPLE_VALUES, "p0"),
        (Misfit.UNKNOWN_KEYWORD, "zz"),
        (Misfit.MISSING_ARGUMENT, "p1"),
    }

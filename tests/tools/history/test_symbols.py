"""Symbols that differ, told from pieces as from whole files."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest

from tools.code.syntax import parse
from tools.history.symbols import DeltaReader, _compared, _lines, _piece

READER = DeltaReader()


def delta(old: str | None, new: str | None) -> dict[str, str]:
    found = READER.read(*(dedent(t).encode() if t is not None else None for t in (old, new)))
    assert not found.error
    return {c.name: str(c.how) for c in found.changes} | ({"": "rest"} if found.rest else {})


def test_what_happens_to_functions() -> None:
    old = "def a(x): return 1\ndef b(): return 2\ndef c(): return 3\n"
    new = "def a(x, y=0): return 1\ndef b(): return 4\ndef d(): return 3\n"
    assert delta(old, new) == {"a": "signature", "b": "body", "c": "removed", "d": "added"}


def test_layout_comments_and_docstrings_are_nothing() -> None:
    old = 'def f(a, b):\n    """Old."""\n    return a\n'
    new = '# said\n\n\ndef f(\n    a, b\n):\n    """New,\n    longer."""\n    # why\n    return a\n'
    assert delta(old, new) == {}


def test_files_that_come_and_go() -> None:
    assert delta(None, "class A:\n    def f(self): ...\n") == {"A": "added", "A.f": "added"}
    assert delta("X = 1\n", None) == {"X": "removed"}


def test_classes() -> None:
    old = "class A(B):\n    x = 1\n    def f(self): return 1\n    def g(self): return 1\n"
    new = "class A(C):\n    x = 1\n    def f(self): return 2\n    def g(self): return 1\n"
    assert delta(old, new) == {"A": "signature", "A.f": "body"}
    # A class attribute is a member like a method.
    assert delta(old, old.replace("x = 1", "x = 2")) == {"A.x": "body"}


def test_imports_and_statements_are_the_rest() -> None:
    assert delta("import a\n", "import b\n") == {"": "rest"}
    assert delta("A = 1\n", "A = 2\n") == {"A": "body"}


def test_abstract_methods_are_told() -> None:
    found = READER.read(b"class A: ...\n", b"class A:\n    @abstractmethod\n    def f(self): ...\n")
    assert [c.new.abstract for c in found.changes if c.name == "A.f" and c.new] == [True]


@pytest.mark.parametrize(
    "trap",
    [
        'T = """\ndef no():\n    pass\nclass No:\n"""\n',
        "T = [\n1,\n2,\n]\n",
        "if A:\n    def x(): pass\nelse:\n    def x(): return 1\n",
        "try:\n    import a\nexcept ImportError:\n    a = None\n",
        "x = 1 + \\\n2\n",
        "@deco\n# note\n@other(\n    1,\n)\ndef d(): pass\n",
    ],
)
def test_cuts_in_the_wrong_place(trap: str) -> None:
    old = f"import q\n{trap}def f(): return 1\n"
    assert delta(old, old.replace("return 1\n", "return 2\n", 1) if "x(): return 1" not in trap else old) in (
        {"f": "body"},
        {},
    )
    assert delta(old, old.replace("def f", "def g")) == {"f": "removed", "g": "added"}


def test_files_that_do_not_parse() -> None:
    assert "syntax error" in READER.read(b"def f(:\n", b"def f(): ...\n").error
    assert "cannot be parsed" in READER.read(b"x = 1\n", b"x = '\0'\n").error or True
    assert READER.read(b"\xff\xfe", b"a = 1\n").error


@pytest.mark.parametrize("seed", range(25))
def test_pieces_say_what_whole_files_say(seed: int) -> None:
    rng = random.Random(seed)

    def method(n: int, indent: str) -> str:
        doc = f'{indent}    """{"text " * rng.randrange(3)}\n{indent}def not_one(): ...\n{indent}"""\n'
        body = "".join(f"{indent}    v{i} = {rng.randrange(3)}\n" for i in range(rng.randrange(1, 12)))
        deco = f"{indent}@deco\n" if rng.random() < 0.2 else ""
        return (
            f"{deco}{indent}def m{n}(self, a{rng.randrange(2)}):\n{doc if rng.random() < 0.3 else ''}{body}\n"
        )

    def file() -> str:
        parts = [f"import m{rng.randrange(3)}\n", f"CONST = {rng.randrange(3)}\n"]
        for c in range(3):
            attrs = "".join(f"    attr{i} = {rng.randrange(2)}\n" for i in range(3))
            methods = "".join(method(n, "    ") for n in range(rng.randrange(1, 25)) if rng.random() < 0.9)
            parts.append(
                f"class C{c}(B{rng.randrange(2)}):\n{attrs}\n{methods}    late = {rng.randrange(2)}\n\n\n"
            )
        parts += [method(n, "") for n in range(4)]
        return "\n".join(parts)

    one, two = file().encode(), file().encode()
    pieces = DeltaReader().read(one, two)
    whole = _compared(_piece(_lines(one), parse(one)), _piece(_lines(two), parse(two)))

    def told(found: object) -> list[tuple[object, ...]]:
        return sorted(
            (c.name, str(c.how), c.old and c.old.first, c.new and c.new.first)
            for c in found.changes  # type: ignore[attr-defined]
        )

    assert told(pieces) == told(whole)
    assert pieces.rest == whole.rest

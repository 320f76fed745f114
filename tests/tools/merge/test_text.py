"""Files stay as they are to the byte, but for the lines that a merge changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.merge.classes import class_text, merge_class
from tools.merge.symbols import merge_symbol
from tools.merge.text import Source, applied, edits_of, read_source
from tools.proposals.patch import file_diff

BASE = "def f(a):\n    x = 1\n    return g(a, x)\n"
TARGET = "def f(a):\n    x = 2\n    return g(a, x)\n"


def source(content: bytes) -> Source:
    found = read_source(content)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            b"def f(a):\r\n    x = 1  # mine\r\n    return g(a, x)\r\n",
            b"def f(a):\r\n    x = 2  # mine\r\n    return g(a, x)\r\n",
            id="CRLF",
        ),
        pytest.param(
            b"def f(a):\n\tx = 1\n\treturn g( a,x )\n", b"def f(a):\n\tx = 2\n\treturn g( a,x )\n", id="tabs"
        ),
        pytest.param(
            b"def f(a):\n    x = 1\n    return g(a, x)",
            b"def f(a):\n    x = 2\n    return g(a, x)",
            id="no line end at the end",
        ),
        pytest.param(
            b"\xef\xbb\xbf# \xe6\xb3\xa8\ndef f(a):\n    x = 1\n    return g(a, x)  # \xe6\xb2\x90\n",
            b"\xef\xbb\xbf# \xe6\xb3\xa8\ndef f(a):\n    x = 2\n    return g(a, x)  # \xe6\xb2\x90\n",
            id="BOM and text that is not ASCII",
        ),
        pytest.param(
            b"def f(a):\r\n    x = 1\n    return g(a, x)   \n",
            b"def f(a):\r\n    x = 2\n    return g(a, x)   \n",
            id="two kinds of line ends, and blanks at an end",
        ),
    ],
)
def test_only_the_changed_line_changes(before: bytes, after: bytes, tmp_path: Path) -> None:
    own = source(before)
    merged = merge_symbol(own.text("f"), BASE, TARGET, {})
    new = applied(own, edits_of(own, "f", merged.text))
    assert new == after
    assert patched(tmp_path, "a.py", before, file_diff("a.py", before, new)) == after


def patched(folder: Path, name: str, before: bytes, patch: bytes) -> bytes:
    """What git makes of ``patch``."""
    (folder / name).write_bytes(before)
    for arguments in (["init", "-q"], ["apply", "--check"], ["apply"]):
        subprocess.run(
            ["git", "-c", "core.autocrlf=false", *arguments], cwd=folder, input=patch if "apply" in arguments else b"",
            check=True, capture_output=True,
        )  # fmt: skip
    return (folder / name).read_bytes()


NAMES = st.sampled_from(["a", "b", "kv", "self.x", "g(a)", "g(a, b=1)", "[a, b]", "{'k': a}", "a and b"])
LINES = st.one_of(
    NAMES.map(lambda v: [f"x = {v}"]),
    NAMES.map(lambda v: [f"call({v})"]),
    NAMES.map(lambda v: [f"if {v}:", f"    call({v})", "else:", "    pass"]),
    NAMES.map(lambda v: [f"for i in {v}:", "    # note", f"    y = {v}"]),
    st.just(["# a comment", "z = 0"]),
)


@st.composite
def functions(draw: st.DrawFn) -> str:
    """A function of a few statements."""
    body = [line for lines in draw(st.lists(LINES, min_size=1, max_size=6)) for line in lines]
    parameters = draw(
        st.lists(st.sampled_from(["a", "b", "c=1", "d=None"]), unique=True, max_size=3).map(sorted)
    )
    indented = "".join(f"    {line}\n" for line in body)
    return f"def f({', '.join(parameters)}):\n{indented}"


RUNS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@RUNS
@given(functions(), functions())
def test_an_upstream_that_stands_still_changes_nothing(own: str, base: str) -> None:
    assert merge_symbol(own, base, base, {}).text == own


@RUNS
@given(functions(), functions())
def test_an_untouched_copy_becomes_target(base: str, target: str) -> None:
    merged = merge_symbol(base, base, target, {})
    assert merged.text == target
    assert not merged.clashes


@RUNS
@given(functions(), functions())
def test_a_copy_that_follows_already_is_left_alone(base: str, target: str) -> None:
    assert merge_symbol(target, base, target, {}).text == target


@RUNS
@given(functions(), functions(), functions())
def test_every_merge_parses_and_its_edits_give_its_text(own: str, base: str, target: str) -> None:
    merged = merge_symbol(own, base, target, {})
    compile(merged.text, "merged", "exec", dont_inherit=True, flags=0x400)  # PyCF_ONLY_AST
    file = source(f"import os\n\n{own}\n\nLAST = 1\n".encode())
    assert source(applied(file, edits_of(file, "f", merged.text))).text("f") == merged.text


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(before=st.text("ab\n\r é", max_size=40), after=st.text("ab\n\r é", max_size=40))
def test_git_applies_every_patch(before: str, after: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    old, new = before.encode(), after.encode()
    if old == new or not old or not new:
        return
    assert patched(tmp_path_factory.mktemp("p"), "a b.py", old, file_diff("a b.py", old, new)) == new


def test_an_insertion_that_repeats_what_follows_keeps_its_context(tmp_path: Path) -> None:
    lines = b"".join(b"line %d\n" % n for n in range(20))
    same = b"# one\n# two\n# three\n# four\n"
    old = lines + same + lines
    new = lines + same + b"x = 1\n" + same + lines
    assert patched(tmp_path, "a.py", old, file_diff("a.py", old, new)) == new


CLASS = "class A(B):\n    x = 1\n\n    def keep(self):\n        return 1\n\n    def old(self):\n        return 0\n"


def classes(
    own: str, base: str, target: str, *, copied: bool = True
) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    texts = [class_text(source(t.encode()), "A") for t in (own, base, target)]
    result = merge_class(texts[0], texts[1], texts[2], {}, copied=copied)
    return result.merge.text, result.added, result.removed


def test_a_copied_class_gains_and_loses_methods_with_upstream() -> None:
    target = "class A(C):\n    x = 2\n\n    def keep(self):\n        return 9\n\n    def new(self):\n        return 7\n"
    text, added, removed = classes(CLASS, CLASS, target)
    assert (added, removed) == (("new",), ("old",))
    assert "class A(C):" in text
    assert "x = 2" in text
    assert "return 7" in text
    assert "def old" not in text
    assert "return 1" in text, "methods that both have are merged on their own"


def test_a_method_that_the_plugin_changed_is_not_removed() -> None:
    own = CLASS.replace("return 0", "return 5")
    text, _, removed = classes(
        own, CLASS, "class A(B):\n    x = 1\n\n    def keep(self):\n        return 1\n"
    )
    assert removed == ()
    assert "return 5" in text


def test_a_derived_class_inherits_what_upstream_added() -> None:
    target = CLASS + "\n    def new(self):\n        return 7\n"
    text, added, _ = classes(CLASS, CLASS, target, copied=False)
    assert added == ()
    assert text == CLASS

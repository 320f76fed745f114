"""Each structural rule on the smallest definition that needs it."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tools.merge.structural import Doubt
from tools.merge.symbols import SymbolMerge, merge_symbol


def merge(own: str, base: str, target: str, names: dict[str, str] | None = None) -> SymbolMerge:
    return merge_symbol(dedent(own), dedent(base), dedent(target), names or {})


def same(merged: SymbolMerge, wanted: str) -> None:
    assert ast.dump(ast.parse(merged.text)) == ast.dump(ast.parse(dedent(wanted))), merged.text


@pytest.mark.parametrize(
    ("base", "own", "target", "wanted"),
    [
        pytest.param(
            "def f():\n    return g(a, b=1)\n",
            "def f():\n    return g(a, b=1, mine=2)\n",
            "def f():\n    return g(a, b=3, theirs=4)\n",
            "def f():\n    return g(a, b=3, theirs=4, mine=2)\n",
            id="keyword arguments of one call",
        ),
        pytest.param(
            "def f():\n    return g(a, b)\n",
            "def f():\n    return mx_g(a, b)\n",
            "def f():\n    return g(a, b, c)\n",
            "def f():\n    return mx_g(a, b, c)\n",
            id="callee here, argument there",
        ),
        pytest.param(
            "def f(a, b):\n    pass\n",
            "def f(a, b, mine=None):\n    pass\n",
            "def f(a, b, theirs=0):\n    pass\n",
            "def f(a, b, theirs=0, mine=None):\n    pass\n",
            id="parameters",
        ),
        pytest.param(
            "def f():\n    return {'a': 1, 'b': 2}\n",
            "def f():\n    return {'a': 1, 'b': 2, 'mine': 3}\n",
            "def f():\n    return {'a': 9, 'b': 2, 'theirs': 4}\n",
            "def f():\n    return {'a': 9, 'b': 2, 'theirs': 4, 'mine': 3}\n",
            id="entries of a dict",
        ),
        pytest.param(
            "def f():\n    return [1, 2]\n",
            "def f():\n    return [0, 1, 2]\n",
            "def f():\n    return [1, 2, 3]\n",
            "def f():\n    return [0, 1, 2, 3]\n",
            id="elements of a list",
        ),
        pytest.param(
            "@one\ndef f():\n    pass\n",
            "@mine\n@one\ndef f():\n    pass\n",
            "@one\n@theirs\ndef f():\n    pass\n",
            "@mine\n@one\n@theirs\ndef f():\n    pass\n",
            id="decorators",
        ),
        pytest.param(
            "def f():\n    from m import a, b\n    return a\n",
            "def f():\n    from m import a, b, mine\n    return a\n",
            "def f():\n    from m import a, c\n    return a\n",
            "def f():\n    from m import a, c, mine\n    return a\n",
            id="imported names",
        ),
        pytest.param(
            "def f(x):\n    if x and y:\n        return 1\n",
            "def f(x):\n    if x and y and mine:\n        return 1\n",
            "def f(x):\n    if x and theirs and y:\n        return 1\n",
            "def f(x):\n    if x and theirs and y and mine:\n        return 1\n",
            id="operands of one condition",
        ),
        pytest.param(
            "def f(x):\n    if x == 1:\n        return 1\n    else:\n        x = 0\n",
            "def f(x):\n    if x == 1:\n        return 1\n    elif m:\n        pass\n    else:\n        x = 0\n",
            "def f(x):\n    if x == 1:\n        return 2\n    else:\n        x = 7\n",
            "def f(x):\n    if x == 1:\n        return 2\n    elif m:\n        pass\n    else:\n        x = 7\n",
            id="branches of an if",
        ),
        pytest.param(
            "class A(B):\n    x = 1\n",
            "class A(B, Mine):\n    x = 1\n",
            "class A(C):\n    x = 1\n    y = 2\n",
            "class A(C, Mine):\n    x = 1\n    y = 2\n",
            id="bases and attributes",
        ),
        pytest.param(
            "def f():\n    a()\n    b()\n",
            "def f():\n    a()\n    new()\n    b()\n",
            "def f():\n    a()\n    new()\n    b()\n    c()\n",
            "def f():\n    a()\n    new()\n    b()\n    c()\n",
            id="already ported in part",
        ),
    ],
)
def test_both_edits_are_there(base: str, own: str, target: str, wanted: str) -> None:
    merged = merge(own, base, target)
    assert not merged.clashes
    same(merged, wanted)


def test_two_changes_of_one_value_clash_and_show_all_three() -> None:
    merged = merge("def f():\n    x = 2\n", "def f():\n    x = 1\n", "def f():\n    x = 3\n")
    (clash,) = merged.clashes
    assert (clash.own, clash.base, clash.target) == ("x = 2", "x = 1", "x = 3")
    same(merged, "def f():\n    x = 2\n")


def test_a_renamed_name_is_renamed_in_what_the_plugin_added() -> None:
    merged = merge(
        "def f(kv):\n    a(kv)\n    mine(kv)\n    b(kv)\n",
        "def f(kv):\n    a(kv)\n    b(kv)\n",
        "def f(cache):\n    a(cache)\n    b(cache)\n",
    )
    same(merged, "def f(cache):\n    a(cache)\n    mine(cache)\n    b(cache)\n")
    assert [n.doubt for n in merged.notes] == [Doubt.RENAMED]


def test_the_plugin_keeps_its_names() -> None:
    merged = merge(
        "def f():\n    return MacaImpl(1)\n",
        "def f():\n    return Impl(1)\n",
        "def f():\n    return Impl(1, Impl.default)\n",
        {"MacaImpl": "Impl"},
    )
    same(merged, "def f():\n    return MacaImpl(1, MacaImpl.default)\n")
    assert merged.untouched


def test_what_the_plugin_replaced_stays_and_is_told() -> None:
    merged = merge(
        "def f():\n    a()\n    mine()\n    z()\n",
        "def f():\n    a()\n    cuda(1)\n    z()\n",
        "def f():\n    a()\n    cuda(1, 2)\n    z()\n",
    )
    same(merged, "def f():\n    a()\n    mine()\n    z()\n")
    assert [n.doubt for n in merged.notes] == [Doubt.REPLACED]


def test_a_withdrawn_argument_goes_even_where_the_plugin_had_changed_it() -> None:
    merged = merge("def f():\n    g(a=2, b=1)\n", "def f():\n    g(a=1, b=1)\n", "def f():\n    g(b=1)\n")
    same(merged, "def f():\n    g(b=1)\n")
    assert [n.doubt for n in merged.notes] == [Doubt.WITHDRAWN]


def test_comments_and_layout_of_untouched_lines_stay() -> None:
    merged = merge(
        "def f():\n    # mine\n    a( 1,2 )  # why\n    b(1)\n    c()\n",
        "def f():\n    a(1, 2)\n    b(1)\n    c()\n",
        "def f():\n    a(1, 2)\n    b(2)\n    c()\n",
    )
    assert merged.text == "def f():\n    # mine\n    a( 1,2 )  # why\n    b(2)\n    c()\n"


def test_comments_of_a_removed_statement_go_to_the_next() -> None:
    merged = merge(
        "def f():\n    a()\n    # NOTE(MetaX): keep\n    b()\n    c()\n",
        "def f():\n    a()\n    b()\n    c()\n",
        "def f():\n    a()\n    c()\n",
    )
    assert "# NOTE(MetaX): keep" in merged.text
    assert "b()" not in merged.text


def test_arguments_over_several_lines_keep_their_form() -> None:
    own = "def f():\n    g(\n        a=1,\n        # mine\n        m=2,\n    )\n"
    base = "def f():\n    g(\n        a=1,\n    )\n"
    target = "def f():\n    g(\n        a=1,\n        z=3,\n    )\n"
    merged = merge(own, base, target)
    assert (
        merged.text == "def f():\n    g(\n        a=1,\n        z=3,\n        # mine\n        m=2,\n    )\n"
    )


def test_new_code_speaks_of_the_plugins_class_where_its_file_has_one() -> None:
    base, target = "def f():\n    return 1\n", "def f():\n    return Backend.size() + 1\n"
    merged = merge_symbol(base, base, target, {"MacaBackend": "Backend"}, {"MacaBackend"})
    same(merged, "def f():\n    return MacaBackend.size() + 1\n")
    assert merge_symbol(base, base, target, {"MacaBackend": "Backend"}).text == target

"""Figures of merges on tiny trees: which symbols count, and how each way ends."""

from __future__ import annotations

from evals.merging import digest, merged_symbols, table
from evals.records import MergedSymbol
from tests.tools.trees import context
from tools.sources.snapshot import MemorySnapshot

BASE = "def f(a):\n    x = load(a, 1)\n    return x\n\n\ndef g(a):\n    return a\n"
TARGET = BASE.replace("load(a, 1)", "load(a, 1, new=True)")
OWN = BASE.replace("load(a, 1)", "load(a, 1, mine=2)")


def rows(settled: str, own: str = OWN, target: str = TARGET) -> list[MergedSymbol]:
    path = "model_executor/models/m.py"
    found = context({"models/m.py": own}, {path: BASE}, {path: target})
    after = MemorySnapshot({"vllm_metax/__init__.py": "", "vllm_metax/models/m.py": settled})
    return list(merged_symbols(found, after, frozenset(), None))


def test_only_what_both_changed_counts_and_lines_do_worse() -> None:
    (row,) = rows(BASE.replace("load(a, 1)", "load(a, 1, new=True, mine=2)"))
    assert (row.symbol, row.product, row.lines) == ("f", "exact", "conflict")


def test_another_result_differs() -> None:
    assert [r.product for r in rows(BASE.replace("load(a, 1)", "load(a, 7)"))] == ["differs"]


def test_nothing_counts_where_one_side_stood_still() -> None:
    assert rows(OWN) == []
    assert rows(BASE.replace("1", "9"), target=BASE) == []


def test_comments_quotes_and_docstrings_do_not_count() -> None:
    assert digest('def f():\n    """Doc."""\n    return "a"\n') == digest("def f():  # why\n    return 'a'\n")


def test_the_table_pools_the_cases() -> None:
    (row,) = rows(BASE.replace("load(a, 1)", "load(a, 1, new=True, mine=2)"))
    other = row.model_copy(update={"product": "conflict"})
    assert table([("one", [row]), ("two", [other])])[-1].startswith("| all | 2 | 1 (50%) | 0 | 1 |")

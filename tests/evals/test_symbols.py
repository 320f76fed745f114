"""What counts as a change of a symbol."""

from __future__ import annotations

from evals.baselines.places import enclosing
from evals.symbols import REST, file_symbols, symbol_changes
from tools.sources.snapshot import MemorySnapshot

BEFORE = b'''
import os
from x import a, b as c
LIMIT = 3
class C(Base):
    """Doc."""
    flag = True
    def run(self):
        """Doc."""
        return 1  # why
    def stop(self): pass
try:
    import fast
except ImportError:
    fast = None
print("loaded")
'''


def changes(after: bytes, path: str = "p/m.py") -> dict[str, list[str]]:
    return symbol_changes(MemorySnapshot({"p/m.py": BEFORE}), MemorySnapshot({path: after}), "p")


def test_comments_docstrings_and_layout_do_not_count() -> None:
    after = BEFORE.replace(b"  # why", b"").replace(b'"""Doc."""', b'"""Other."""').replace(b"\n\n", b"\n")
    assert changes(after) == {}


def test_changes_by_symbol() -> None:
    assert changes(BEFORE.replace(b"return 1", b"return 2")) == {"p/m.py": ["C", "C.run"]}
    assert changes(BEFORE.replace(b"b as c", b"d as c")) == {"p/m.py": ["c"]}
    assert changes(BEFORE.replace(b"LIMIT", b"MOST")) == {"p/m.py": ["LIMIT", "MOST"]}
    assert changes(BEFORE.replace(b'"loaded"', b'"here"')) == {"p/m.py": [REST]}
    assert changes(BEFORE.replace(b"fast = None", b"fast = 1")) == {"p/m.py": ["fast"]}


def test_a_moved_file_is_compared_with_where_it_went() -> None:
    assert changes(BEFORE, "p/sub/m.py") == {}
    assert changes(BEFORE.replace(b"LIMIT = 3", b"LIMIT = 4"), "p/sub/m.py") == {"p/m.py": ["LIMIT"]}
    assert "C.run" in changes(b"x = 1", "p/sub/m.py")["p/m.py"]


def test_resolve() -> None:
    found = file_symbols(BEFORE)
    assert found.resolve("C.run", 1) == "C.run"
    assert found.resolve("C.run.inner", 1) == "C.run"
    assert found.resolve("unknown", 10) == "C.run"
    assert found.resolve("", 1) == REST
    assert file_symbols(b"def (").digests == {}


def test_enclosing() -> None:
    assert enclosing(BEFORE, 10) == "C.run"
    assert enclosing(BEFORE, 3) == ""
    assert enclosing(b"if x:\n    def f():\n        y\n", 3) == "f"
    assert enclosing(b"def (", 1) == ""

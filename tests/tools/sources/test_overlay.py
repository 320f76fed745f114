"""An overlay shows edits and leaves what is below alone."""

from __future__ import annotations

import pytest

from tools.sources.overlay import Overlay
from tools.sources.snapshot import MemorySnapshot, SourceError, blob_id


def test_edits_lie_on_top() -> None:
    under = MemorySnapshot({"a.py": "1", "b.py": "2"}, version="1.0")
    over = Overlay(under, {"b.py": b"3", "c.py": b"4"})
    assert over.paths() == ("a.py", "b.py", "c.py")
    assert [over.read(p) for p in over.paths()] == [b"1", b"3", b"4"]
    assert over.blob("b.py") == blob_id(b"3")
    assert over.blob("a.py") == under.blob("a.py")
    assert under.read("b.py") == b"2"


def test_its_identity_is_that_of_the_edited_content() -> None:
    under = MemorySnapshot({"a.py": "1", "b.py": "2"}, version="1.0")
    edited = MemorySnapshot({"a.py": "1", "b.py": "3"})
    assert Overlay(under, {"b.py": b"3"}).identity.digest == edited.identity.digest
    assert Overlay(under, {}).identity == under.identity


def test_a_file_that_neither_has_is_an_error() -> None:
    with pytest.raises(SourceError, match="no such file"):
        Overlay(MemorySnapshot({"a.py": ""}), {}).read("z.py")

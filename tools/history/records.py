"""One upstream commit as git shows it: plain records, kept on disk by commit id."""

from __future__ import annotations

import re

from tools.code.records import Record

NO_BLOB = "0" * 40
"""What git writes for the side of a change on which there is no file."""
_NUMBER = re.compile(r"\(#(\d{1,7})\)")


class Hunk(Record, frozen=True, array_like=True, gc=False):
    """Changed lines of one place: first line and number of lines on either side, without context.

    A side without lines has the number 0; its first line is then the one before the change, as git counts.
    """

    old: int
    old_count: int
    new: int
    new_count: int


class FileChange(Record, frozen=True, array_like=True, gc=False):
    """One file of a commit. Bytes of a path that are not UTF-8 are surrogates, as in every path here."""

    status: str
    """``A`` added, ``D`` deleted, ``M`` modified, ``R`` renamed, ``C`` copied, ``T`` of another type."""
    old_path: str
    new_path: str
    """Equal to ``old_path`` unless the file was renamed or copied."""
    old_blob: str
    new_blob: str
    """Full ids; NO_BLOB on the side where there is no file. Of submodules, commits."""
    old_mode: str
    new_mode: str
    hunks: tuple[Hunk, ...] = ()
    """Empty for binary files, submodules, renames without edits and changes of the mode alone."""
    binary: bool = False

    @property
    def submodule(self) -> bool:
        """True when either side is a commit of another repository."""
        return "160000" in (self.old_mode, self.new_mode)

    @property
    def paths(self) -> tuple[str, ...]:
        """Both names, each once; of a copy only the new one, for the old file is as it was."""
        if self.status == "C":
            return (self.new_path,)
        return tuple(dict.fromkeys((self.old_path, self.new_path)))


class Commit(Record, frozen=True, array_like=True, gc=False):
    """One commit against its first parent. A merge lists only files that differ from every parent."""

    id: str
    parents: tuple[str, ...]
    committed: int
    """Seconds since 1970."""
    title: str
    message: str
    """The rest, cut to some thousand characters."""
    files: tuple[FileChange, ...]
    patch: str
    """Equal for equal patches wherever they are applied; '' for a merge or an empty commit."""
    inverse: str
    """``patch`` of the commit that takes this one back."""
    unread: bool = False
    """True when the clone lacks contents of it: files are known, lines and renames are not."""

    @property
    def merge(self) -> bool:
        """True for more than one parent."""
        return len(self.parents) > 1

    @property
    def number(self) -> str:
        """``#123``: of the pull request that the title ends in, or ''."""
        found = _NUMBER.findall(self.title)
        return f"#{found[-1]}" if found else ""

    @property
    def short(self) -> str:
        """``abcdef123456 (#123)``, as findings cite it."""
        return f"{self.id[:12]} ({self.number})" if self.number else self.id[:12]

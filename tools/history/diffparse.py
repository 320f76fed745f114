"""Reads what ``git diff-tree --stdin --raw -p -U0`` writes, line by line.

Every line of a patch begins with a character that git put there, and hunks say how many lines they hold, so that
nothing in a file or a message can pass for structure.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from typing import IO

from tools.history.records import Commit, FileChange, Hunk

MESSAGE = 4_000
"""Characters of a message that are kept: what reverts say stands at its beginning."""
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_COMBINED = re.compile(rb"^@@@+ -(\d+)(?:,(\d+))? (?:-\d+(?:,\d+)? )+\+(\d+)(?:,(\d+))? @@@+")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPED = re.compile(r"\\([abtnvfr\"\\]|[0-7]{3})")
_START, _END = b"\0\1", b"\0\2\n"


def parse(stream: IO[bytes]) -> Iterator[Commit]:
    """Every commit of ``stream``. Raises ValueError for what is not the form asked of git."""
    return _Parser(stream).commits()


def unquoted(path: str) -> str:
    """``path`` as it is: git quotes those with control characters, quotes or backslashes, as C does."""
    if not path.startswith('"'):
        return path
    inner = path[1:-1].encode("utf-8", "surrogateescape").decode("latin-1")
    plain = _ESCAPED.sub(lambda m: chr(_ESCAPES.get(m[1]) or int(m[1], 8)), inner)
    return os.fsdecode(plain.encode("latin-1"))


class _Open:
    """A file while its hunks are read."""

    def __init__(self, change: FileChange) -> None:
        self.change = change
        self.hunks: list[Hunk] = []
        self.binary = False
        # A type change is written as two patches, of the file that goes and of the one that comes.
        self.sections = 2 if change.status == "T" else 1
        self.forward, self.backward = hashlib.sha1(usedforsecurity=False), hashlib.sha1(usedforsecurity=False)

    def done(self) -> FileChange:
        """With what was read of it."""
        change = self.change
        return FileChange(
            change.status,
            change.old_path,
            change.new_path,
            change.old_blob,
            change.new_blob,
            change.old_mode,
            change.new_mode,
            tuple(self.hunks),
            self.binary,
        )

    def digests(self) -> tuple[str, str]:
        """Of the patch and of the one that takes it back."""
        change = self.change
        old, new = (f"{change.old_path}\0{change.old_mode}", f"{change.new_path}\0{change.new_mode}")
        if self.binary or change.submodule:
            old, new = f"{old}\0{change.old_blob}", f"{new}\0{change.new_blob}"
        return (
            _digest(old, new, self.forward.hexdigest()),
            _digest(new, old, self.backward.hexdigest()),
        )


def _digest(*parts: str) -> str:
    return hashlib.sha1(
        "\0".join(parts).encode("utf-8", "surrogateescape"), usedforsecurity=False
    ).hexdigest()


class _Parser:
    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = iter(stream)
        self._line = next(self._lines, b"")

    def _next(self) -> bytes:
        self._line = next(self._lines, b"")
        return self._line

    def commits(self) -> Iterator[Commit]:
        while self._line:
            if not self._line.startswith(_START):
                raise ValueError(f"git wrote {self._line[:80]!r} where a commit should begin")
            yield self._commit()

    def _commit(self) -> Commit:
        parts = [self._line]
        while not parts[-1].endswith(_END):
            line = self._next()
            if not line:
                raise ValueError("git stopped in the middle of a commit message")
            parts.append(line)
        head = b"".join(parts)[len(_START) : -len(_END)]
        commit, parents, when, message = head.split(b"\0", 3)
        ids = tuple(parents.decode().split())
        title, _, rest = message.decode("utf-8", "replace").strip().partition("\n")
        self._next()
        files = self._files()
        closed = [f.done() for f in files]
        patch, inverse = self._patch(files) if len(ids) < 2 else ("", "")
        return Commit(
            commit.decode(),
            ids,
            int(when),
            title[:500],
            rest.strip()[:MESSAGE],
            tuple(closed),
            patch,
            inverse,
        )

    @staticmethod
    def _patch(files: list[_Open]) -> tuple[str, str]:
        if not files:
            return "", ""
        pairs = [f.digests() for f in files]
        return _digest(*sorted(p for p, _ in pairs)), _digest(*sorted(p for _, p in pairs))

    # ---- the files of a commit: a list of all, then a patch of each ----

    def _files(self) -> list[_Open]:
        files: list[_Open] = []
        while self._line and not self._line.startswith(_START):
            if self._line.startswith(b":"):
                files.append(_Open(raw_change(self._line)))
                self._next()
            elif self._line.startswith((b"diff --git ", b"diff --cc ", b"diff --combined ")):
                break
            elif self._line == b"\n":
                self._next()
            else:
                raise ValueError(f"git wrote {self._line[:80]!r} where a file should stand")
        if self._line.startswith(b"diff --git "):
            self._patches(files)
        elif self._line.startswith(b"diff --c"):
            self._combined({f.change.new_path: f for f in files})
        return files

    def _patches(self, files: list[_Open]) -> None:
        for file in files:
            for _ in range(file.sections):
                if not self._line.startswith(b"diff --git "):
                    raise ValueError(f"git wrote no patch for {file.change.new_path!r}")
                self._next()
                self._section(file)

    def _section(self, file: _Open) -> None:
        """One patch: its header, then hunks whose lengths are known."""
        while self._line and not self._line.startswith((_START, b"diff --git ")):
            match = _HUNK.match(self._line)
            if match is None:
                file.binary = file.binary or self._line.startswith(b"Binary files ")
                self._next()
                continue
            old, new = int(match[1]), int(match[3])
            olds, news = (1 if n is None else int(n) for n in (match[2], match[4]))
            file.hunks.append(Hunk(old, olds, new, news))
            self._next()
            self._content(file, olds, news)

    def _content(self, file: _Open, olds: int, news: int) -> None:
        removed, added = [], []
        while olds or news or self._line.startswith(b"\\ "):
            line = self._line
            if line.startswith(b"-") and olds:
                olds -= 1
                removed.append(b"".join(line[1:].split()))
            elif line.startswith(b"+") and news:
                news -= 1
                added.append(b"".join(line[1:].split()))
            elif not line.startswith(b"\\ "):
                raise ValueError(f"git wrote {line[:80]!r} inside a hunk")
            self._next()
        one, two = b"\n".join(removed), b"\n".join(added)
        # Where in the file it is applied does not count, nor does white space.
        file.forward.update(b"-%b\0+%b\0" % (one, two))
        file.backward.update(b"-%b\0+%b\0" % (two, one))

    def _combined(self, files: dict[str, _Open]) -> None:
        """Of a merge: hunks that differ from every parent, with the lines of the first parent as the old ones."""
        file: _Open | None = None
        while self._line and not self._line.startswith(_START):
            if self._line.startswith((b"diff --cc ", b"diff --combined ")):
                path = os.fsdecode(self._line.rstrip(b"\n")).split(" ", 2)[2]
                file = files.get(unquoted(path))
            elif file is not None and (match := _COMBINED.match(self._line)):
                counts = [1 if n is None else int(n) for n in (match[2], match[4])]
                file.hunks.append(Hunk(int(match[1]), counts[0], int(match[3]), counts[1]))
            elif file is not None and self._line.startswith(b"Binary files "):
                file.binary = True
            self._next()


def raw_change(line: bytes) -> FileChange:
    """``:100644 100644 <old> <new> M<TAB>path``; a merge has a mode, an id and a letter for each parent."""
    about, *paths = os.fsdecode(line.rstrip(b"\n")).split("\t")
    parents = len(about) - len(about.lstrip(":"))
    fields = about[parents:].split()
    modes, blobs, status = fields[: parents + 1], fields[parents + 1 : -1], fields[-1]
    names = [unquoted(path) for path in paths]
    # Of a renamed file in a merge git gives one name; for the rest the first parent is the old side.
    return FileChange(status[0], names[0], names[-1], blobs[0], blobs[-1], modes[0], modes[-1])

"""Proposals as patches that git applies: one for all, and one for each symbol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

_CONTEXT = 3
_NONE_AT_END = "\\ No newline at end of file\n"


def file_diff(path: str, old: bytes, new: bytes, headings: Sequence[tuple[int, int, str]] = ()) -> bytes:
    """Unified diff of one file; ``headings`` are (first, end, symbol) by line of ``old``, named at each hunk."""
    if old == new:
        return b""
    one, two = _lines(old), _lines(new)
    tab = b"\t" if b" " in path.encode() else b""
    name = path.encode("utf-8", "surrogateescape")
    out = [b"diff --git a/%b b/%b\n--- a/%b%b\n+++ b/%b%b\n" % (name, name, name, tab, name, tab)]
    for group in _groups(one, two):
        out.append(_header(group, headings))
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [_line(b" ", line) for line in one[i1:i2]]
            else:
                out += [_line(b"-", line) for line in one[i1:i2]]
                out += [_line(b"+", line) for line in two[j1:j2]]
    return b"".join(out)


def whole_patch(files: Mapping[str, tuple[bytes, bytes, Sequence[tuple[int, int, str]]]]) -> bytes:
    """One patch over several files, by path."""
    return b"".join(file_diff(path, *files[path]) for path in sorted(files))


_Opcode = tuple[str, int, int, int, int]


def _lines(content: bytes) -> list[bytes]:
    """As git counts them: only LF ends a line."""
    return [part + b"\n" for part in content.split(b"\n")[:-1]] + [p for p in content.split(b"\n")[-1:] if p]


def _groups(one: Sequence[bytes], two: Sequence[bytes]) -> Iterable[list[_Opcode]]:
    head = 0
    while head < min(len(one), len(two)) and one[head] == two[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(two)) - head and one[-1 - tail] == two[-1 - tail]:
        tail += 1
    middle = SequenceMatcher(None, one[head : len(one) - tail], two[head : len(two) - tail], autojunk=False)
    whole = _Known(
        [
            ("equal", 0, head, 0, head),
            *(
                (tag, i1 + head, i2 + head, j1 + head, j2 + head)
                for tag, i1, i2, j1, j2 in middle.get_opcodes()
            ),
            ("equal", len(one) - tail, len(one), len(two) - tail, len(two)),
        ]
    )
    for group in whole.get_grouped_opcodes(_CONTEXT):
        yield [part for part in group if part[1] < part[2] or part[3] < part[4]]


class _Known(SequenceMatcher[bytes]):
    """Groups opcodes that were found in a part of the lines."""

    def __init__(self, opcodes: list[Any]) -> None:
        super().__init__(None, [], [])
        self._known = opcodes

    def get_opcodes(self) -> list[Any]:
        """Those given."""
        return self._known


def _header(group: Sequence[_Opcode], headings: Sequence[tuple[int, int, str]]) -> bytes:
    i1, i2, j1, j2 = group[0][1], group[-1][2], group[0][3], group[-1][4]
    changed = [(tag[1], max(tag[2], tag[1] + 1)) for tag in group if tag[0] != "equal"]
    names = [
        name for first, end, name in headings if any(first < stop and start < end for start, stop in changed)
    ]
    heading = " " + ", ".join(dict.fromkeys(names)) if names else ""
    return f"@@ -{_range(i1, i2)} +{_range(j1, j2)} @@{heading}\n".encode()


def _range(first: int, end: int) -> str:
    if end == first:
        return f"{first},0"
    return f"{first + 1},{end - first}" if end - first != 1 else str(first + 1)


def _line(sign: bytes, line: bytes) -> bytes:
    return sign + line if line.endswith(b"\n") else sign + line + b"\n" + _NONE_AT_END.encode()

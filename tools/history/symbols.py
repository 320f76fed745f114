"""Which symbols two versions of a file do not share, worked out from the lines that differ.

This is read for every change to a file that matters, so nothing that both versions hold is parsed. A file is cut
where a line begins at its left edge, a large class also where its methods begin; pieces that stand in both versions
are the same, and only the others are parsed. A cut inside a string or a bracket leaves a piece that does not parse;
then both versions are parsed whole.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from tools.code.records import Record
from tools.code.syntax import parse

MAX_BYTES = 4 * 1024 * 1024
_CONTINUES = ("else", "elif ", "elif(", "except", "finally", "case ", "and ", "or ", "\\")
_DEFINES = ("def ", "class ", "async ")
_LARGE = 80
"""Lines from which a class is cut into its methods."""
_CLASS = re.compile(r"class\s+(\w+)")


class Change(StrEnum):
    """What happened to a symbol."""

    ADDED = "added"
    REMOVED = "removed"
    SIGNATURE = "signature"
    """Header or decorators of a function; decorators, bases or keywords of a class."""
    BODY = "body"
    """Statements of a function or a class body, the value of a constant or of a class attribute."""


class Span(Record, frozen=True, array_like=True, gc=False):
    """One symbol of one version. Lines count from 1, decorators included.

    Digests leave out comments, docstrings, blank lines and white space.
    """

    name: str
    kind: str
    """``function``, ``class`` or ``value``."""
    first: int
    last: int
    body: str
    """Digest of all of it; of a class: its header and what its body does besides defining its members."""
    signature: str
    abstract: bool = False
    """A method that subclasses must define."""


class SymbolChange(Record, frozen=True, array_like=True, gc=False):
    """One symbol that differs; ``old`` or ``new`` is None where that version has no such symbol."""

    how: str
    """A value of :class:`Change`."""
    old: Span | None
    new: Span | None

    @property
    def span(self) -> Span:
        """Of the version that has it, the new one first."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def name(self) -> str:
        """Qualified name in the module."""
        return self.span.name


class FileDelta(Record, frozen=True, array_like=True, gc=False):
    """What differs between two versions of one file."""

    changes: tuple[SymbolChange, ...] = ()
    rest: bool = False
    """Imports or other statements of the module differ."""
    error: str = ""
    """Why symbols could not be told."""


def spans_of(content: bytes) -> dict[str, Span]:
    """Symbols of a whole file, class attributes included, by qualified name; empty for what does not parse."""
    try:
        return {span.name: span for span in _piece(_lines(content), parse(content))[0]}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}


class DeltaReader:
    """Reads deltas, and remembers the pieces that it parsed: what one commit writes, the next one changes."""

    def __init__(self) -> None:
        self._pieces: dict[bytes, _Read] = {}

    def read(self, old: bytes | None, new: bytes | None) -> FileDelta:
        """``None`` is a file that is not there. Never raises for bad input: ``error`` says what is wrong."""
        if max(len(old or b""), len(new or b"")) > MAX_BYTES:
            return FileDelta(error=f"larger than {MAX_BYTES} bytes")
        one, two = _lines(old), _lines(new)
        try:
            return _compared(*self._pieces_of(one, two))
        except (SyntaxError, ValueError):
            pass  # cut in the wrong place, or a file is at fault
        except (RecursionError, MemoryError) as exc:
            return FileDelta(error=f"cannot be parsed: {exc}")
        try:
            return _compared(_piece(one, parse(old or b"")), _piece(two, parse(new or b"")))
        except SyntaxError as exc:
            return FileDelta(error=f"syntax error: {exc.msg}")
        except (ValueError, RecursionError, MemoryError) as exc:
            return FileDelta(error=f"cannot be parsed: {exc}")

    def _pieces_of(self, one: list[str], two: list[str]) -> tuple[_Read, _Read]:
        """Symbols and loose lines of the pieces that only one of the versions has."""
        left, right = _only(_cut(one, _cuts(one)), _cut(two, _cuts(two)))
        large = {n: p for p in left if (n := _large_class(p[0]))}
        reads: tuple[_Gathered, _Gathered] = (_Gathered(), _Gathered())
        for part, start in right:
            name = _large_class(part)
            if name and name in large:
                was, was_start = large.pop(name)
                old, new = self._classes(was, part)
                reads[0].add(old, was_start)
                reads[1].add(new, start)
            else:
                reads[1].add(self._known(part), start)
        paired = {id(p) for p in left} - {id(p) for p in large.values()}
        for piece in left:
            if id(piece) not in paired or not _large_class(piece[0]):
                reads[0].add(self._known(piece[0]), piece[1])
        return reads[0].read, reads[1].read

    def _known(self, lines: list[str]) -> _Read:
        text = "\n".join(lines).encode("utf-8", "surrogatepass")
        key = hashlib.blake2b(text, digest_size=16).digest()
        found = self._pieces.get(key)
        if found is None:
            found = self._pieces[key] = _piece(lines, parse(text))
        return found

    def _classes(self, one: list[str], two: list[str]) -> tuple[_Read, _Read]:
        """Two versions of a large class: its head, and the methods that only one of them has."""
        heads, methods = [], []
        for lines in (one, two):
            cuts = _method_cuts(lines)
            heads.append([*lines[: cuts[0]], "    pass"] if cuts else lines)
            methods.append(_cut(lines, cuts))
        out: list[_Read] = []
        for lines, head, parts in zip((one, two), heads, _only(*methods), strict=True):
            node = _only_class("\n".join(head))
            spans: list[Span] = []
            header, rest = _class_text(node, "", head, spans)
            for part, start in parts:
                inner, more = self._known(["class _:", *part])
                own, *members = inner
                # What stands between methods: digests of a class are compared within one pair only.
                rest.append(own.body)
                assert not more
                spans += [_renamed(_moved(s, start - 1), node.name + s.name[1:]) for s in members]
            rest = [line for line in rest if line not in ("pass", _EMPTY_CLASS)]
            whole = Span(node.name, "class", 1, len(lines), _digest(header + rest), _digest(header))
            out.append(((whole, *spans), ()))
        return out[0], out[1]


_Read = tuple[tuple[Span, ...], tuple[str, ...]]
"""Symbols by line, and the lines of what binds none."""
_Piece = tuple[list[str], int]
"""Lines, and the index of the first in the file."""


class _Gathered:
    def __init__(self) -> None:
        self._spans: list[Span] = []
        self._rest: list[str] = []

    def add(self, read: _Read, start: int) -> None:
        self._spans += [_moved(span, start) for span in read[0]]
        self._rest += read[1]

    @property
    def read(self) -> _Read:
        return tuple(self._spans), tuple(self._rest)


def _compared(old: _Read, new: _Read) -> FileDelta:
    was, now = {s.name: s for s in old[0]}, {s.name: s for s in new[0]}
    changes = []
    for name in [*was, *(n for n in now if n not in was)]:
        one, two = was.get(name), now.get(name)
        if one is None or two is None:
            changes.append(SymbolChange(Change.ADDED if one is None else Change.REMOVED, one, two))
        elif one.signature != two.signature and one.kind == two.kind and one.kind != "value":
            changes.append(SymbolChange(Change.SIGNATURE, one, two))
        elif one.body != two.body or one.kind != two.kind:
            changes.append(SymbolChange(Change.BODY, one, two))
    return FileDelta(tuple(changes), "".join(old[1]) != "".join(new[1]))


def _only(left: list[_Piece], right: list[_Piece]) -> tuple[list[_Piece], list[_Piece]]:
    """Pieces that the other side does not have."""
    ones, twos = {"\n".join(p[0]).rstrip() for p in left}, {"\n".join(p[0]).rstrip() for p in right}
    return (
        [p for p in left if "\n".join(p[0]).rstrip() not in twos],
        [p for p in right if "\n".join(p[0]).rstrip() not in ones],
    )


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _cut(lines: list[str], starts: list[int]) -> list[_Piece]:
    return [(lines[start:end], start) for start, end in zip(starts, [*starts[1:], len(lines)], strict=True)]


def _moved(span: Span, by: int) -> Span:
    return msgspec.structs.replace(span, first=span.first + by, last=span.last + by)


def _renamed(span: Span, name: str) -> Span:
    return msgspec.structs.replace(span, name=name)


def _large_class(lines: list[str]) -> str:
    """Name of the class that a piece is, when it is worth cutting; else ''."""
    if len(lines) < _LARGE:
        return ""
    match = _CLASS.match(next((line for line in lines if line[:1] not in ("@", " ", "#", ")")), ""))
    return match[1] if match else ""


def _only_class(text: str) -> ast.ClassDef:
    body = parse(text.encode("utf-8", "surrogatepass")).body
    if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
        raise ValueError("not one class")
    return body[0]


def _method_cuts(lines: list[str]) -> list[int]:
    """Indices of the lines at which a method of the class seems to begin, decorators included."""
    cuts = []
    decorated = False
    for index, line in enumerate(lines):
        if line[:4] != "    " or len(line) < 5 or line[4] in " \t#)]}\"'":
            continue
        begins = line.startswith(("    def ", "    async def ", "    @", "    class "))
        if begins and not decorated:
            cuts.append(index)
        decorated = line[4] == "@" or (decorated and not begins)
    return cuts


def _cuts(lines: list[str]) -> list[int]:
    """Indices of the lines at which a statement of the module seems to begin."""
    starts = [0]
    decorated = False
    for index, line in enumerate(lines):
        if not line or line[0] in " \t#)]}\"'\f":
            continue
        if not decorated and not line.startswith(_CONTINUES):
            starts.append(index)
        decorated = line[0] == "@" or (decorated and not line.startswith(_DEFINES))
    return starts if len(starts) == 1 or starts[1] else starts[1:]


def _piece(lines: list[str], tree: ast.Module) -> _Read:
    spans: list[Span] = []
    rest = _block(tree.body, "", lines, spans)
    return tuple(spans), tuple(rest)


def _block(body: list[ast.stmt], prefix: str, lines: list[str], spans: list[Span]) -> list[str]:
    """Adds the symbols of ``body``; returns the lines of what binds none."""
    rest: list[str] = []
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            spans.append(_function(node, prefix, lines))
        elif isinstance(node, ast.ClassDef):
            _class(node, prefix, lines, spans)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            rest += _text(lines, node.lineno, node.lineno)
            for part in _parts(node):
                rest += _block(part, prefix, lines, spans)
        else:
            last = node.end_lineno or node.lineno
            text = _text(lines, node.lineno, last)
            names = list(_assigned(node))
            for name in names:
                digest = _digest(text)
                spans.append(Span(prefix + name, "value", node.lineno, last, digest, digest))
            if not names and not _is_docstring(node):
                rest += text
    return rest


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str, lines: list[str]) -> Span:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    last = node.end_lineno or node.lineno
    header = _header(node, first, lines)
    body = node.body[1:] if _is_docstring(node.body[0]) and len(node.body) > 1 else node.body
    # From a statement's own column: behind a header, or behind a docstring, it may share the line.
    begin = body[0]
    start = min([begin.lineno, *(d.lineno for d in getattr(begin, "decorator_list", ()))])
    shared = start == begin.lineno and lines[start - 1][: begin.col_offset].strip()
    opening = [lines[start - 1][begin.col_offset :].strip()] if shared else []
    text = header + opening + _text(lines, start + bool(shared), last)
    abstract = any("abstract" in line for line in header if line.startswith("@"))
    return Span(prefix + node.name, "function", first, last, _digest(text), _digest(header), abstract)


def _header(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, first: int, lines: list[str]
) -> list[str]:
    """Decorators, and what stands before the first statement of the body."""
    begin = node.body[0]
    start = min([begin.lineno, *(d.lineno for d in getattr(begin, "decorator_list", ()))])
    header = _text(lines, first, start - 1)
    if start == begin.lineno and (shared := lines[start - 1][: begin.col_offset].strip()):
        header.append(shared)
    return header


def _class(node: ast.ClassDef, prefix: str, lines: list[str], spans: list[Span]) -> None:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    place = len(spans)
    header, rest = _class_text(node, prefix, lines, spans)
    rest = [line for line in rest if line != "pass"]
    last = node.end_lineno or node.lineno
    whole = Span(prefix + node.name, "class", first, last, _digest(header + rest), _digest(header))
    spans.insert(place, whole)


def _class_text(
    node: ast.ClassDef, prefix: str, lines: list[str], spans: list[Span]
) -> tuple[list[str], list[str]]:
    """Lines of the header and of what its body does besides methods; the methods are added to ``spans``."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    header = _header(node, first, lines)
    return header, _block(node.body, f"{prefix}{node.name}.", lines, spans)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _parts(node: ast.If | ast.Try | ast.With) -> Iterator[list[ast.stmt]]:
    yield node.body
    if not isinstance(node, ast.With):
        yield node.orelse
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield handler.body
        yield node.finalbody


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.AnnAssign)
        else []
    )
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else (target,):
            if isinstance(part, ast.Name):
                yield part.id


def _text(lines: list[str], first: int, last: int) -> list[str]:
    """Lines ``first`` to ``last`` without indentation, blank lines and comments that stand alone."""
    return [line for raw in lines[first - 1 : last] if (line := raw.strip()) and line[0] != "#"]


def _digest(text: list[str]) -> str:
    # White space inside lines goes too, so that a header broken otherwise is the same one.
    plain = "".join("".join(text).split())
    return hashlib.sha1(plain.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]


_EMPTY_CLASS = _digest(["class _:"])

"""What one Python file says, as plain records.

Records hold nothing that depends on where the file lies, so they are cached by the blob id of its content
and serve every tree that holds the same file. msgspec structs decode some 2,000 files in a few tenths of a
second, which is what keeps a warm review short.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Record(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all records: immutable and compact on disk."""


def typing_only(guard: str) -> bool:
    """True for code under ``if TYPE_CHECKING``, which never runs."""
    return "TYPE_CHECKING" in guard.split(";")


def guarded_by(guard: str, *exceptions: str) -> str | None:
    """The first of ``exceptions`` that an enclosing ``try`` catches, as the source spells it."""
    for part in guard.split(";"):
        if part.startswith("try:"):
            for caught in part[4:].split(","):
                if caught.rpartition(".")[2] in exceptions:
                    return caught
    return None


class ParamKind(IntEnum):
    """In the order and with the meaning of ``inspect.Parameter`` kinds."""

    POSITIONAL_ONLY = 0
    POSITIONAL_OR_KEYWORD = 1
    VAR_POSITIONAL = 2
    KEYWORD_ONLY = 3
    VAR_KEYWORD = 4


class Param(Record, frozen=True, array_like=True, gc=False):
    """One parameter; ``default`` and ``annotation`` are source text."""

    name: str
    kind: ParamKind
    default: str | None = None
    annotation: str | None = None

    @property
    def required(self) -> bool:
        """True when a call must supply it."""
        return self.default is None and self.kind not in (ParamKind.VAR_POSITIONAL, ParamKind.VAR_KEYWORD)


class Import(Record, frozen=True, array_like=True, gc=False):
    """One name bound by an import statement.

    ``import a.b`` has module ``a.b``, name '' and bound ``a``; ``from .x import y as z`` has level 1, module
    ``x``, name ``y``, bound ``z``; a star import has name and bound ``*``.
    """

    module: str
    name: str
    bound: str
    level: int
    line: int
    scope: str
    guard: str


class Assign(Record, frozen=True, array_like=True, gc=False):
    """A module- or class-level binding that is not a def, class or import.

    ``value`` is source text, cut to 200 characters. ``alias`` is the dotted name on the right where the value
    is nothing else. ``items`` are the string elements or keys of a literal container. ``kind`` is the type of
    the literal or callee: ``list``, ``tuple``, ``set``, ``dict``, ``str``, ``call:<dotted>``, ``''``.
    """

    name: str
    line: int
    value: str
    alias: str
    kind: str
    items: tuple[str, ...]
    annotation: str | None
    guard: str


ANY_ATTRIBUTE = "*"
"""Name of a store on self whose name is computed: ``setattr(self, key, value)``."""


class SelfWrite(Record, frozen=True, array_like=True, gc=False):
    """``self.attr = …`` in a method. ``hint``: ``ann:<text>``, ``param:<name>``, ``call:<dotted>`` or ''."""

    attr: str
    line: int
    conditional: bool
    hint: str


class Call(Record, frozen=True, array_like=True, gc=False):
    """One call site. ``callee`` is dotted text; what is no plain name becomes ``?`` (``?.forward``).

    A call of a subscript, ``kernel[grid](…)``, ends in a question mark: ``kernel?``.
    """

    scope: str
    callee: str
    nargs: int
    star: bool
    keywords: tuple[str, ...]
    kwstar: bool
    line: int


class Function(Record, frozen=True, array_like=True, gc=False):
    """A function or method."""

    qualname: str
    line: int
    end_line: int
    params: tuple[Param, ...]
    returns: str | None
    decorators: tuple[str, ...]
    guard: str
    text_hash: str
    """Of its lines without indentation, blank lines and comment lines."""
    arities: tuple[int, ...]
    """What ``return`` gives: -1 one value, 0 nothing, n a tuple display of n elements."""
    is_async: bool
    is_generator: bool
    is_stub: bool
    """Its body is a docstring, ``pass``, ``...`` or ``raise NotImplementedError``."""
    raises_not_implemented: bool
    self_reads: tuple[tuple[str, int], ...]
    self_writes: tuple[SelfWrite, ...]
    first_line: int
    """Line of the first decorator, or of ``def``."""
    in_class: bool
    in_function: bool


class Class(Record, frozen=True, array_like=True, gc=False):
    """A class with what its own body binds."""

    qualname: str
    line: int
    end_line: int
    bases: tuple[str, ...]
    keywords: tuple[tuple[str, str], ...]
    decorators: tuple[str, ...]
    guard: str
    text_hash: str
    assigns: tuple[Assign, ...]
    in_function: bool


class Module(Record, frozen=True, array_like=True, gc=False):
    """One file. A file that does not parse has ``error`` and nothing else."""

    imports: tuple[Import, ...] = ()
    functions: tuple[Function, ...] = ()
    classes: tuple[Class, ...] = ()
    assigns: tuple[Assign, ...] = ()
    exports: tuple[str, ...] | None = None
    """``__all__`` where it is a literal."""
    getattr_names: tuple[str, ...] | None = None
    """Names a module-level ``__getattr__`` serves; None without one."""
    getattr_any: bool = False
    """The module-level ``__getattr__`` computes what it serves."""
    dynamic: bool = False
    """Binds names in ways that cannot be read (``globals()[…] =``, ``exec``)."""
    attr_stores: tuple[str, ...] = ()
    """Attribute names stored on anything but self, or by string (``register_parameter``, ``setattr``)."""
    attr_reads: str = ""
    """Attribute names used on anything, with spaces between: one string is decoded faster than many."""
    line_count: int = 0
    error: str | None = None
    error_line: int = 1


class Calls(Record, frozen=True, array_like=True, gc=False):
    """The call sites of one file, kept apart because few checks need those of a whole tree."""

    calls: tuple[Call, ...] = ()

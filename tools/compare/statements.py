"""A function body as a list of statements that can be compared across edits that change nothing.

Formatting, comments, docstrings, annotations, imports, logging and the texts of errors are left out; a compound
statement gives its header, its body follows. Two bodies with the same keys do the same thing.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from enum import StrEnum
from weakref import WeakKeyDictionary

from tools.code.records import Function
from tools.code.syntax import dotted, parse
from tools.code.tree import Tree

_LOGGERS = frozenset({"logger", "log", "logging", "warnings", "print", "_logger"})
_SPACE = re.compile(r"\s+")
_TRAILING = re.compile(r",([)\]}])")


class Act(StrEnum):
    """What a statement does, as far as consequence goes."""

    RETURN = "return"
    REFUSE = "raise or assert"
    STORE = "attribute or argument stored into"
    CALL = "call"
    DEFAULT = "default"
    ASSIGN = "assignment"
    BRANCH = "condition"


@dataclass(frozen=True, slots=True)
class Statement:
    """``key`` for comparing, ``text`` for showing; ``line`` counts in the file."""

    key: str
    text: str
    line: int
    act: Act


_READ: WeakKeyDictionary[Tree, dict[tuple[str, int], list[Statement]]] = WeakKeyDictionary()


def statements(tree: Tree, module: str, record: Function) -> list[Statement]:
    """Statements of ``record``, its inner functions included; [] for what does not parse alone."""
    known = _READ.setdefault(tree, {})
    key = (module, record.line)
    if key not in known:
        known[key] = _statements(tree, module, record)
    return known[key]


def _statements(tree: Tree, module: str, record: Function) -> list[Statement]:
    lines = tree.lines(module)[record.first_line - 1 : record.end_line]
    if not lines:
        return []
    indented = lines[0][:1].isspace()
    text = "\n".join(["if 1:", *lines] if indented else ["", *lines])
    try:
        root = parse(text.encode("utf-8", "replace"))
    except (SyntaxError, ValueError):
        return []
    body: list[ast.stmt] = root.body
    if indented and isinstance(body[0], ast.If):
        body = body[0].body
    if not body or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    args = body[0].args
    handed = frozenset(a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs))
    reader = _Reader(text.split("\n"), record.first_line - 2, handed)
    reader.defaults(body[0])
    reader.block(body[0].body)
    return reader.out


class _Reader:
    def __init__(self, lines: list[str], offset: int, handed: frozenset[str]) -> None:
        self.lines, self.offset, self.handed = lines, offset, handed
        self.out: list[Statement] = []

    def text(self, node: ast.expr | ast.stmt) -> str:
        """Source of ``node`` on one line, without comments."""
        first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
        start, end = node.col_offset, node.end_col_offset or 0
        if first == last:
            return _cut(self.lines[first], start, end)
        parts = [
            _cut(self.lines[first], start, None),
            *self.lines[first + 1 : last],
            _cut(self.lines[last], 0, end),
        ]
        return " ".join(p for p in (_uncommented(part).strip() for part in parts) if p)

    def add(self, text: str, line: int, act: Act) -> None:
        self.out.append(Statement(_key(text), text, line + self.offset, act))

    def defaults(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Each default is a statement of its own: signatures are other checks' business."""
        args = node.args
        positional = [*args.posonlyargs, *args.args]
        pairs = list(zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True))
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
        for arg, default in pairs:
            self.add(f"{arg.arg}={self.text(default)}", default.lineno, Act.DEFAULT)

    def block(self, body: list[ast.stmt]) -> None:
        for stmt in body:
            self.statement(stmt)

    def statement(self, stmt: ast.stmt) -> None:
        line = stmt.lineno
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef):
            self.add(f"def {stmt.name}({', '.join(a.arg for a in stmt.args.args)})", line, Act.BRANCH)
            self.defaults(stmt)
            self.block(stmt.body)
        elif isinstance(stmt, ast.ClassDef):
            self.add(f"class {stmt.name}", line, Act.BRANCH)
            self.block(stmt.body)
        elif isinstance(stmt, ast.If | ast.While):
            word = "if" if isinstance(stmt, ast.If) else "while"
            self.add(f"{word} {self.text(stmt.test)}", line, Act.BRANCH)
            self.block(stmt.body)
            self.block(stmt.orelse)
        elif isinstance(stmt, ast.For | ast.AsyncFor):
            self.add(f"for {self.text(stmt.target)} in {self.text(stmt.iter)}", line, Act.BRANCH)
            self.block(stmt.body)
            self.block(stmt.orelse)
        elif isinstance(stmt, ast.With | ast.AsyncWith):
            self.add("with " + ", ".join(self.text(i.context_expr) for i in stmt.items), line, Act.BRANCH)
            self.block(stmt.body)
        elif isinstance(stmt, ast.Try):
            self.block(stmt.body)
            for handler in stmt.handlers:
                caught = self.text(handler.type) if handler.type is not None else ""
                self.add(f"except {caught}", handler.lineno, Act.BRANCH)
                self.block(handler.body)
            self.block(stmt.orelse)
            self.block(stmt.finalbody)
        elif isinstance(stmt, ast.Match):
            self.add(f"match {self.text(stmt.subject)}", line, Act.BRANCH)
            for case in stmt.cases:
                self.block(case.body)
        else:
            self.simple(stmt, line)

    def simple(self, stmt: ast.stmt, line: int) -> None:
        if isinstance(stmt, ast.Import | ast.ImportFrom | ast.Pass | ast.Global | ast.Nonlocal):
            return
        if isinstance(stmt, ast.Return):
            self.add(f"return {_bare(self.text(stmt.value))}" if stmt.value else "return", line, Act.RETURN)
        elif isinstance(stmt, ast.Raise):
            exc = stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc
            self.add(f"raise {self.text(exc)}" if exc is not None else "raise", line, Act.REFUSE)
        elif isinstance(stmt, ast.Assert):
            self.add(f"assert {self.text(stmt.test)}", line, Act.REFUSE)
        elif isinstance(stmt, ast.Expr):
            if isinstance(stmt.value, ast.Constant):
                return
            if isinstance(stmt.value, ast.Call) and dotted(stmt.value.func).split(".")[0] in _LOGGERS:
                return
            self.add(self.text(stmt), line, Act.CALL)
        elif isinstance(stmt, ast.AnnAssign):
            if stmt.value is not None:
                self.add(
                    f"{self.text(stmt.target)} = {self.text(stmt.value)}", line, self.stored([stmt.target])
                )
        elif isinstance(stmt, ast.AugAssign):
            self.add(self.text(stmt), line, self.stored([stmt.target]))
        elif isinstance(stmt, ast.Assign):
            targets = " = ".join(self.text(t) for t in stmt.targets)
            self.add(f"{targets} = {_bare(self.text(stmt.value))}", line, self.stored(stmt.targets))
        else:
            self.add(self.text(stmt), line, Act.ASSIGN)

    def stored(self, targets: list[ast.expr]) -> Act:
        """Attributes outlive the call, and so does what is written into a tensor that the caller handed in."""
        for target in targets:
            inner: ast.expr = target
            while isinstance(inner, ast.Subscript):
                inner = inner.value
            into = inner is not target and isinstance(inner, ast.Name) and inner.id in self.handed
            if into or isinstance(inner, ast.Attribute):
                return Act.STORE
        return Act.ASSIGN


def _bare(text: str) -> str:
    """Without parentheses around the whole."""
    if text.startswith("(") and text.endswith(")"):
        depth = 0
        for index, char in enumerate(text):
            depth += (char == "(") - (char == ")")
            if depth == 0:
                return text[1:-1].strip().rstrip(",") if index == len(text) - 1 else text
    return text


def _cut(line: str, start: int, end: int | None) -> str:
    """Columns of the syntax tree count bytes."""
    if line.isascii():
        return line[start:end]
    return line.encode()[start:end].decode("utf-8", "replace")


def _uncommented(line: str) -> str:
    if "#" not in line:
        return line
    quote = ""
    for index, char in enumerate(line):
        if quote:
            if char == quote and line[index - 1] != "\\":
                quote = ""
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:index]
    return line


def _key(text: str) -> str:
    return _TRAILING.sub(r"\1", _SPACE.sub("", text)).replace("'", '"')

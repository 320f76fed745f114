"""What the evidence pane shows of a finding, tab by tab: text with the line to look at. Knows nothing of screens."""

from __future__ import annotations

import ast
import difflib
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from tools.compare.deltas import CompareResult, CounterpartRow
from tools.findings import Evidence, Finding, Level, Report
from tools.sources.snapshot import Snapshot, SourceError


class Tab(StrEnum):
    """In the order of the screen."""

    LOCAL = "Local"
    BASE = "Base"
    TARGET = "Target"
    DIFF = "Diff"
    COMMITS = "Commits"
    TRACE = "Trace"
    PROBE = "Probe"


@dataclass(frozen=True)
class Pane:
    """Text of one tab. Lines count from 1 in ``text``; ``first`` is the number shown beside the first of them."""

    title: str
    text: str
    language: str = "text"
    """``python``, ``diff`` or ``text``."""
    first: int = 1
    focus: int | None = None
    marks: frozenset[int] = frozenset()
    numbered: bool = True


@dataclass
class Panes:
    """The tabs of any finding of one report. Reads files when asked; meant to be called off the screen's thread."""

    report: Report
    compared: CompareResult
    source: Callable[[str], Snapshot]
    """Role -> snapshot. Raises SourceError when it cannot be read any more."""
    _files: dict[tuple[str, str], str] = field(default_factory=dict)

    def pane(self, finding: Finding, tab: Tab) -> Pane:
        """What ``tab`` shows of ``finding``; a source that cannot be read is said in the pane."""
        try:
            return {
                Tab.LOCAL: self._local,
                Tab.BASE: lambda f: self._upstream(f, "base"),
                Tab.TARGET: lambda f: self._upstream(f, "target"),
                Tab.DIFF: self._diff,
                Tab.COMMITS: self._commits,
                Tab.TRACE: self._trace,
                Tab.PROBE: self._probe,
            }[tab](finding)
        except SourceError as error:
            return _said(str(tab), f"{error.what}: {error.why}\n{error.remedy}")

    # ---- files ----

    def _file(self, role: str, path: str) -> str:
        key = (role, path)
        if key not in self._files:
            self._files[key] = self.source(role).read(path).decode("utf-8", "replace")
        return self._files[key]

    def _local(self, finding: Finding) -> Pane:
        cited = [e for e in self._cited(finding, "plugin") if e.path == finding.path and e.lines]
        marks = {n for e in cited if e.lines for n in range(e.lines[0], e.lines[1] + 1)} | {finding.line}
        text = self._file("plugin", finding.path)
        language = "python" if finding.path.endswith((".py", ".pyi")) else "text"
        return Pane(
            f"{finding.path}:{finding.line}", text, language, focus=finding.line, marks=frozenset(marks)
        )

    def _upstream(self, finding: Finding, role: str) -> Pane:
        place = self._place(finding, role)
        if place is None:
            return _said(role, f"No evidence in {role}, and no counterpart there is known.")
        path, first, last = place
        text = self._file(role, path)
        return Pane(
            f"{path}:{first}",
            text,
            "python",
            focus=first,
            marks=frozenset(range(first, min(last, first + 400) + 1)),
        )

    def _place(self, finding: Finding, role: str) -> tuple[str, int, int] | None:
        """(path, first line, last line): what is cited there, else the counterpart."""
        for item in self._cited(finding, role):
            if item.path and item.lines:
                return item.path, *item.lines
        row = self._counterpart(finding)
        symbol = getattr(row, role) if row is not None else None
        return self._definition(role, symbol) if symbol else None

    def _definition(self, role: str, symbol: str) -> tuple[str, int, int] | None:
        """Where ``module:Qual.name`` is defined in ``role``."""
        module, _, qualname = symbol.partition(":")
        stem = module.replace(".", "/")
        known = {p: p for p in self.source(role).paths() if p.endswith((f"{stem}.py", f"{stem}/__init__.py"))}
        for path in sorted(known, key=len):
            span = _span(self._file(role, path), qualname)
            if span is not None:
                return path, *span
        return None

    def _cited(self, finding: Finding, role: str) -> list[Evidence]:
        return [e for e in map(self._evidence.__getitem__, finding.evidence) if e.source == role]

    @cached_property
    def _evidence(self) -> Mapping[str, Evidence]:
        return {e.id: e for e in self.report.evidence}

    @cached_property
    def _counterparts(self) -> Mapping[tuple[str, str], CounterpartRow]:
        return {(row.path, row.symbol): row for row in self.compared.counterparts}

    def _counterpart(self, finding: Finding) -> CounterpartRow | None:
        """Of the symbol, or of what it is part of."""
        name = finding.symbol
        while name:
            row = self._counterparts.get((finding.path, name))
            if row is not None:
                return row
            name = name.rpartition(".")[0]
        return None

    # ---- differences ----

    def _diff(self, finding: Finding) -> Pane:
        row = self._counterpart(finding)
        if row is None:
            return _said(
                "Diff", "This symbol has no counterpart in vLLM: there is nothing to compare it with."
            )
        texts: dict[str, str] = {}
        for role, symbol in (("base", row.base), ("target", row.target)):
            place = self._definition(role, symbol) if symbol else None
            if place is not None:
                texts[role] = _lines(self._file(role, place[0]), place[1], place[2])
        own = _span(self._file("plugin", row.path), row.symbol)
        if own is not None:
            texts["local"] = _lines(self._file("plugin", row.path), *own)
        parts = []
        for old, new in (("base", "target"), ("local", "target")):
            if old in texts and new in texts:
                parts += [f"=== {old} -> {new} ===", *_difference(texts[old], texts[new], old, new), ""]
            else:
                lost = old if old not in texts else new
                parts += [f"=== {old} -> {new}: {lost} has no such symbol ===", ""]
        return Pane(f"{row.symbol}: {row.how}", "\n".join(parts), "diff", numbered=False)

    # ---- history, reasons, runs ----

    def _commits(self, finding: Finding) -> Pane:
        lines = [f"Since: {finding.since}"] if finding.since else []
        names = {finding.symbol, *(s.partition(":")[2] for s in (finding.cause,))} - {""}
        for row in self.report.dispositions:
            if any(name == s or s.endswith((f":{name}", f".{name}")) for s in row.symbols for name in names):
                lines += ["", f"{row.commit[:12]} {row.title}", f"  {row.disposition}: {row.reason}"]
        if not self.report.dispositions:
            lines += ["", "The commits between base and target were not audited in this session."]
        return _said("Commits", "\n".join(lines).strip())

    def _trace(self, finding: Finding) -> Pane:
        lines = [
            finding.message,
            "",
            f"When:   {finding.trigger}",
            f"Then:   {finding.consequence}",
            f"Do:     {finding.decision}. {finding.suggestion}".rstrip(". "),
            f"Cause:  {finding.cause or 'none recorded'}",
            f"Sure:   {finding.certainty}, {finding.level}, {finding.attribution}",
        ]
        if finding.blast_radius:
            lines += ["", "Registrations lost with it:", *(f"  {name}" for name in finding.blast_radius)]
        for item in map(self._evidence.__getitem__, finding.evidence):
            where = (
                f"{item.path}:{item.lines[0]}-{item.lines[1]}"
                if item.path and item.lines
                else item.command or ""
            )
            lines += ["", f"[{item.id}] {item.source} {where}", *_indented(item.excerpt)]
        return Pane("Trace", "\n".join(lines), numbered=False)

    def _probe(self, finding: Finding) -> Pane:
        ran = [
            e
            for e in map(self._evidence.__getitem__, finding.evidence)
            if e.level in (Level.RUNTIME, Level.NUMERIC) or e.kind == "command"
        ]
        if not ran:
            return _said("Probe", "Nothing was run for this finding: it rests on reading alone.")
        lines: list[str] = []
        for item in ran:
            lines += [
                f"$ {item.command or item.source}",
                f"level: {item.level}",
                *_indented(item.excerpt),
                "",
            ]
        return Pane("Probe", "\n".join(lines), numbered=False)


def _said(title: str, text: str) -> Pane:
    return Pane(title, text, numbered=False)


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


def _lines(text: str, first: int, last: int) -> str:
    return "\n".join(text.split("\n")[first - 1 : last])


def _difference(old: str, new: str, old_name: str, new_name: str) -> Iterable[str]:
    found = list(difflib.unified_diff(old.split("\n"), new.split("\n"), old_name, new_name, lineterm="", n=4))
    return found or ["no difference"]


def _span(text: str, qualname: str) -> tuple[int, int] | None:
    """First and last line of the definition of ``Qual.name`` in the text of a file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in code that is not ours
            body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return None
    found: ast.stmt | None = None
    for part in qualname.split("."):
        if part == "<locals>":
            continue
        found = next((n for n in _named(body) if n.name == part), None)
        if found is None:
            return None
        body = found.body
    if found is None:
        return None
    assert isinstance(found, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    first = min([found.lineno, *(d.lineno for d in found.decorator_list)])
    return first, found.end_lineno or found.lineno


def _named(body: Iterable[ast.stmt]) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _named(node.body)
            yield from _named(getattr(node, "orelse", ()))

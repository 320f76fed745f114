"""Which commit of the range brought about what a finding says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from tools.code.tree import Tree
from tools.findings import Finding
from tools.history.records import NO_BLOB, Commit, FileChange
from tools.history.relations import CANCELS, Related
from tools.history.symbols import Change, SymbolChange
from tools.history.upstream import Range


class Event(StrEnum):
    """What may have happened to an upstream symbol, as :func:`cause_of` is asked."""

    GONE = "gone"
    CAME = "came"
    SIGNATURE = "signature"
    CHANGED = "changed"
    MEMBERS = "members"
    """A class gained or lost members, bases or attributes."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One commit that may be the cause. ``lines`` are those of the symbol that it changed."""

    commit: Commit
    path: str
    change: SymbolChange | None


_WORDS: tuple[tuple[str, Event], ...] = (
    ("lost ", Event.GONE),
    ("gone", Event.GONE),
    ("removed", Event.GONE),
    ("has no ", Event.GONE),
    ("not a base", Event.MEMBERS),
    ("signature", Event.SIGNATURE),
    ("abstract", Event.CAME),
    ("members", Event.MEMBERS),
    ("bases", Event.MEMBERS),
    ("re-parented", Event.MEMBERS),
)
_SUBJECT = re.compile(r"^([A-Za-z_][\w.]*(?::[\w.]+)?)(?:\s+(.*))?$", re.DOTALL)
_QUOTED = re.compile(r"`([^`]+)`")
_GENERAL = frozenset(
    {"body", "signature", "members", "bases", "lost", "names", "gone", "sets", "widened", "changed"}
)
"""Words with which causes say what happened."""
_NAME = re.compile(r"[A-Za-z_]\w{2,}")


class Causes:
    """Answers for one range, with the trees at both ends."""

    def __init__(
        self, upstream: Range, base: Tree, target: Tree, relations: dict[str, tuple[Related, ...]]
    ) -> None:
        self.upstream, self.base, self.target = upstream, base, target
        self._cancelled = frozenset(
            c for c, rows in relations.items() if any(r.relation in CANCELS for r in rows)
        )
        self._histories: dict[str, list[tuple[Commit, FileChange]]] = {}

    def of(self, symbol: str, event: Event) -> list[Cause]:
        """Commits that did ``event`` to ``module:Qual.name`` (or to a module), oldest first.

        Commits that cancel each other are left out. Empty when no commit of the range did.
        """
        module, _, name = symbol.partition(":")
        if not name:
            return self._module(module, event)
        out = []
        for commit, change in self._history(module):
            items = self.upstream.delta(change).changes
            out += [Cause(commit, change.new_path, i) for i in items if _concerns(i, name, event)]
            if (
                change.status == "R"
                and event is Event.GONE
                and self.upstream.module(change.old_path) == module
            ):
                out.append(Cause(commit, change.new_path, None))
        return _unique(out)

    def _module(self, module: str, event: Event) -> list[Cause]:
        """Of a module as a whole: its file was deleted, renamed or added."""
        out = []
        for commit, change in self._history(module):
            was, now = self.upstream.module(change.old_path), self.upstream.module(change.new_path)
            gone = was == module and (now != module or change.new_blob == NO_BLOB)
            came = now == module and (was != module or change.old_blob == NO_BLOB)
            if (event is Event.GONE and gone) or (event is Event.CAME and came):
                out.append(Cause(commit, change.new_path, None))
        return _unique(out)

    def _history(self, module: str) -> list[tuple[Commit, FileChange]]:
        """Commits that touched the module's file, under whatever name, those that cancel apart."""
        if module not in self._histories:
            paths = [
                tree.paths[module][len(tree.prefix) :]
                for tree in (self.base, self.target)
                if module in tree.paths
            ]
            dotted = module.replace(".", "/")
            rows = self.upstream.touching([*paths, f"{dotted}.py", f"{dotted}/__init__.py"])
            self._histories[module] = [row for row in rows if row[0].id not in self._cancelled]
        return self._histories[module]

    # ---- findings ----

    def of_finding(self, finding: Finding) -> list[Cause]:
        """Candidates for what a finding says, oldest first; one means that the mapping is unique.

        Its ``cause`` names the upstream symbol and what happened to it. Of several commits those stay whose
        changed lines hold a name that the message quotes.
        """
        match = _SUBJECT.match(finding.cause)
        if match is None or not finding.introduced:
            return []
        symbol, rest = match[1], match[2] or ""
        if not symbol.startswith(f"{self.upstream.package}."):
            return []
        found = self._asked(symbol, rest, finding)
        return self._narrowed(found, finding, symbol, rest) if len(found) > 1 else found

    def _asked(self, symbol: str, rest: str, finding: Finding) -> list[Cause]:
        event = next((event for word, event in _WORDS if word in rest), Event.CHANGED)
        if ":" not in symbol:
            symbol = self._split(symbol)
        module, _, name = symbol.partition(":")
        if event is Event.GONE:
            lost = [w for w in rest.split() if w not in ("lost", "names", "gone", "has", "no", "removed")]
            quoted = [q.rpartition(".")[2] for q in _QUOTED.findall(finding.message)]
            names = [f"{name}.{n}" if name else n for n in (*lost, *quoted) if n.isidentifier()]
            found = [c for n in dict.fromkeys(names) for c in self.of(f"{module}:{n}", event)]
            return _unique(found) or self.of(symbol, event) or self.of(symbol, Event.MEMBERS)
        found = self.of(symbol, event)
        if not found and event is not Event.CHANGED:
            found = self.of(symbol, Event.CHANGED)
        return found or self._file(module)

    def _file(self, module: str) -> list[Cause]:
        """Where no symbol can be told: whatever touched the file."""
        return _unique([Cause(commit, change.new_path, None) for commit, change in self._history(module)])

    def _split(self, dotted: str) -> str:
        """``a.b.C.d`` as ``a.b:C.d``, by the modules that either tree has."""
        parts = dotted.split(".")
        for cut in range(len(parts), 0, -1):
            module = ".".join(parts[:cut])
            if module in self.base.modules or module in self.target.modules:
                return f"{module}:{'.'.join(parts[cut:])}" if cut < len(parts) else module
        return dotted

    def _narrowed(self, found: Sequence[Cause], finding: Finding, symbol: str, rest: str) -> list[Cause]:
        """Those whose changed lines hold what the cause names, then those that share most with the message."""
        words = [(self._words(cause), cause) for cause in found]
        own = set(_NAME.findall(symbol)) | set(_NAME.findall(finding.symbol))
        for wanted in (
            set(_NAME.findall(rest)) - _GENERAL,
            {w for q in _QUOTED.findall(finding.message) for w in _NAME.findall(q)},
        ):
            best = max(len((wanted - own) & held) for held, _ in words)
            if best:
                words = [(held, cause) for held, cause in words if len((wanted - own) & held) == best]
        return [cause for _, cause in words]

    def _words(self, cause: Cause) -> set[str]:
        """Words of the lines that the commit adds or takes out in the symbol, or in the file without one."""
        rows = [f for f in cause.commit.files if f.new_path == cause.path]
        words: set[str] = set()
        for change in rows:
            old, new = (
                _lines(self.upstream.blob(change.old_blob)),
                _lines(self.upstream.blob(change.new_blob)),
            )
            if cause.change is not None:
                one, two = cause.change.old, cause.change.new
                old = old[one.first - 1 : one.last] if one is not None else []
                new = new[two.first - 1 : two.last] if two is not None else []
            for line in set(old) ^ set(new):
                words.update(_NAME.findall(line))
        return words


def since_text(causes: Sequence[Cause], kept: int = 3) -> str:
    """``missing since abcdef (#123)`` without the verb: the commits in their order."""
    shown = ", ".join(c.commit.short for c in causes[:kept])
    return f"{shown} and {len(causes) - kept} more" if len(causes) > kept else shown


def _concerns(item: SymbolChange, name: str, event: Event) -> bool:
    """Whether ``item`` is ``event`` happening to ``name``: to itself, to the class it is in, or to its members."""
    if event is Event.GONE and name.startswith(f"{item.name}."):
        return item.how == Change.REMOVED
    member = event is Event.MEMBERS and item.name.rpartition(".")[0] == name
    return (item.name == name or member) and _fits(item, event)


def _fits(item: SymbolChange, event: Event) -> bool:
    if event is Event.GONE:
        return item.how == Change.REMOVED
    if event is Event.CAME:
        return item.how == Change.ADDED
    if event is Event.SIGNATURE:
        return item.how in (Change.SIGNATURE, Change.ADDED)
    return True


def _unique(causes: Iterable[Cause]) -> list[Cause]:
    return list({c.commit.id: c for c in causes}.values())


def _lines(content: bytes | None) -> list[str]:
    return [line.strip() for line in (content or b"").decode("utf-8", "replace").splitlines()]

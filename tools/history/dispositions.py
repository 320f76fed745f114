"""What every commit of the range means for the plugin: verdicts on its symbols and files, made one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.findings import Certainty, Disposition, Meaning, RelatedCommit
from tools.history.beside import Beside
from tools.history.excerpts import Difference
from tools.history.places import Place, other_device, place_of
from tools.history.reach import REPLACES, Reach, Via
from tools.history.records import Commit, FileChange
from tools.history.relations import CANCELS, Related, Relation
from tools.history.symbols import Change, SymbolChange
from tools.history.upstream import Range
from tools.history.verdicts import Judge, Judged, Verdict

_LINKS = 12
_SYMBOLS = 60


@dataclass(frozen=True)
class Outcome:
    """A disposition, and the files whose patch shows it."""

    row: Disposition
    paths: tuple[str, ...]


class Dispositions:
    """Judges the commits of a range."""

    def __init__(self, upstream: Range, reach: Reach, relations: dict[str, tuple[Related, ...]]) -> None:
        self.upstream, self.reach, self.relations = upstream, reach, relations
        self.judge, self.beside = Judge(reach), Beside(upstream, reach)

    def reached(self, change: FileChange) -> bool:
        """Whether symbols of this file have to be told: something of the plugin hangs on its module."""
        return any(self._hangs(path) for path in change.paths)

    def _hangs(self, path: str) -> bool:
        module = self.upstream.module(path)
        return module is not None and module in self.reach.modules

    def of(self, commit: Commit) -> Outcome:
        """The disposition of one commit."""
        related = self.relations.get(commit.id, ())
        verdicts: list[tuple[Verdict, str]] = []
        for change in commit.files:
            verdicts += [(v, change.new_path) for v in self._file(commit, change)]
        if not commit.merge:
            verdicts += [(v, "") for v in self.beside.verdicts(commit)]
        cancelled = [r for r in related if r.relation in CANCELS or r.relation is Relation.IN_BASE]
        if cancelled:
            return self._cancelled(commit, cancelled[0], related, bool(verdicts))
        if not verdicts or self._elsewhere(commit, verdicts):
            return self._unlinked(commit, related, verdicts)
        return self._linked(commit, related, verdicts)

    # ---- symbols ----

    def _file(self, commit: Commit, change: FileChange) -> Iterator[Verdict]:
        if change.submodule or not self.reached(change):
            return
        old_module, new_module = self.upstream.module(change.old_path), self.upstream.module(change.new_path)
        if commit.unread or change.binary:
            yield from self._whole(old_module, "its lines are not in this clone")
            return
        delta = self.upstream.delta(change)
        if delta.error:
            yield from self._whole(old_module or new_module, delta.error)
            return
        moved = self._moved(commit, change)
        old = _lines(self.upstream.blob(change.old_blob))
        new = _lines(self.upstream.blob(change.new_blob))
        for item in delta.changes:
            module = old_module if item.how == Change.REMOVED else new_module
            if module is None:
                continue
            judged = Judged(
                module, item, Difference.of(old, item.old, new, item.new), moved.get(_key(item), "")
            )
            yield from self._symbol(judged, old_module)
        if change.status == "R" and old_module is not None and old_module != new_module:
            yield from self._renamed(old_module, new_module or "")

    def _symbol(self, judged: Judged, old_module: str | None) -> Iterator[Verdict]:
        links = self.reach.links(judged.module, judged.change.name)
        if old_module is not None and old_module != judged.module:
            links += self.reach.links(old_module, judged.change.name)
        for link in links:
            yield self.judge.verdict(judged, link)
        owner, _, member = judged.change.name.rpartition(".")
        if not owner:
            return
        linked = {link.plugin for link in links}
        replacing = {link.plugin.partition(":")[0] for link in links if link.via in REPLACES}
        for link in self.reach.links(judged.module, owner):
            if f"{link.plugin}.{member}" in linked:
                continue
            if link.via is Via.BASE:
                yield self._inherited(judged, link.plugin, member)
            elif link.via in REPLACES and link.row is not None and judged.change.how == Change.ADDED:
                if not self.reach.defines(link.plugin, member):
                    found = self.judge.verdict(judged, link)
                    if found.meaning is Meaning.MERGE:
                        clause = f"{link.said}, and the commit adds `{member}` to it"
                        found = Verdict(found.meaning, Certainty.LIKELY, clause, link)
                    yield found
            elif link.via in (Via.IMPORT, Via.CALL) and link.plugin.partition(":")[0] not in replacing:
                clause = f"{link.said}, whose `{member}` the commit changes"
                yield Verdict(Meaning.INHERITED, Certainty.CERTAIN, clause, link)

    def _inherited(self, judged: Judged, plugin: str, member: str) -> Verdict:
        cls = judged.id.rpartition(".")[0]
        abstract = judged.change.new is not None and judged.change.new.abstract
        if judged.change.how == Change.ADDED and abstract and not self.reach.defines(plugin, member):
            return Verdict(
                Meaning.MERGE,
                Certainty.POSSIBLE,
                f"`{plugin}` derives from `{cls}`, to which the commit adds the abstract `{member}`",
            )
        return Verdict(
            Meaning.INHERITED,
            Certainty.CERTAIN,
            f"`{plugin}` derives from `{cls}` and does not define `{member}`",
            next(
                (x for x in self.reach.links(judged.module, cls.partition(":")[2]) if x.plugin == plugin),
                None,
            ),
        )

    def _renamed(self, old: str, new: str) -> Iterator[Verdict]:
        """A file under another name: whatever named the old one has to find it still."""
        for plugin in sorted(self.reach.modules.get(old, ())):
            missing = self.judge.lost(plugin, old)
            if missing:
                names = ", ".join(f"`{n}`" for n in missing[:3])
                clause = f"`{plugin}` imports {names} from `{old}`, which becomes `{new}`"
                yield Verdict(Meaning.MERGE, Certainty.CERTAIN, clause)
            else:
                clause = (
                    f"`{plugin}` hangs on `{old}`, which becomes `{new}`; its imports find what they need"
                )
                yield Verdict(Meaning.INHERITED, Certainty.LIKELY, clause)

    def _whole(self, module: str | None, why: str) -> Iterator[Verdict]:
        """A file whose symbols cannot be told."""
        for link in self.reach.module_links(module) if module else ():
            meaning = Meaning.MERGE if link.via in REPLACES else Meaning.INHERITED
            yield Verdict(
                meaning, Certainty.POSSIBLE, f"{link.said}, and symbols cannot be told ({why})", link
            )

    def _moved(self, commit: Commit, change: FileChange) -> dict[tuple[str, str], str]:
        """Symbols that the same commit takes out here and puts, unchanged, somewhere else: (name, digest) -> where."""
        if commit.merge or len(commit.files) < 2:
            return {}
        out = {}
        gone = {_key(c) for c in self.upstream.delta(change).changes if c.how == Change.REMOVED}
        for other in commit.files if gone else ():
            module = self.upstream.module(other.new_path)
            if other is change or module is None:
                continue
            for item in self.upstream.delta(other).changes:
                if item.how == Change.ADDED and _key(item) in gone:
                    out[_key(item)] = f"{module}:{item.name}"
        return out

    # ---- from verdicts to one row ----

    def _linked(
        self, commit: Commit, related: Sequence[Related], verdicts: list[tuple[Verdict, str]]
    ) -> Outcome:
        ranked = sorted(verdicts, key=lambda v: v[0].order)
        first = ranked[0][0]
        same = [(v, p) for v, p in ranked if v.meaning is first.meaning]
        clauses = list(dict.fromkeys(v.clause for v, _ in same))
        reason = clauses[0]
        if len(clauses) > 1:
            reason += f"; {len(clauses) - 1} more such {'link' if len(clauses) == 2 else 'links'}"
        others = [v for v, _ in ranked if v.meaning.work and v.meaning is not first.meaning]
        if others:
            reason += f"; also {others[0].meaning.value}: {others[0].clause}"
        fresh = [v for v, _ in ranked if v.meaning is Meaning.NEW_ARCHITECTURE and v is not first]
        if fresh and first.meaning is not Meaning.NEW_ARCHITECTURE:
            reason += f"; {fresh[0].clause}"
        symbols = dict.fromkeys(v.link.plugin for v, _ in same if v.link is not None)
        if not symbols and first.meaning is Meaning.INHERITED:
            symbols = dict.fromkeys(v.link.plugin for v, _ in ranked if v.link is not None)
        paths = dict.fromkeys(p for v, p in same if p) or dict.fromkeys(
            f.new_path for f in commit.files if place_of(f.new_path, self.upstream.package) not in _SILENT
        )
        return self._row(
            commit, related, first.meaning, first.certainty, reason, tuple(symbols), clauses, tuple(paths)
        )

    def _cancelled(self, commit: Commit, by: Related, related: Sequence[Related], linked: bool) -> Outcome:
        meaning = Meaning.INHERITED if linked else Meaning.OUTSIDE
        what = {
            Relation.REVERTED: f"{by.commit[:12]} takes it back within the range: nothing of it is left",
            Relation.REVERTS: f"it takes back {by.commit[:12]} of the same range: nothing of either is left",
        }.get(by.relation, f"base has it already, as {by.commit[:12]}")
        return self._row(commit, related, meaning, Certainty.CERTAIN, what, (), [], ())

    def _elsewhere(self, commit: Commit, verdicts: list[tuple[Verdict, str]]) -> bool:
        """Every file of code serves another device, and nothing more than an import or a call hangs on them."""
        code = _code(commit, self.upstream.package)
        return (
            bool(code) and all(other_device(p) for p in code) and not any(v.meaning.work for v, _ in verdicts)
        )

    def _unlinked(
        self, commit: Commit, related: Sequence[Related], verdicts: list[tuple[Verdict, str]]
    ) -> Outcome:
        package = self.upstream.package
        code = _code(commit, package)
        meaning, certainty = Meaning.OUTSIDE, Certainty.CERTAIN
        if not commit.files:
            reason = (
                "a merge whose result is that of its parents: what it brought stands in commits of its own"
                if commit.merge
                else "it changes no file"
            )
        elif code and all(other_device(p) for p in code):
            meaning = Meaning.PLATFORM
            reason = f"its code serves other devices alone ({_some(code)})"
        elif any(f.paths and self.reached(f) for f in commit.files):
            meaning = Meaning.INHERITED
            hit = [f.new_path for f in commit.files if self.reached(f)]
            reason = (
                f"it changes {_some(hit)}, in which nothing is touched that the plugin copies, overrides, "
                "patches, calls or imports by name"
            )
        elif code:
            inside = [p for p in code if place_of(p, package) is Place.PACKAGE]
            native = [p for p in code if place_of(p, package) is Place.NATIVE]
            if inside:
                reason = f"the plugin neither imports, copies, derives from nor patches {_some(inside)}"
            elif native:
                reason = f"native code that the plugin neither copies nor calls by a changed schema ({_some(native)})"
            else:
                reason = f"programs beside the package ({_some(code)})"
        else:
            places = Counter(place_of(p, package) for f in commit.files for p in f.paths)
            reason = f"it changes {' and '.join(str(p.value) for p, _ in places.most_common(3))} alone"
        if commit.unread:
            certainty = Certainty.LIKELY
        paths = tuple(f.new_path for f in commit.files)
        return self._row(commit, related, meaning, certainty, reason, (), [], paths)

    def _row(
        self,
        commit: Commit,
        related: Sequence[Related],
        meaning: Meaning,
        certainty: Certainty,
        reason: str,
        symbols: tuple[str, ...],
        links: list[str],
        paths: tuple[str, ...],
    ) -> Outcome:
        for item in related:
            if item.relation in (Relation.SAME_PATCH, Relation.PARTLY_REVERTS, Relation.PARTLY_REVERTED):
                reason += f"; it {item.relation.value} {item.commit[:12]}"
        row = Disposition(
            commit=commit.id,
            title=commit.title,
            disposition=meaning,
            reason=reason[:1].upper() + reason[1:] if not reason.startswith("`") else reason,
            symbols=symbols[:_SYMBOLS],
            certainty=certainty,
            number=commit.number,
            merge=commit.merge,
            links=tuple(links[:_LINKS]),
            related=tuple(RelatedCommit(relation=r.relation, commit=r.commit, said=r.said) for r in related),
            files=len(commit.files),
        )
        return Outcome(row, paths)


_SILENT = frozenset({Place.TEST, Place.DOCUMENTATION, Place.EXAMPLE, Place.PROCESS})
"""Places whose files say nothing about what the plugin runs."""


def _code(commit: Commit, package: str) -> list[str]:
    """Files of the commit that something runs, tests apart."""
    paths = [p for f in commit.files for p in f.paths]
    return list(dict.fromkeys(p for p in paths if place_of(p, package) not in _SILENT))


def _key(item: SymbolChange) -> tuple[str, str]:
    return item.name, item.span.body


def _lines(content: bytes | None) -> list[str]:
    text = (content or b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _some(paths: Sequence[str]) -> str:
    shown = ", ".join(f"`{p}`" for p in paths[:2])
    return f"{shown} and {len(paths) - 2} more" if len(paths) > 2 else shown

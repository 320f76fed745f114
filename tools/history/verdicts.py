"""What the change of one upstream symbol means along one link: whose code runs, and whether the plugin's lags."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from tools.code.records import Class, Function
from tools.code.signature import Arguments, bind, keeps_signature, without_receiver
from tools.code.world import Kind, Resolution, World
from tools.compare.deltas import parameters
from tools.findings import Certainty, Meaning
from tools.history.excerpts import Difference
from tools.history.reach import REPLACES, Link, Reach, Via, record_of
from tools.history.symbols import Change, Span, SymbolChange, spans_of

_CLOSE = 0.4
"""Share of the original's lines from which the plugin's code is a copy of it."""
_HEADERS = ("def ", "async def ", "class ", "@")
_OWN = 0.12
"""Share below which it is an implementation of its own."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """One link judged. ``clause`` says why, and begins with what the link is."""

    meaning: Meaning
    certainty: Certainty
    clause: str
    link: Link | None = None

    @property
    def order(self) -> tuple[int, int]:
        """The most urgent and surest first."""
        return (self.meaning.rank, self.certainty.rank)


@dataclass(frozen=True)
class Judged:
    """A change of an upstream symbol, with all that is needed to judge it."""

    module: str
    """Where it stands after the commit; before it, when it is gone."""
    change: SymbolChange
    difference: Difference
    moved_to: str = ""
    """For a removed symbol: where the same commit put it."""

    @property
    def id(self) -> str:
        """``module:Qual.name``."""
        return f"{self.module}:{self.change.name}"


class Judge:
    """Verdicts on links, with what base, target and the plugin say of them."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.base, self.target = reach.worlds
        self._lines: dict[tuple[str, str], Counter[str]] = {}
        self._spans: dict[str, dict[str, Span]] = {}

    def verdict(self, judged: Judged, link: Link) -> Verdict:
        """What ``judged`` means for the plugin symbol of ``link``."""
        settled = self._settled(judged, link)
        if settled is not None:
            return settled
        if judged.change.how == Change.REMOVED:
            return self._removed(judged, link)
        if link.via in REPLACES:
            return self._replaced(judged, link)
        if link.via is Via.CALL and judged.change.how == Change.SIGNATURE:
            return self._called(judged, link)
        return Verdict(
            Meaning.INHERITED, Certainty.CERTAIN, f"{link.said}, and takes the change as it is", link
        )

    # ---- changes that leave nothing to do ----

    def _settled(self, judged: Judged, link: Link) -> Verdict | None:
        difference = judged.difference
        if judged.change.how in (Change.BODY, Change.SIGNATURE) and difference.only_comments:
            return Verdict(
                Meaning.INHERITED,
                Certainty.CERTAIN,
                f"only comments, docstrings or layout of `{judged.id}` change",
                link,
            )
        if self._undone(judged, link):
            return Verdict(
                Meaning.INHERITED,
                Certainty.CERTAIN,
                f"`{judged.change.name}` is the same in base and target: nothing of the change is left, or base had it",
                link,
            )
        return None

    def _undone(self, judged: Judged, link: Link) -> bool:
        """Whether base and target hold the same symbol, wherever it lies in them."""
        pairs = [(judged.id, judged.id)]
        if link.row is not None and link.row.base is not None and link.row.target is not None:
            pairs = [(link.row.base.id, link.row.target.id)]
        for before, after in pairs:
            one, two = self._text(self.base, before), self._text(self.target, after)
            if one is not None and one == two:
                return True
        return False

    @staticmethod
    def _text(world: World, symbol: str) -> str | None:
        """Something equal for equal symbols; None where the tree does not hold it as code."""
        module, _, name = symbol.partition(":")
        if module not in world.upstream.modules:
            return None
        space = world.upstream.namespace(module)
        if name in space.functions:
            return space.functions[name].text_hash
        cls = space.classes.get(name)
        if cls is not None:
            attributes = [(a.name, a.value, a.annotation) for a in cls.assigns]
            return repr(
                (cls.bases, cls.keywords, cls.decorators, attributes, sorted(space.methods.get(name, ())))
            )
        owner, _, attribute = name.rpartition(".")
        if owner in space.classes:
            found = [(a.value, a.annotation) for a in space.classes[owner].assigns if a.name == attribute]
            return repr(found) if found and all(len(v) < 190 for v, _ in found) else None
        bound = space.names.get(name)
        # Long values are cut in the record, so equal records prove nothing of them.
        if bound is not None and bound.assigns and all(len(a.value) < 190 for a in bound.assigns):
            return repr([(a.value, a.annotation) for a in bound.assigns])
        return None

    # ---- what the plugin has of its own ----

    def _replaced(self, judged: Judged, link: Link) -> Verdict:
        difference = judged.difference
        own, likeness = self._own(link, judged)
        if difference.elsewhere:
            return Verdict(
                Meaning.PLATFORM,
                Certainty.LIKELY,
                f"{link.said}, but every line that changes serves another device",
                link,
            )
        if own is not None and self._there(judged, link, own):
            return Verdict(
                Meaning.INHERITED, Certainty.LIKELY, f"{link.said}, and has these lines already", link
            )
        signature = judged.change.how == Change.SIGNATURE and not self._takes_parameters(judged, link)
        kept = sum((difference.removed & own).values()) if own is not None else 0
        if own is not None and not signature and not kept:
            if self._calls_super(link):
                return Verdict(
                    Meaning.INHERITED, Certainty.LIKELY, f"{link.said} and runs it through `super()`", link
                )
            if likeness < _OWN:
                return Verdict(
                    Meaning.PLATFORM,
                    Certainty.LIKELY,
                    f"{link.said} with an implementation of its own, which holds none of the lines that change",
                    link,
                )
        what = "changes its signature" if judged.change.how == Change.SIGNATURE else "changes its body"
        if judged.change.how == Change.ADDED:
            what = "adds it"
        certainty = link.certainty
        if own is not None and not kept and likeness < _CLOSE:
            certainty = Certainty.POSSIBLE
        elif not kept and certainty is Certainty.CERTAIN:
            certainty = Certainty.LIKELY
        return Verdict(Meaning.MERGE, certainty, f"{link.said}, and the commit {what}", link)

    def _own(self, link: Link, judged: Judged) -> tuple[Counter[str] | None, float]:
        """Lines of the plugin's symbol, and what share of the original's before the commit it has."""
        module, _, name = link.plugin.partition(":")
        if module not in self.reach.plugin.modules or not name:
            return None, 0.0
        key = (module, name)
        if key not in self._lines:
            if module not in self._spans:
                self._spans[module] = spans_of(
                    self.reach.plugin.snapshot.read(self.reach.plugin.paths[module])
                )
            span = self._spans[module].get(name)
            if span is None:
                return None, 0.0
            self._lines[key] = Difference.told(self.reach.plugin.lines(module)[span.first - 1 : span.last])
        own = self._lines[key]
        whole = judged.difference.before or judged.difference.after
        # A header says what is replaced, not how.
        body = Counter({k: n for k, n in whole.items() if not k.startswith(_HEADERS)})
        return own, sum((body & own).values()) / max(1, sum(body.values()))

    def _record(self, module: str, name: str) -> Function | Class | None:
        space = self.reach.plugin.namespace(module)
        return space.functions.get(name) or space.classes.get(name)

    def _there(self, judged: Judged, link: Link, own: Counter[str]) -> bool:
        """Whether the plugin's code has what the commit adds and nothing of what it takes out."""
        difference = judged.difference
        if not difference.added and not difference.removed:
            return False
        gone = Counter({k: n for k, n in difference.removed.items() if k not in difference.after})
        if gone & own or difference.added - own:
            return False
        if difference.added:
            return True
        # Nothing added: the copy must at least be one, to say that it took the removal.
        return sum((difference.after & own).values()) >= _CLOSE * sum(difference.after.values())

    def _takes_parameters(self, judged: Judged, link: Link) -> bool:
        """Whether the plugin's function already takes what the target's does."""
        module, _, name = link.plugin.partition(":")
        own = self._record(module, name) if module in self.reach.plugin.modules else None
        now = record_of(self.target, judged.id)
        if not isinstance(own, Function) or now is None:
            return False
        return [p.name for p in own.params] == [p.name for p in now.params] and not [
            d for d in parameters(own.params, now.params) if d.kind != "default"
        ]

    def _calls_super(self, link: Link) -> bool:
        module, _, name = link.plugin.partition(":")
        if module not in self.reach.plugin.modules:
            return False
        last = name.rpartition(".")[2]
        return any(c.scope == name and c.callee == f"super().{last}" for c in self.reach.plugin.calls(module))

    # ---- what the plugin uses ----

    def _called(self, judged: Judged, link: Link) -> Verdict:
        """Calls that no longer bind ask for an edit; all others inherit the new signature."""
        now = record_of(self.target, judged.id)
        call = link.call
        if now is None or call is None or not keeps_signature(now):
            return Verdict(Meaning.INHERITED, Certainty.LIKELY, f"{link.said}, whose signature changes", link)
        given = Arguments(call.nargs, call.keywords, call.star, call.kwstar)
        problems = bind(without_receiver(now), given)
        if not problems:
            return Verdict(
                Meaning.INHERITED,
                Certainty.CERTAIN,
                f"{link.said} in a way that the new signature still takes",
                link,
            )
        was = record_of(self.base, judged.id)
        if was is not None and bind(without_receiver(was), given):
            # It does not bind in base either: the call is not what it seems.
            return Verdict(
                Meaning.INHERITED, Certainty.POSSIBLE, f"{link.said}, whose signature changes", link
            )
        why = ", ".join(f"{p.misfit.value} `{p.name}`" if p.name else p.misfit.value for p in problems[:2])
        return Verdict(
            Meaning.MERGE, Certainty.LIKELY, f"{link.said} in a way that no longer binds ({why})", link
        )

    def _removed(self, judged: Judged, link: Link) -> Verdict:
        where = f", now in `{judged.moved_to}`" if judged.moved_to else ""
        if link.via in (Via.COPY, Via.REGISTERED):
            if judged.moved_to:
                return Verdict(
                    Meaning.INHERITED, Certainty.LIKELY, f"{link.said}, which only moves{where}", link
                )
            return Verdict(Meaning.MERGE, Certainty.POSSIBLE, f"{link.said}, which is removed", link)
        if link.via is Via.OVERRIDE:
            if judged.moved_to or self._still(judged.id):
                return Verdict(Meaning.INHERITED, Certainty.LIKELY, f"{link.said}, which moves{where}", link)
            return Verdict(
                Meaning.MERGE, Certainty.LIKELY, f"{link.said}, which is removed: nothing calls it", link
            )
        if link.via is Via.BASE and self._bases_found(link):
            return Verdict(Meaning.INHERITED, Certainty.LIKELY, f"{link.said}, found elsewhere{where}", link)
        if self._still(judged.id) or self._resolves(link, judged):
            return Verdict(
                Meaning.INHERITED,
                Certainty.CERTAIN,
                f"{link.said}, which the same name still finds{where}",
                link,
            )
        return Verdict(Meaning.MERGE, Certainty.CERTAIN, f"{link.said}, which is removed{where}", link)

    def _still(self, symbol: str) -> bool:
        """Whether target finds something under the same path."""
        return self.target.path(symbol.replace(":", ".")).found

    def _bases_found(self, link: Link) -> bool:
        module, _, name = link.plugin.partition(":")
        return all(b.found for b in self.target.bases(Resolution(Kind.CLASS, module, name)))

    def _resolves(self, link: Link, judged: Judged) -> bool:
        """Whether every import of the plugin module that named the symbol in base finds it in target."""
        module = link.plugin.partition(":")[0]
        top = judged.change.name.partition(".")[0]
        missing = self._missing.get(module, frozenset())
        if "." in judged.change.name and link.via is Via.CALL:
            return False
        return top not in missing

    def lost(self, plugin: str, upstream: str) -> list[str]:
        """Names that plugin module ``plugin`` imports from ``upstream`` (or the module itself) and target lacks."""
        tree = self.reach.plugin
        out = []
        for imported in tree.modules[plugin].imports if plugin in tree.modules else ():
            if tree.absolute(plugin, imported) == upstream and imported.name not in ("*", "."):
                found = (
                    self.target.member(upstream, imported.name)
                    if imported.name
                    else self.target.module(upstream)
                )
                if not found.found:
                    out.append(imported.name or upstream)
        return sorted(set(out))

    @cached_property
    def _missing(self) -> dict[str, frozenset[str]]:
        """Plugin module -> names that it imports from upstream, found in base and not in target."""
        plugin, out = self.reach.plugin, {}
        for module, record in plugin.modules.items():
            names = set()
            for imported in record.imports:
                source = plugin.absolute(module, imported)
                if imported.name in ("", ".", "*") or self.target.tree(source) is not self.target.upstream:
                    continue
                if not self.target.member(source, imported.name).found:
                    names.add(imported.name)
            out[module] = frozenset(names)
        return out

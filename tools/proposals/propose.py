"""Proposals for every copied symbol of the plugin whose original changed from base to target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from difflib import unified_diff

from tools.checks.base import Context
from tools.checks.drf_common import counterparts_of
from tools.code.records import Class, Function
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.compare.counterparts import Counterpart, Counterparts, How
from tools.findings import Certainty
from tools.merge.ancestors import History, Version, nearest
from tools.merge.classes import class_text, merge_class
from tools.merge.imports import needed
from tools.merge.nodes import Unreadable
from tools.merge.structural import Doubt
from tools.merge.symbols import SymbolMerge, merge_symbol
from tools.merge.text import Edit, Source, edits_of, read_source
from tools.proposals.markers import covered, is_marker
from tools.proposals.states import Proposal, State

_COPY = 0.4
"""Share of base's lines that the plugin's symbol must have to be called a copy of it."""
_DEVICE = re.compile(
    r"\b\w*[pP]latform\.\w+|\b(?:get_|is_|has_)?device_capability\w*|\bis_(?:cuda|rocm|xpu|hopper)\w*"
)
"""Questions about the device: what upstream answers for its own is to be answered for MACA."""
_LONGEST = 400
"""Lines of upstream's own change that are shown."""


def propose(context: Context, history: History | None = None) -> list[Proposal]:
    """Unchecked proposals, in the order of the plugin. ``history`` finds what late copies were taken from."""
    return list(Proposer(context, history).all())


class Proposer:
    """Makes the proposals of one review."""

    def __init__(self, context: Context, history: History | None = None) -> None:
        assert context.before is not None
        counterparts = counterparts_of(context)
        assert counterparts is not None
        self._context, self._history = context, history
        self._counterparts: Counterparts = counterparts
        self._plugin, self._base, self._target = context.plugin, context.before.upstream, context.upstream
        self._sources: dict[tuple[str, str], Source | None] = {}

    def all(self) -> Iterator[Proposal]:
        """One for each symbol concerned."""
        if self._history is not None:
            rows = (row.base for row in self._counterparts.rows if row.base is not None)
            self._history.expect(self._base.paths[b.module] for b in rows if b.module in self._base.paths)
        for row in self._counterparts.rows:
            found = self._one(row)
            if found is not None:
                yield found

    def source(self, tree: Tree, module: str) -> Source | None:
        """The file of ``module``, read once."""
        key = tree.role, module
        if key not in self._sources:
            path = tree.paths.get(module)
            self._sources[key] = read_source(tree.snapshot.read(path)) if path is not None else None
        return self._sources[key]

    def _one(self, row: Counterpart) -> Proposal | None:
        path = self._plugin.paths[row.symbol.module]
        if row.base is None or row.how is How.SUBCLASS:
            return None
        was = _record(self._base, row.base)
        if row.target is None:
            return Proposal(row, path, State.REMOVED, (f"{row.base.id} is gone",)) if was else None
        now = _record(self._target, row.target)
        own = _record(self._plugin, row.symbol)
        if self._left_the_class(row):
            reason = f"upstream's class has it from {row.target.id} now"
            return Proposal(row, path, State.REMOVED, (reason,)) if was else None
        if (
            was is None
            or now is None
            or own is None
            or type(was) is not type(now)
            or type(own) is not type(now)
        ):
            return None
        texts = self._texts(row)
        version = self._ancestor(row, texts) if texts is not None and isinstance(own, Function) else None
        if was.text_hash == now.text_hash and version is None:
            return None
        if texts is None:
            return Proposal(row, path, State.CONFLICT, ("one of the files cannot be read as one definition",))
        mine, old, new = texts
        if version is not None:
            old = version.text
        try:
            merge, news = self._merged(row, own, mine, old, new)
        except Unreadable as error:
            reason = f"no valid code comes of the merge: {str(error).splitlines()[0]}"
            return Proposal(row, path, State.CONFLICT, (reason,), shown=_delta(old, new))
        if isinstance(own, Class) and merge.text == mine and not merge.clashes and not merge.notes:
            return None  # its methods are proposals of their own
        return self._judged(row, path, (mine, old, new), merge, news, version)

    def _left_the_class(self, row: Counterpart) -> bool:
        """Whether the original was a method of the counterpart itself and is inherited there now."""
        if row.how is not How.MEMBER or row.base is None or row.target is None:
            return False
        owner = self._counterparts.by_symbol.get(
            f"{row.symbol.module}:{row.symbol.qualname.rpartition('.')[0]}"
        )
        if owner is None or owner.base is None or owner.target is None:
            return False
        was = row.base.module == owner.base.module and row.base.qualname.startswith(f"{owner.base.qualname}.")
        now = row.target.module == owner.target.module and row.target.qualname.startswith(
            f"{owner.target.qualname}."
        )
        return was and not now

    def _texts(self, row: Counterpart) -> tuple[str, str, str] | None:
        found = []
        sides = ((self._plugin, row.symbol), (self._base, row.base), (self._target, row.target))
        for tree, symbol in sides:
            source = self.source(tree, symbol.module) if symbol is not None else None
            if source is None or symbol is None or symbol.qualname not in source.spans:
                return None
            found.append(source.text(symbol.qualname))
        return found[0], found[1], found[2]

    def _ancestor(self, row: Counterpart, texts: tuple[str, str, str]) -> Version | None:
        if (
            self._history is None
            or row.base is None
            or texts[0] == texts[1]
            or _share(texts[1], texts[0]) < _COPY
        ):
            return None
        history, path, name = self._history, self._base.paths[row.base.module], row.base.qualname
        return nearest(texts[0], texts[1], lambda: history.versions(path, name))

    def _merged(
        self, row: Counterpart, own: Function | Class, mine: str, old: str, new: str
    ) -> tuple[SymbolMerge, tuple[str, ...]]:
        names = self._counterparts.names
        if isinstance(own, Function):
            source = self.source(self._plugin, row.symbol.module)
            assert source is not None
            local = [name for name in source.spans if "." not in name and name != row.symbol.qualname]
            return merge_symbol(mine, old, new, names, local), ()
        sides = []
        for tree, symbol in ((self._plugin, row.symbol), (self._base, row.base), (self._target, row.target)):
            assert symbol is not None
            source = self.source(tree, symbol.module)
            assert source is not None
            sides.append(class_text(source, symbol.qualname))
        result = merge_class(sides[0], sides[1], sides[2], names, copied=not self._derives(row))
        news = [f"upstream added {', '.join(result.added)}"] if result.added else []
        news += [f"upstream removed {', '.join(result.removed)}"] if result.removed else []
        return result.merge, tuple(news)

    def _derives(self, row: Counterpart) -> bool:
        """Whether the plugin's class inherits from its counterpart, and so has what upstream added."""
        line = {c.id for c in self._context.world.mro(row.symbol).classes[1:]}
        return row.target is not None and row.target.id in line

    def _judged(
        self,
        row: Counterpart,
        path: str,
        texts: tuple[str, str, str],
        merge: SymbolMerge,
        news: tuple[str, ...],
        version: Version | None,
    ) -> Proposal:
        mine, old, new = texts
        source = self.source(self._plugin, row.symbol.module)
        assert source is not None
        assert row.target is not None
        edits = edits_of(source, row.symbol.qualname, merge.text)
        proposal = Proposal(
            row, path, State.CHECKED, edits=edits, text=merge.text, shown=_delta(old, new),
            ancestor=version.revision if version else "",
        )  # fmt: skip
        if row.symbol.kind is Kind.FUNCTION and not merge.untouched and _share(old, mine) < _COPY:
            reason = "the plugin has an implementation of its own here; upstream's change is shown, nothing is merged"
            return replace(proposal, state=State.DIFFERENT, reasons=(reason,), edits=(), text=mine)
        if merge.clashes:
            return replace(
                proposal, state=State.CONFLICT, clashes=merge.clashes, edits=(), reasons=_doubts(merge)
            )
        if not edits:
            replaced = [n for n in merge.notes if n.doubt is Doubt.REPLACED]
            state = State.DIFFERENT if replaced else State.PRESENT
            return replace(proposal, state=state, reasons=_doubts(merge))
        markers = self._context.profile.markers
        meant = covered(source.lines, markers)
        lost = [c for c in merge.lost if is_marker(c, markers)]
        if lost or any(_touches(edit, meant) for edit in edits):
            reason = (
                f"`{lost[0]}` would go" if lost else "a marker covers lines that upstream's change touches"
            )
            return replace(proposal, state=State.DIFFERENT, reasons=(reason, *_doubts(merge)))
        brings = needed(source, mine, merge.text, self._target, row.target.module)
        reasons = [*_doubts(merge), *(f"the comment `{c}` goes" for c in merge.lost)]
        if not merge.untouched:
            reasons.append(
                "the plugin changed this symbol too; whether the new code needs the like is to be judged"
            )
        asked = sorted(set(_DEVICE.findall(merge.text)) - set(_DEVICE.findall(mine)))
        if asked:
            reasons.append(
                f"the new code asks which device it runs on: {', '.join(f'`{a}`' for a in asked[:3])}"
            )
        if version is not None:
            reasons.append(
                f"the copy was taken from {version.revision[:12]}, not from base, and is merged from there"
            )
        reasons += news
        reasons += [f"nothing binds {name} in this file" for name in brings.missing]
        own = [s for s in brings.brought if f"from {row.target.module} import" in s]
        reasons += [f"needs `{statement}`, defined beside the original" for statement in own]
        if row.certainty is Certainty.POSSIBLE:
            reasons.append("the counterpart is a guess by name and likeness")
        exact = version is not None and merge.untouched and len(reasons) == 1
        state = State.CHECKED if not reasons or exact else State.DOUBTFUL
        return replace(
            proposal, state=state, reasons=tuple(reasons), edits=(*brings.edits, *edits),
            held=bool(brings.missing),
        )  # fmt: skip


def _doubts(merge: SymbolMerge) -> tuple[str, ...]:
    out = []
    for note in merge.notes:
        lines = note.text.strip().splitlines()
        first = lines[0].strip() if lines else ""
        out.append(f"{note.doubt}: `{first}`" if first else str(note.doubt))
    return tuple(dict.fromkeys(out))


def _touches(edit: Edit, meant: frozenset[int]) -> bool:
    if edit.start == edit.end:
        return edit.start in meant and edit.start - 1 in meant
    return any(line in meant for line in range(edit.start, edit.end))


def _share(base: str, own: str) -> float:
    """Share of base's lines that the plugin's symbol has."""
    old = [line.strip() for line in base.splitlines() if len(line.strip()) > 3]
    mine = {line.strip() for line in own.splitlines()}
    return sum(line in mine for line in old) / max(1, len(old))


def _delta(old: str, new: str) -> str:
    lines = list(unified_diff(old.splitlines(), new.splitlines(), "base", "target", lineterm=""))
    cut = [f"… {len(lines) - _LONGEST} more lines"] if len(lines) > _LONGEST else []
    return "\n".join([*lines[:_LONGEST], *cut])


def _record(tree: Tree, symbol: Resolution) -> Function | Class | None:
    space = tree.namespace(symbol.module)
    return space.classes.get(symbol.qualname) or space.functions.get(symbol.qualname)

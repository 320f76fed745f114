"""Three-way merge of concrete syntax: what upstream changed from base to target, carried into the plugin's copy.

Statements of a body, branches of an `if`, arguments, parameters, entries, decorators, bases and imported names are
matched one by one, so that two edits of one line still merge when they concern different parts of it. What the plugin
wrote stays as it is written, comments and layout included; what upstream brings comes as upstream wrote it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import libcst as cst

from tools.merge.align import align, name_of
from tools.merge.nodes import Keys, comments_in, every_field, is_layout
from tools.merge.separators import separated


class Doubt(StrEnum):
    """Why a merge that came out whole deserves a look."""

    REPLACED = "upstream changed what the plugin removed or replaced"
    OUTLIVED = "upstream removed what the plugin had changed; the plugin's is kept"
    WITHDRAWN = "upstream removed a parameter or argument that the plugin had changed; it is removed"
    BESIDE = "both sides inserted something at the same place"
    ANNOTATION = "both sides changed an annotation; upstream's is taken"
    RENAMED = "upstream renamed it; what the plugin added follows"
    COMMENT = "a comment of the plugin stood at something that upstream removed"


@dataclass(frozen=True)
class Note:
    """One doubt, with the text concerned."""

    doubt: Doubt
    text: str


@dataclass(frozen=True)
class Clash:
    """One place where both sides changed the same thing differently, as each wrote it."""

    own: str
    base: str
    target: str


_BLOCKS = (cst.BaseCompoundStatement, cst.IndentedBlock, cst.Else)
"""Nodes of many lines: those of the plugin stay as it wrote them wherever upstream changed nothing."""


class _Clashing(Exception):
    """The two changes of one node exclude each other; caught where the nearest list can show both."""


class Merger:
    """Merges one symbol. ``notes`` and ``clashes`` say afterwards what a person should look at."""

    def __init__(self, keys: Keys | None = None) -> None:
        self.keys = keys or Keys()
        self.notes: list[Note] = []
        self.clashes: list[Clash] = []
        self._renamed: dict[str, set[str]] = {}

    def merge(self, own: Any, base: Any, target: Any) -> Any:
        """``own`` with the change from ``base`` to ``target``; where they clash, own's."""
        try:
            merged = self._node(own, base, target)
        except _Clashing:
            self._clash(own, base, target)
            return own
        meaning = self.keys.meaning
        if meaning(own) == meaning(base) and meaning(merged) != meaning(target):
            # A plain copy in a layout of its own, that cannot be followed statement by statement.
            self.notes, self.clashes = [], []
            return target
        return self._follow(merged, base, target)

    def _follow(self, merged: Any, base: Any, target: Any) -> Any:
        """Names that upstream renamed throughout, renamed in what the plugin added too."""
        old, new = names_in(base), names_in(target)
        table = {
            was: next(iter(now))
            for was, now in self._renamed.items()
            if len(now) == 1 and was not in new and not now & old
        }
        left = sorted(table.keys() & names_in(merged)) if table else []
        for name in left:
            self.notes.append(Note(Doubt.RENAMED, f"{name} -> {table[name]}"))
        return merged.visit(Renaming({n: table[n] for n in left})) if left else merged

    # ---- nodes ----

    def _node(self, own: Any, base: Any, target: Any) -> Any:
        whole, meaning = self.keys.whole, self.keys.meaning
        if whole(base) == whole(target) or whole(own) == whole(target):
            return own
        if isinstance(base, cst.Name) and isinstance(target, cst.Name) and base.value != target.value:
            self._renamed.setdefault(base.value, set()).add(target.value)
        if whole(own) == whole(base):
            self._compare(base, target)
            if not (isinstance(own, _BLOCKS) and type(own) is type(target)):
                return target
        special = self._special(own, base, target)
        if special is not None:
            return special
        if type(own) is type(base) is type(target):
            return self._fields(own, base, target)
        if meaning(base) == meaning(target) or meaning(own) == meaning(target):
            return own
        if meaning(own) == meaning(base):
            self._lost_comments(own, base)
            return target
        raise _Clashing

    def _compare(self, base: Any, target: Any) -> None:
        """Learn names from a pair of statements that differ in nothing else."""
        if isinstance(base, cst.Param) and self.keys.meaning(base.annotation) == self.keys.meaning(
            target.annotation
        ):
            base, target = base.name, target.name
        elif not isinstance(base, cst.BaseStatement):
            return
        one, two = list(_ordered_names(base)), list(_ordered_names(target))
        if isinstance(base, cst.Name) and one != two:
            self._renamed.setdefault(one[0], set()).add(two[0])
            return
        if len(one) == len(two) and sum(a != b for a, b in zip(one, two, strict=True)) * 2 <= len(one):
            for was, now in zip(one, two, strict=True):
                if was != now:
                    self._renamed.setdefault(was, set()).add(now)

    def _fields(self, own: Any, base: Any, target: Any) -> Any:
        changes = {}
        for name in own.__dataclass_fields__:
            mine, old, new = getattr(own, name), getattr(base, name), getattr(target, name)
            if is_layout(mine) or is_layout(old) or is_layout(new):
                merged = self._layout(mine, old, new)
            elif isinstance(mine, list | tuple) and isinstance(old, list | tuple):
                merged = self._list(mine, old, new)
            elif name in ("annotation", "returns"):
                merged = self._annotation(mine, old, new)
            elif (
                isinstance(mine, cst.CSTNode) or isinstance(old, cst.CSTNode) or isinstance(new, cst.CSTNode)
            ):
                merged = self._optional(mine, old, new)
            else:
                merged = _scalar(mine, old, new)
            if merged is not mine:
                changes[name] = merged
        try:
            return own.with_changes(**changes) if changes else own
        except cst.CSTValidationError as error:
            raise _Clashing from error

    def _optional(self, own: Any, base: Any, target: Any) -> Any:
        if own is None or base is None or target is None:
            if self.keys.meaning(base) == self.keys.meaning(target):
                return own
            if self.keys.meaning(own) in (self.keys.meaning(base), self.keys.meaning(target)):
                return target
            if own is None and target is not None:
                self._note(Doubt.REPLACED, target)
                return own
            raise _Clashing
        return self._node(own, base, target)

    def _annotation(self, own: Any, base: Any, target: Any) -> Any:
        try:
            return self._optional(own, base, target)
        except _Clashing:
            self._note(Doubt.ANNOTATION, target)
            return target

    def _layout(self, own: Any, base: Any, target: Any) -> Any:
        mine, old, new = _comments(own), _comments(base), _comments(target)
        return target if mine == old and old != new else own

    def _special(self, own: Any, base: Any, target: Any) -> Any:
        """Chains, whose links are merged as a list; None for everything else."""
        if all(isinstance(n, cst.If) for n in (own, base, target)):
            return self._branches(own, base, target)
        chain = [n for n in (own, base, target) if isinstance(n, cst.BooleanOperation)]
        if len(chain) > 1 and len({type(n.operator) for n in chain}) == 1:
            return self._operands(own, base, target, type(chain[0].operator))
        return None

    def _branches(self, own: cst.If, base: cst.If, target: cst.If) -> cst.If | None:
        mine, old, new = _links(own), _links(base), _links(target)
        if len(mine[0]) == len(old[0]) == len(new[0]) == 1:
            return None
        links: list[cst.If] = list(self._list(mine[0], old[0], new[0]))
        rest = self._optional(mine[1], old[1], new[1])
        if not links:
            raise _Clashing
        chain = rest
        for link in reversed(links[1:]):
            chain = link.with_changes(orelse=chain)
        return links[0].with_changes(orelse=chain, leading_lines=own.leading_lines)

    def _operands(self, own: Any, base: Any, target: Any, kind: type) -> Any:
        mine, old, new = (_flat(n, kind) for n in (own, base, target))
        merged = self._list(mine, old, new)
        if not merged:
            raise _Clashing
        operators = _operators(own, kind) or _operators(target, kind) or _operators(base, kind)
        out = merged[0]
        for index, operand in enumerate(merged[1:]):
            out = cst.BooleanOperation(out, operators[min(index, len(operators) - 1)], operand)
        if len(merged) > 1 and getattr(own, "lpar", None):
            out = out.with_changes(lpar=own.lpar, rpar=own.rpar)
        return out

    # ---- lists ----

    def _list(self, own: Sequence[Any], base: Sequence[Any], target: Sequence[Any]) -> Sequence[Any]:
        keys = self.keys
        if keys.whole(base) == keys.whole(target) or keys.whole(own) == keys.whole(target):
            return own
        if keys.whole(own) == keys.whole(base) and not (own and isinstance(own[0], cst.BaseStatement)):
            return target
        if len(own) == len(base) == len(target) == 1:
            # One statement of one line, one decorator, one target of an assignment: nothing else it could be.
            return [self.pair(own[0], base[0], target[0])]
        merged = _Lists(self, own, base, target).merge()
        return separated(merged, own, target)

    def pair(self, own: Any, base: Any, target: Any) -> Any:
        """An element that all three have."""
        notes = len(self.notes), len(self.clashes)
        try:
            return self._node(own, base, target)
        except _Clashing:
            del self.notes[notes[0] :], self.clashes[notes[1] :]
            if not isinstance(own, cst.BaseStatement):
                raise
            self._clash(own, base, target)
            return own

    # ---- what to tell ----

    def note(self, doubt: Doubt, node: Any) -> None:
        """Record a doubt about ``node``."""
        self._note(doubt, node)

    def _note(self, doubt: Doubt, node: Any) -> None:
        self.notes.append(Note(doubt, text_of(node)))

    def _clash(self, own: Any, base: Any, target: Any) -> None:
        self.clashes.append(Clash(text_of(own), text_of(base), text_of(target)))

    def _lost_comments(self, own: Any, base: Any) -> None:
        kept = set(_comments(base))
        if any(c not in kept for c in _comments(own)):
            self._note(Doubt.COMMENT, own)


class _Lists:
    """One list merged. Own's order holds; what upstream inserted follows what it follows there."""

    def __init__(
        self, merger: Merger, own: Sequence[Any], base: Sequence[Any], target: Sequence[Any]
    ) -> None:
        self.merger, self.keys = merger, merger.keys
        self.own, self.base, self.target = own, base, target
        self.of_own, self.of_target = align(base, own, self.keys), align(base, target, self.keys)
        self.in_base = {j: i for i, j in self.of_own.items()}
        self.was = {j: i for i, j in self.of_target.items()}

    def merge(self) -> list[Any]:
        already = self._already()
        inserted = self._insertions(already)
        out: list[Any] = list(inserted.pop(-1, ()))
        carried: list[Any] = []
        for index, element in enumerate(self.own):
            kept = self._kept(index, element, already, carried)
            if kept is not None:
                out.append(_with_lines(kept, carried))
                carried = []
            out += inserted.get(index, ())
        if carried and out:
            self.merger.note(Doubt.COMMENT, self.own[-1])
        self._left_behind(already)
        if out and isinstance(out[0], cst.Arg):
            out.sort(key=lambda a: a.keyword is not None or a.star == "**")
        return out

    def _already(self) -> dict[int, int]:
        """Target's new elements that the plugin has too: index in target -> index in own."""
        free: dict[object, list[int]] = {}
        for j, element in enumerate(self.own):
            if j not in self.in_base:
                free.setdefault(self.keys.meaning(element), []).append(j)
                name = name_of(element, self.keys)
                if name is not None:
                    free.setdefault(f"named {name}", []).append(j)
        found: dict[int, int] = {}
        for j, element in enumerate(self.target):
            if j in self.was:
                continue
            name = name_of(element, self.keys)
            waiting = free.get(self.keys.meaning(element)) or free.get(f"named {name}")
            waiting = [j for j in waiting or () if j not in found.values()]
            if waiting:
                found[j] = waiting[0]
        return found

    def _kept(self, index: int, element: Any, already: dict[int, int], carried: list[Any]) -> Any:
        """What becomes of own's element; None when it goes. Its comments are carried on."""
        base_index = self.in_base.get(index)
        if base_index is None:
            twin = next((t for t, o in already.items() if o == index), None)
            if twin is not None and self.keys.meaning(element) != self.keys.meaning(self.target[twin]):
                raise _Clashing
            return element
        old = self.base[base_index]
        new_index = self.of_target.get(base_index)
        if new_index is not None:
            return self.merger.pair(element, old, self.target[new_index])
        if self.keys.meaning(element) == self.keys.meaning(old):
            carried += _own_lines(element, old)
            return None
        if isinstance(element, cst.Param) or (isinstance(element, cst.Arg) and element.keyword is not None):
            self.merger.note(Doubt.WITHDRAWN, element)
            return None
        self.merger.note(Doubt.OUTLIVED, element)
        return element

    def _insertions(self, already: dict[int, int]) -> dict[int, list[Any]]:
        """Index in own (-1: the front) -> what upstream inserted after it."""
        out: dict[int, list[Any]] = {}
        place = -1
        waiting: list[Any] = []
        known = False
        for j, element in enumerate(self.target):
            at = already[j] if j in already else self.of_own.get(self.was[j]) if j in self.was else None
            if at is not None:
                if waiting and not known:
                    # Nothing before it is in the plugin: it goes before what follows it.
                    out.setdefault(at - 1, []).extend(waiting)
                    waiting = []
                place, known = at, True
            elif j not in self.was:
                if known or (place == -1 and j == 0):
                    out.setdefault(place, []).append(element)
                    self._beside(place, element)
                    known = known or j == 0
                else:
                    waiting.append(element)
            else:
                # The plugin has not what stands before: its place is less sure.
                known = known and place >= 0
        if waiting:
            out.setdefault(len(self.own) - 1, []).extend(waiting)
        return out

    def _beside(self, place: int, element: Any) -> None:
        after = place + 1
        if after < len(self.own) and after not in self.in_base and isinstance(element, cst.BaseStatement):
            self.merger.note(Doubt.BESIDE, element)

    def _left_behind(self, already: dict[int, int]) -> None:
        """Upstream's changes to what the plugin does not have any more."""
        for i, j in self.of_target.items():
            if i not in self.of_own and self.keys.meaning(self.base[i]) != self.keys.meaning(self.target[j]):
                self.merger.note(Doubt.REPLACED, self.target[j])


def _links(node: cst.If) -> tuple[list[cst.If], cst.Else | None]:
    """The branches of an if-elif chain without what follows each, and its else."""
    links = []
    rest: Any = node
    while isinstance(rest, cst.If):
        links.append(rest.with_changes(orelse=None))
        rest = rest.orelse
    return links, rest


def _flat(node: Any, kind: type) -> list[Any]:
    if isinstance(node, cst.BooleanOperation) and type(node.operator) is kind:
        left = _flat(node.left, kind) if not getattr(node.left, "lpar", ()) else [node.left]
        right = _flat(node.right, kind) if not getattr(node.right, "lpar", ()) else [node.right]
        return left + right
    return [node]


def _operators(node: Any, kind: type) -> list[Any]:
    if isinstance(node, cst.BooleanOperation) and type(node.operator) is kind:
        return [*_operators(node.left, kind), node.operator]
    return []


def _scalar(own: Any, base: Any, target: Any) -> Any:
    if base == target or own == target:
        return own
    if own == base:
        return target
    raise _Clashing


def _comments(value: Any) -> list[str]:
    return list(comments_in(value))


class Renaming(cst.CSTTransformer):
    """Replaces names throughout."""

    def __init__(self, table: Mapping[str, str]) -> None:
        super().__init__()
        self._table = table

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """Called by libcst."""
        name = self._table.get(updated_node.value)
        return updated_node if name is None else updated_node.with_changes(value=name)


def names_in(node: Any) -> frozenset[str]:
    """Every name below ``node``."""
    return frozenset(_ordered_names(node))


def _ordered_names(node: Any) -> Iterator[str]:
    if isinstance(node, list | tuple):
        for item in node:
            yield from _ordered_names(item)
    elif isinstance(node, cst.Name):
        yield node.value
    elif isinstance(node, cst.CSTNode) and not is_layout(node):
        for _, value in every_field(node):
            if isinstance(value, cst.CSTNode | list | tuple):
                yield from _ordered_names(value)


def _own_lines(own: Any, base: Any) -> list[Any]:
    """Comment lines above ``own`` that base has not."""
    old = set(_comments(getattr(base, "leading_lines", ())))
    return [
        line
        for line in getattr(own, "leading_lines", ())
        if line.comment is not None and line.comment.value not in old
    ]


def _with_lines(node: Any, lines: list[Any]) -> Any:
    if not lines or not hasattr(node, "leading_lines"):
        return node
    return node.with_changes(leading_lines=[*lines, *node.leading_lines])


def text_of(node: Any) -> str:
    """Source of a node, of several, or of none."""
    if node is None:
        return ""
    if isinstance(node, list | tuple):
        return "".join(text_of(n) for n in node)
    if isinstance(node, cst.Param):
        node = cst.Parameters(params=[node])
    if isinstance(node, cst.Annotation):
        node = node.annotation
    return cst.Module([]).code_for_node(node).strip("\n")

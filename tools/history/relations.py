"""Commits of a range that belong together: one takes another back, or is the same patch once more."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from enum import StrEnum

from tools.findings import Frozen
from tools.history.records import Commit

_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
_PICKED = re.compile(r"\(cherry picked from commit ([0-9a-f]{7,40})\)")
_TITLE = re.compile(r"^(?:\[[^\]]*\]\s*)*Revert:?\s+[\"“](.+?)[\"”](?:\s*\(#\d+\))?\s*$", re.IGNORECASE)
_NUMBERED = re.compile(r"\brevert(?:s|ed|ing)?\b[^#\n]{0,60}#(\d{1,7})", re.IGNORECASE)
_OWN_NUMBER = re.compile(r"\s*\(#\d+\)\s*$")


class Relation(StrEnum):
    """What one commit is to another."""

    REVERTS = "reverts"
    REVERTED = "is reverted by"
    PARTLY_REVERTS = "reverts part of"
    PARTLY_REVERTED = "is partly reverted by"
    SAME_PATCH = "is the same patch as"
    IN_BASE = "is in base already as"


CANCELS = frozenset({Relation.REVERTS, Relation.REVERTED})
"""Relations that leave nothing of either commit."""


class Related(Frozen):
    """One relation of a commit."""

    relation: Relation
    commit: str
    said: str
    """How it is known, as a clause."""


def relations_of(commits: Sequence[Commit], beside: Iterable[Commit] = ()) -> dict[str, tuple[Related, ...]]:
    """Commit -> its relations, for ``commits`` in their order, oldest first.

    ``beside`` are commits of base that target has not: the same patch there means that base has it already.
    """
    found: defaultdict[str, list[Related]] = defaultdict(list)
    cancelled = _exact_reverts(commits, found)
    _said_reverts(commits, cancelled, found)
    _same_patches(commits, found)
    picked = {c.patch: c for c in beside if c.patch and c.patch != c.inverse}
    for commit in commits:
        other = picked.get(commit.patch)
        if other is not None:
            found[commit.id].append(
                Related(relation=Relation.IN_BASE, commit=other.id, said="base has the same patch")
            )
    return {commit: tuple(rows) for commit, rows in found.items()}


def _exact_reverts(commits: Sequence[Commit], found: defaultdict[str, list[Related]]) -> set[str]:
    """Pairs whose patches undo each other to the line; each commit is in one pair at most."""
    waiting: defaultdict[str, list[Commit]] = defaultdict(list)
    cancelled: set[str] = set()
    for commit in commits:
        # A patch that is its own inverse changes white space alone.
        if not commit.patch or commit.patch == commit.inverse:
            continue
        earlier = waiting[commit.inverse]
        if earlier:
            # Of several landings of one patch the last is the one that is taken back.
            undone = earlier.pop()
            said = "the two patches undo each other line by line"
            found[commit.id].append(Related(relation=Relation.REVERTS, commit=undone.id, said=said))
            found[undone.id].append(Related(relation=Relation.REVERTED, commit=commit.id, said=said))
            cancelled |= {commit.id, undone.id}
        else:
            waiting[commit.patch].append(commit)
    return cancelled


def _said_reverts(
    commits: Sequence[Commit], cancelled: set[str], found: defaultdict[str, list[Related]]
) -> None:
    """What messages call a revert and patches do not bear out in full: part of it may stay."""
    seen: list[Commit] = []
    for commit in commits:
        if commit.id not in cancelled:
            for undone in _named(commit, seen):
                if undone.id in cancelled or not _share_files(commit, undone):
                    continue
                said = "its message says so, and the patches do not undo each other in full"
                found[commit.id].append(
                    Related(relation=Relation.PARTLY_REVERTS, commit=undone.id, said=said)
                )
                found[undone.id].append(
                    Related(relation=Relation.PARTLY_REVERTED, commit=commit.id, said=said)
                )
        seen.append(commit)


def _named(commit: Commit, earlier: Sequence[Commit]) -> list[Commit]:
    """Earlier commits that the message says it reverts: by id, by title or by number."""
    text = f"{commit.title}\n{commit.message}"
    ids = _REVERTS.findall(text)
    title = _TITLE.match(_OWN_NUMBER.sub("", commit.title)) or _TITLE.match(commit.title)
    wanted = _OWN_NUMBER.sub("", title[1]).strip() if title else ""
    numbers = {f"#{n}" for n in _NUMBERED.findall(commit.title)} - {commit.number}
    return [
        c
        for c in earlier
        if any(c.id.startswith(i) for i in ids)
        or (wanted and _OWN_NUMBER.sub("", c.title).strip() == wanted)
        or (c.number and c.number in numbers)
    ]


def _share_files(one: Commit, two: Commit) -> bool:
    return bool({p for f in one.files for p in f.paths} & {p for f in two.files for p in f.paths})


def _same_patches(commits: Sequence[Commit], found: defaultdict[str, list[Related]]) -> None:
    first: dict[str, Commit] = {}
    by_id = {c.id: c for c in commits}
    for commit in commits:
        if commit.patch and commit.patch != commit.inverse:
            other = first.setdefault(commit.patch, commit)
            if other is not commit:
                said = "both change the same lines in the same way"
                found[commit.id].append(Related(relation=Relation.SAME_PATCH, commit=other.id, said=said))
                continue
        for picked in _PICKED.findall(commit.message):
            source = next((c for i, c in by_id.items() if i.startswith(picked)), None)
            if source is not None and source is not commit:
                said = "its message says that it was picked from there"
                found[commit.id].append(Related(relation=Relation.SAME_PATCH, commit=source.id, said=said))

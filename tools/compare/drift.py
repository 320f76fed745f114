"""What upstream changed in a body that a copy of it did not take: three-way, statement by statement.

A change from base to target counts only where the copy still has base's statements around it. What the plugin
rewrote on purpose is its own business; what it copied and left behind is drift.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from tools.compare.statements import Act, Statement

_COPY = 0.4
"""Share of base's statements the copy must have to be called one."""
_NEAR = 3
"""Statements. How far apart the two sides of an insertion may lie in the copy."""
_WORD = re.compile(r"[A-Za-z_]\w*")
_WIDE = ("int64", "float32", "float64")
_ELSEWHERE = re.compile(
    r"rocm|xpu|tpu|is_cpu|aiter|cpu_|_cpu|hpu|gfx9|blackwell|sm100|sm_100|trtllm|flashinfer", re.I
)
"""Words of statements that serve another device."""


@dataclass(frozen=True, slots=True)
class Lag:
    """One change the copy lacks. ``at`` is the plugin line where it belongs."""

    removed: tuple[Statement, ...]
    """Of base, still in the copy."""
    added: tuple[Statement, ...]
    """Of target, absent from the copy."""
    at: int

    @property
    def widened(self) -> bool:
        """Upstream computes in a wider type: the copy overflows, or loses precision."""
        new, old = " ".join(s.key for s in self.added), " ".join(s.key for s in self.removed)
        return bool(old) and any(w in new and w not in old for w in _WIDE)

    @property
    def weight(self) -> int:
        """How likely somebody notices: 1 a change of logic, up to 5."""
        if self.widened:
            return 5
        return max((_weight(s) for s in (*self.added, *self.removed)), default=0)

    @property
    def elsewhere(self) -> bool:
        """True when all of it serves another device."""
        return all(_ELSEWHERE.search(s.text) for s in (*self.added, *self.removed))


_WEIGHTS = {
    Act.REFUSE: 4,
    Act.STORE: 4,
    Act.RETURN: 5,
    Act.DEFAULT: 4,
    Act.CALL: 3,
    Act.BRANCH: 2,
    Act.ASSIGN: 1,
}


def _weight(statement: Statement) -> int:
    return _WEIGHTS[statement.act]


def lags(
    base: Sequence[Statement],
    target: Sequence[Statement],
    copy: Sequence[Statement],
    names: Mapping[str, str],
) -> tuple[Lag, ...]:
    """Changes from ``base`` to ``target`` that ``copy`` lacks; () when it is no copy of base.

    ``names`` maps the plugin's names for classes to upstream's.
    """
    # The default of a new parameter is no drift of the body: whether callers pass it is another check's question.
    defaulted = {s.key.partition("=")[0] for s in base if s.act is Act.DEFAULT}
    target = [s for s in target if s.act is not Act.DEFAULT or s.key.partition("=")[0] in defaulted]
    old, new = [s.key for s in base], [s.key for s in target]
    own = [_translated(s.key, names) for s in copy]
    present = set(own)
    if not old or sum(k in present for k in old) < _COPY * len(old):
        return ()
    position = _positions(old, own)
    before, after = set(old), set(new)
    out = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        gone = [i for i in range(i1, i2) if old[i] not in after]
        came = [j for j in range(j1, j2) if new[j] not in before]
        missing = [j for j in came if new[j] not in present]
        if 2 * len(missing) < len(came) or (not gone and not missing):
            continue
        kept = [i for i in gone if i in position]
        if gone:
            if 2 * len(kept) < len(gone) or not kept:
                continue
            at = copy[position[kept[0]]].line
        else:
            anchor = _between(position, i1, len(old))
            if anchor is None:
                continue
            at = copy[anchor].line
        out.append(Lag(tuple(base[i] for i in kept), tuple(target[j] for j in missing), at))
    return tuple(out)


def _translated(key: str, names: Mapping[str, str]) -> str:
    return _WORD.sub(lambda m: names.get(m[0], m[0]), key) if names else key


def _positions(old: Sequence[str], own: Sequence[str]) -> dict[int, int]:
    """Index in base -> index in the copy, for statements both have in the same order."""
    out = {}
    for block in SequenceMatcher(None, old, own, autojunk=False).get_matching_blocks():
        for offset in range(block.size):
            out[block.a + offset] = block.b + offset
    return out


def _between(position: Mapping[int, int], index: int, size: int) -> int | None:
    """Where in the copy something between base's ``index - 1`` and ``index`` belongs; None when that is not clear."""
    left, right = position.get(index - 1), position.get(index)
    if index == 0:
        return right
    if index == size:
        return left
    if left is None or right is None:
        return None
    return left if right - left <= _NEAR else None

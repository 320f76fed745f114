"""Copied bodies behind their counterparts, worked out once for all checks that tell of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tools.checks.base import Context
from tools.code.records import Function
from tools.code.world import Kind, Resolution
from tools.compare.counterparts import Counterpart, Counterparts, How
from tools.compare.drift import Lag, lags
from tools.compare.statements import Act, Statement, statements
from tools.findings import Certainty


@dataclass(frozen=True, slots=True)
class Drift:
    """A plugin function whose original changed without it."""

    row: Counterpart
    function: Function
    base: Resolution
    target: Resolution
    lags: tuple[Lag, ...]
    copies: int
    """How many functions of the plugin copy the same original; ``lagging`` of them lag."""
    lagging: int

    @property
    def weight(self) -> int:
        """Of the change most likely to be noticed."""
        return max(lag.weight for lag in self.lags)

    @property
    def refuses_only(self) -> bool:
        """All it lacks are checks that raise, and conditions around them."""
        acts = {s.act for lag in self.lags for s in lag.added}
        removed = any(lag.removed for lag in self.lags)
        return Act.REFUSE in acts and acts <= {Act.REFUSE, Act.BRANCH} and not removed


def counterparts_of(context: Context) -> Counterparts | None:
    """Counterparts in both versions; None in the run against base."""
    if context.before is None:
        return None
    found = context.shared.get("counterparts")
    if not isinstance(found, Counterparts):
        found = Counterparts(context.before.world, context.world, context.patches)
        context.shared["counterparts"] = found
    return found


def drifts_of(context: Context) -> tuple[Drift, ...]:
    """Every copied function that lags, in the order of the plugin."""
    counterparts = counterparts_of(context)
    if counterparts is None:
        return ()
    found = context.shared.get("drifts")
    if not isinstance(found, tuple):
        found = context.shared["drifts"] = tuple(_find(context, counterparts))
    return found


def _find(context: Context, counterparts: Counterparts) -> list[Drift]:
    assert context.before is not None
    before, world = context.before.world, context.world
    found: list[tuple[Counterpart, Function, Resolution, Resolution, tuple[Lag, ...]]] = []
    copies: dict[str, int] = defaultdict(int)
    for row in counterparts.rows:
        if row.base is None or row.target is None or row.symbol.kind is not Kind.FUNCTION:
            continue
        if row.base.kind is not Kind.FUNCTION or row.target.kind is not Kind.FUNCTION:
            continue
        was, now = before.function_record(row.base), world.function_record(row.target)
        own = world.function_record(row.symbol)
        if was is None or now is None or own is None or own.is_stub:
            continue
        if was.text_hash == now.text_hash:
            continue
        if own.text_hash == now.text_hash or counterparts.took_all(row):
            copies[row.target.id] += 1
            continue
        mine = statements(context.plugin, row.symbol.module, own)
        old = statements(context.before.upstream, row.base.module, was)
        new = statements(context.upstream, row.target.module, now)
        behind = lags(old, new, mine, counterparts.names)
        present = {s.key for s in mine}
        if sum(s.key in present for s in new) >= 0.4 * max(1, len(new)) or behind:
            copies[row.target.id] += 1
        if behind:
            found.append((row, own, row.base, row.target, behind))
    lagging: dict[str, int] = defaultdict(int)
    for entry in found:
        lagging[entry[3].id] += 1
    return [
        Drift(row, own, base, target, behind, copies[target.id], lagging[target.id])
        for row, own, base, target, behind in found
    ]


def shown(items: tuple[Statement, ...], most: int = 3) -> str:
    """Statements as a message shows them."""
    ranked = sorted(items, key=lambda s: s.act not in (Act.RETURN, Act.STORE, Act.REFUSE, Act.CALL))
    texts = [f"`{s.text if len(s.text) <= 90 else s.text[:87] + '…'}`" for s in ranked[:most]]
    more = len(items) - most
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def sureness(drift: Drift) -> Certainty:
    """A patched function or a copy with the same name leaves no doubt; the rest is as sure as its match."""
    if drift.row.how in (How.PATCH, How.PATH):
        return Certainty.LIKELY
    return max(drift.row.certainty, Certainty.LIKELY, key=lambda c: c.rank)

"""What to do with a registration or patch, and why: computed from what is known of it, never from its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tools.findings import Activation, Decision


@dataclass(slots=True)
class Facts:
    """What the inventory found out about one row."""

    status: Activation
    condition: str = ""
    rival: str = ""
    """The registration of the same key that is in force instead, with its place."""
    same_class: bool = False
    """That rival registers the same class."""
    rival_runs: bool = False
    """It runs at start, this one does not."""
    gone: bool = False
    """Upstream has nothing of this name any more."""
    counterpart: bool = False
    empty: bool = False
    """Derives from its counterpart and defines nothing."""
    equal: bool = False
    """Has the same statements as its counterpart."""
    extension: str = ""
    """Extension point of upstream that does the same."""
    drops: str = ""
    """What of upstream's the statement throws away."""
    late: str = ""
    """A combination that is refused only when weights exist already."""
    changed: Sequence[str] = field(default=())
    """What upstream changed between base and target that this has a version of its own of."""
    compared: bool = False
    """There was a base to compare with."""


def decide(facts: Facts) -> tuple[Decision, str]:
    """The decision and its reason in a sentence."""
    if facts.status is Activation.LOST:
        return Decision.UPDATE, f"it is not made: {facts.condition}"
    if facts.status is Activation.INACTIVE:
        if facts.rival or facts.gone:
            why = f"{facts.rival} is in force" if facts.rival else "its target does not exist"
            return Decision.REMOVE, f"nothing imports it, and {why}"
        return Decision.UPDATE, "nothing imports it: import it where its neighbours are, or delete it"
    if facts.rival:
        if facts.same_class:
            return Decision.RETAIN, f"{facts.rival} registers the same class: redundant, and harmless"
        if facts.rival_runs:
            return Decision.UPDATE, f"as soon as its module is imported it replaces {facts.rival}"
        return Decision.REMOVE, f"{facts.rival} is in force instead"
    if facts.gone:
        return Decision.UPDATE, "upstream has nothing of this name"
    if facts.extension:
        return Decision.MIGRATE, f"upstream has an extension point for it: {facts.extension}"
    if facts.drops:
        return Decision.UPDATE, facts.drops
    if facts.empty:
        return Decision.REMOVE, "it defines nothing of its own: without it upstream's class does the same"
    if facts.equal:
        return Decision.REMOVE, "it has the same statements as upstream's own"
    if facts.late:
        return Decision.REJECT, f"reject early: {facts.late}"
    if facts.changed:
        names = ", ".join(f"`{n}`" for n in facts.changed)
        return Decision.UPDATE, f"upstream changed {names}, of which this has its own version: merge it"
    if not facts.counterpart:
        return Decision.RETAIN, "it stands for nothing of upstream's"
    if not facts.compared:
        return Decision.RETAIN, "upstream has its counterpart; the bodies were not compared"
    return Decision.RETAIN, "what it has its own version of is the same in base and target"

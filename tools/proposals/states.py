"""What a proposal is: edits for one symbol of the plugin, with the state that says how far to trust them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from tools.compare.counterparts import Counterpart
from tools.merge.structural import Clash
from tools.merge.text import Edit


class State(StrEnum):
    """From safest to what nobody can decide but a person."""

    CHECKED = "clean and checked"
    """A plain copy that follows its original: it parses, its names resolve, and the checks find nothing new."""
    DOUBTFUL = "clean but doubtful"
    """Merged whole; the reasons say what to look at."""
    DIFFERENT = "deliberately different"
    """Markers cover what upstream changed, or the plugin has its own implementation: offered, not applied."""
    CONFLICT = "conflict"
    """Both sides changed the same thing; the diff shows both."""
    PRESENT = "already there"
    """The plugin has upstream's change."""
    REMOVED = "upstream removed it"
    """Target has no counterpart any more."""


OFFERED = frozenset({State.CHECKED, State.DOUBTFUL})
"""States whose edits go into the patch."""


@dataclass(frozen=True)
class Proposal:
    """One plugin symbol with a counterpart that upstream changed."""

    row: Counterpart
    path: str
    state: State
    reasons: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    text: str = ""
    """The merged symbol; the plugin's own sides where the state is a conflict."""
    clashes: tuple[Clash, ...] = ()
    shown: str = ""
    """What to show where there are no edits: upstream's own change."""
    held: bool = False
    """Kept out of the patch of all, because with it something breaks at once."""
    ancestor: str = field(default="")
    """Revision that the copy was merged from, when that is not base."""

    @property
    def offered(self) -> bool:
        """Whether its edits go into the patch of all."""
        return self.state in OFFERED and bool(self.edits) and not self.held

    @property
    def symbol(self) -> str:
        """Qualified name in the file."""
        return self.row.symbol.qualname

"""Which of several registrations of one key is in force once the plugin has started."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from tools.registry.sites import CUSTOM_OP, IN_TREE_OP, TORCH_OP, Registration, registrations
from tools.registry.startup import startup_of
from tools.registry.subject import Subject

FIRST_WINS = frozenset({CUSTOM_OP, IN_TREE_OP, TORCH_OP})
"""Kinds whose second registration of one key raises; in the others, the last replaces those before."""


@dataclass(frozen=True, slots=True)
class Rivals:
    """Registrations of one key that a start executes, in that order."""

    executed: tuple[Registration, ...]

    @property
    def winner(self) -> Registration | None:
        """The one in force, None when none is executed."""
        if not self.executed:
            return None
        return self.executed[0] if self.executed[0].kind in FIRST_WINS else self.executed[-1]


def rivals(subject: Subject) -> dict[tuple[str, str], Rivals]:
    """(kind, key) -> registrations that the start really executes."""
    found = subject.shared.get("rivals")
    if isinstance(found, dict):
        return found
    startup = startup_of(subject)
    executed: dict[tuple[str, str], list[tuple[int, int, Registration]]] = defaultdict(list)
    for item in registrations(subject):
        statement = startup.statement(startup.actual, item.module, item.line)
        if item.key and statement is not None:
            # Stacked decorators run from the lowest up; everything else in the order of lines.
            executed[(item.kind, item.key)].append((statement.order, item.line, item))
    result = {
        key: Rivals(tuple(item for _, _, item in sorted(items, key=lambda i: i[:2])))
        for key, items in executed.items()
    }
    subject.shared["rivals"] = result
    return result

"""When a row is about a known defect, and how an error stands beside what the maintainers did."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path

from evals.causes import speaks_of
from evals.records import ReviewRecord, Row
from evals.schema import Case, Defect
from evals.symbols import REST

NEAR = 3
"""Lines."""
VERDICTS = Path(__file__).parent / "verdicts"


class Standing(StrEnum):
    """What is known of an error finding."""

    DEFECT = "known defect"
    CHANGED = "changed by the maintainers"
    CONFIRMED = "confirmed"
    FALSE = "false"
    OPEN = "unconfirmed"

    @property
    def good(self) -> bool:
        """Whether it counts for precision."""
        return self in (Standing.DEFECT, Standing.CHANGED, Standing.CONFIRMED)


def same_symbol(one: str, other: str) -> bool:
    """Equal, or one lies inside the other. Module level is nobody's place: only lines can meet there."""
    if not one or not other or REST in (one, other):
        return False
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def at_place(row: Row, defect: Defect) -> bool:
    """Whether ``row`` is an error or warning at the defect's symbol, or within a few lines of it."""
    if row.severity == "note" or row.path != defect.file:
        return False
    near = abs(row.line - defect.line) <= NEAR
    return near or any(same_symbol(s, defect.symbol) for s in row.symbols)


def finds(row: Row, defect: Defect) -> bool:
    """Whether ``row`` is at the defect's place, for a cause that matches."""
    return at_place(row, defect) and speaks_of(row.family, defect.cause)


def changed(row: Row, record: ReviewRecord) -> bool:
    """Whether the maintainers changed the symbol of ``row`` between the reviewed revision and the settled one."""
    return row.resolved in record.changes.get(row.path, ())


def standing(
    row: Row, record: ReviewRecord, defects: Sequence[Defect], verdicts: dict[str, str] | None = None
) -> Standing:
    """Of an error. A person's verdict wins over what the history suggests."""
    verdict = (verdicts or {}).get(row.id) if row.id else None
    if verdict == "false":
        return Standing.FALSE
    if any(finds(row, d) for d in defects):
        return Standing.DEFECT
    if verdict == "confirmed":
        return Standing.CONFIRMED
    return Standing.CHANGED if changed(row, record) else Standing.OPEN


def verdicts_for(case: Case, target: str, folder: Path = VERDICTS) -> dict[str, str]:
    """Finding id -> ``confirmed`` or ``false``, judged on this plugin against ``target``.

    A finding's id is the same at every commit where the same thing is wrong, so one verdict serves a whole case.
    """
    known: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        judged = json.loads(path.read_text(encoding="utf-8"))
        if judged["plugin"].partition("@")[0] == case.plugin and judged["target"] == f"vllm=={target}":
            known |= {row["id"]: row["verdict"] for row in judged["verdicts"]}
    return known


def best(standings: Iterable[Standing]) -> Standing:
    """One claim made by several reviews of a case is what the best-informed of them says; FALSE wins over all."""
    found = set(standings)
    order = (Standing.FALSE, Standing.DEFECT, Standing.CONFIRMED, Standing.CHANGED, Standing.OPEN)
    return next(s for s in order if s in found)

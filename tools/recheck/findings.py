"""What became of the findings of an earlier report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tools.code.tree import Tree
from tools.findings import Finding, Frozen, Status, Unresolved


class Fate(Frozen):
    """One earlier finding now. ``why`` says what the status rests on."""

    id: str
    check: str
    path: str
    symbol: str
    message: str
    status: Status
    why: str = ""


def fates(
    earlier: Iterable[Finding],
    now: Mapping[str, Finding],
    failed: Iterable[str],
    undecided: Sequence[Unresolved],
    plugin: Tree,
) -> list[Fate]:
    """Status of each of ``earlier``. ``now`` maps ids to present findings; ``failed`` names checks that broke
    down, ``undecided`` holds what they could not decide.

    Still present: the same finding. Partly fixed: another place of the same cause is left. Masked: it could not
    be seen whether it is there, because its check failed or cannot decide now, or its file cannot be read. Fixed:
    none of these.
    """
    broken = {entry.partition(":")[0] for entry in failed}
    causes: dict[tuple[str, str], list[Finding]] = {}
    for finding in now.values():
        if finding.cause:
            causes.setdefault((finding.check, finding.cause), []).append(finding)
    out = []
    for finding in earlier:
        status, why = _status(finding, now, causes, broken, undecided, plugin)
        out.append(
            Fate(
                id=finding.id,
                check=finding.check,
                path=finding.path,
                symbol=finding.symbol,
                message=finding.message,
                status=status,
                why=why,
            )
        )
    return out


def _status(
    finding: Finding,
    now: Mapping[str, Finding],
    causes: Mapping[tuple[str, str], list[Finding]],
    broken: set[str],
    undecided: Sequence[Unresolved],
    plugin: Tree,
) -> tuple[Status, str]:
    if finding.id in now:
        return Status.PRESENT, ""
    if finding.check in broken:
        return Status.MASKED, f"{finding.check} failed this time"
    module = plugin.modules_at.get(finding.path)
    record = plugin.modules.get(module) if module is not None else None
    if record is not None and record.error:
        return Status.MASKED, f"{finding.path} cannot be read: {record.error}"
    for row in undecided:
        if (row.check, row.path, row.symbol) == (finding.check, finding.path, finding.symbol):
            return Status.MASKED, f"{finding.check} cannot decide it this time: {row.reason}"
    left = causes.get((finding.check, finding.cause), []) if finding.cause else []
    if left:
        return Status.PARTLY_FIXED, f"the same cause is left at {left[0].path}:{left[0].line}"
    return Status.FIXED, ""

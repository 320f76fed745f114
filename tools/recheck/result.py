"""A recheck as data and as a short text."""

from __future__ import annotations

from collections import Counter

from tools.checks.engine import CheckResult
from tools.findings import Finding, Frozen, Report, Status
from tools.recheck.differences import Account, Difference, differences
from tools.recheck.findings import Fate, fates
from tools.review import Trees, run_checks

_SHOWN = 200


class RecheckResult(Frozen):
    """``new`` are findings that the earlier report has not."""

    fates: tuple[Fate, ...]
    new: tuple[Finding, ...]
    differences: tuple[Difference, ...]
    checks_failed: tuple[str, ...]

    @property
    def unaccounted(self) -> tuple[Difference, ...]:
        """Differences that nothing explains."""
        return tuple(d for d in self.differences if d.account is Account.UNACCOUNTED)

    @property
    def open(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.new or self.unaccounted) or any(f.status is not Status.FIXED for f in self.fates)


def recheck(trees: Trees, earlier: Report) -> RecheckResult:
    """The plugin as it is now against the same target as in ``earlier``."""
    result: CheckResult = run_checks(trees)
    now = {f.id: f for f in result.findings}
    known = {f.id for f in earlier.findings}
    return RecheckResult(
        fates=tuple(fates(earlier.findings, now, result.checks_failed, result.unresolved, trees.plugin)),
        new=tuple(f for f in result.findings if f.id not in known),
        differences=tuple(differences(trees.context())),
        checks_failed=result.checks_failed,
    )


def as_text(result: RecheckResult) -> str:
    """Markdown: what is left first, then counts."""
    lines = ["# Recheck", ""]
    statuses = Counter(str(f.status) for f in result.fates)
    lines.append("Earlier findings: " + (_counts(statuses) or "none") + ".")
    lines.append("Symbols: " + _counts(Counter(str(d.account) for d in result.differences)) + ".")
    lines.append(f"New findings: {len(result.new)}.")
    for title, rows in (
        ("New findings", [f"`{f.path}:{f.line}` {f.check}: {f.message}" for f in result.new]),
        (
            "Earlier findings that are left",
            [
                f"`{f.path}` `{f.symbol}` {f.check}: **{f.status}**. {f.message}"
                + (f" ({f.why})" if f.why else "")
                for f in result.fates
                if f.status is not Status.FIXED
            ],
        ),
        ("Differences from target that nothing accounts for", [_difference(d) for d in result.unaccounted]),
        ("Checks that failed", list(result.checks_failed)),
    ):
        if rows:
            lines += ["", f"## {title}", "", *(f"- {row}" for row in rows[:_SHOWN])]
            if len(rows) > _SHOWN:
                lines.append(f"- … {len(rows) - _SHOWN} more; all are in recheck.json")
    return "\n".join(lines) + "\n"


def _counts(counter: Counter[str]) -> str:
    return ", ".join(f"{n} {name}" for name, n in sorted(counter.items()))


def _difference(row: Difference) -> str:
    if not row.symbol:
        return f"`{row.path}` cannot be read"
    at = (
        f", lines {', '.join(map(str, row.lines[:12]))}{' …' if len(row.lines) > 12 else ''}"
        if row.lines
        else ""
    )
    lacks = f", {row.missing} lines of target are not there" if row.missing else ""
    return f"`{row.path}` `{row.symbol}` against `{row.counterpart}`{at}{lacks}"

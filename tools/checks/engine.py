"""Runs every check against base and against target, and says which findings the upgrade introduced."""

from __future__ import annotations

import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from tools.checks.base import Check, Context
from tools.code.reading import Progress
from tools.findings import Attribution, Evidence, Finding, Frozen, Severity, Unresolved, short_hash


class CheckResult(Frozen):
    """What all checks found. ``timings`` in seconds by check id, both runs together."""

    findings: tuple[Finding, ...]
    unresolved: tuple[Unresolved, ...]
    evidence: tuple[Evidence, ...]
    checks: tuple[str, ...]
    checks_failed: tuple[str, ...]
    timings: dict[str, float]


@contextmanager
def type_checker(target: Context) -> Iterator[None]:
    """Have ty look at both versions while the checks run, and leave no process behind."""
    waiting = [c.start_type_checker() for c in (target.before, target) if c is not None]
    try:
        yield
    finally:
        for wait in waiting:
            with suppress(Exception):  # a check that needed the rows has reported the failure
                wait()


def run_all(checks: Iterable[Check], target: Context, progress: Progress | None = None) -> CheckResult:
    """Findings against target, each marked 'introduced' or 'there before' by the same check on base."""
    base = target.before
    assert base is not None, "the target's context must know the base's"
    findings: list[Finding] = []
    unresolved: list[Unresolved] = []
    failed: list[str] = []
    timings: dict[str, float] = {}
    checks = list(checks)
    for done, check in enumerate(checks):
        if progress is not None:
            progress(f"check {check.id}", done, len(checks))
        started = time.perf_counter()
        try:
            results = list(check.run(target))
            before = _found_before(check, base, [r for r in results if isinstance(r, Finding)])
        except Exception as exc:  # noqa: BLE001 - a tool border: one broken check must not cost the others
            where = traceback.extract_tb(exc.__traceback__)[-1]
            failed.append(f"{check.id}: {type(exc).__name__}: {exc} ({where.name}, line {where.lineno})")
            continue
        finally:
            timings[check.id] = time.perf_counter() - started
        for finding in _numbered(r for r in results if isinstance(r, Finding)):
            old = finding.id in before
            attribution = finding.attribution
            if old and attribution is Attribution.REGRESSION:
                attribution = Attribution.EXISTING
            findings.append(
                finding.model_copy(
                    update={
                        "introduced": not old,
                        "attribution": attribution,
                        "since": _since(target, old),
                    }
                )
            )
        unresolved += [r for r in results if isinstance(r, Unresolved)]
    findings = _related(_without_echoes(findings))
    cited = {e for f in findings for e in f.evidence}
    evidence = {**base.evidence, **target.evidence}
    return CheckResult(
        findings=tuple(sorted(findings, key=lambda f: f.sort_key)),
        unresolved=tuple(sorted(unresolved, key=lambda u: (u.check, u.path, u.line, u.subject))),
        evidence=tuple(sorted((evidence[e] for e in cited), key=lambda e: e.id)),
        checks=tuple(c.id for c in checks),
        checks_failed=tuple(failed),
        timings=timings,
    )


def _found_before(check: Check, base: Context, findings: list[Finding]) -> set[str]:
    """Ids of those that the check reports against base too. Ids hold the path, so other files do not matter."""
    if not findings:
        return set()
    modules = [base.plugin.modules_at.get(f.path) for f in findings]
    known = frozenset(m for m in modules if m is not None)
    base.focus = known if len(known) == len(set(modules)) else None
    try:
        return {f.id for f in _numbered(r for r in check.run(base) if isinstance(r, Finding))}
    finally:
        base.focus = None


def _since(target: Context, old: bool) -> str:
    if old:
        return f"{target.version('base')} or earlier"
    return f"between {target.version('base')} and {target.version('target')}"


def _numbered(findings: Iterable[Finding]) -> list[Finding]:
    """Findings alike in check, place and key are told apart by their order."""
    seen: Counter[str] = Counter()
    out = []
    for finding in sorted(findings, key=lambda f: (f.path, f.line, f.id)):
        seen[finding.id] += 1
        if seen[finding.id] > 1:
            finding = finding.model_copy(update={"id": "F" + short_hash(finding.id, str(seen[finding.id]))})
        out.append(finding)
    return out


def _without_echoes(findings: list[Finding]) -> list[Finding]:
    """One fault, one finding: where several checks give one line the same cause, the worst report stays."""
    best: dict[tuple[str, int, str], Finding] = {}
    for finding in sorted(findings, key=lambda f: (f.severity.rank, f.certainty.rank, f.check, f.id)):
        best.setdefault((finding.path, finding.line, finding.cause or finding.id), finding)
    return [f for f in findings if f.check == best[(f.path, f.line, f.cause or f.id)].check]


def _related(findings: list[Finding]) -> list[Finding]:
    by_cause: dict[str, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.cause:
            by_cause[finding.cause].append(finding.id)
    return [
        f.model_copy(update={"related": tuple(sorted(i for i in by_cause[f.cause] if i != f.id))})
        if len(by_cause.get(f.cause, ())) > 1
        else f
        for f in findings
    ]


def worst(findings: Iterable[Finding]) -> Severity | None:
    """The worst severity among ``findings``."""
    ranked = sorted(findings, key=lambda f: f.severity.rank)
    return ranked[0].severity if ranked else None

"""Stands in for ``tools.review``: findings are lines that say ``BREAKS severity name``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.report.rules import RuleInfo
from tools.findings import (
    Attribution,
    Certainty,
    Coverage,
    Decision,
    Evidence,
    Finding,
    Frozen,
    InventoryRow,
    Severity,
    Unresolved,
    short_hash,
)
from tools.profiles import Profile
from tools.sources.snapshot import Snapshot


@dataclass(frozen=True)
class Trees:
    """The three sources."""

    plugin: Snapshot
    base: Snapshot
    target: Snapshot
    notes: tuple[str, ...] = ()


class InventoryResult(Frozen):
    """Rows and their evidence."""

    rows: tuple[InventoryRow, ...]
    evidence: tuple[Evidence, ...]


class CompareResult(Frozen):
    """What stayed the same."""

    counterparts: tuple[dict[str, Any], ...]
    unchanged: tuple[str, ...]


class CheckResult(Frozen):
    """What the checks found."""

    findings: tuple[Finding, ...]
    unresolved: tuple[Unresolved, ...]
    evidence: tuple[Evidence, ...]
    checks: tuple[str, ...]
    checks_failed: tuple[str, ...]
    timings: dict[str, float]


def load_trees(
    plugin: Snapshot, base: Snapshot, target: Snapshot, profile: Profile, cache: Path, progress: Any
) -> Trees:
    """Reads nothing yet."""
    if os.environ.get("FAKE_FAULT"):
        raise RuntimeError("a fault at https://user:secret@host/x")
    return Trees(plugin, base, target)


def take_inventory(trees: Trees) -> InventoryResult:
    """One row per file."""
    rows = tuple(
        InventoryRow(
            kind="file",
            key=path,
            path=path,
            line=1,
            symbol="",
            activation="active",
            effective=path,
            counterpart="",
            difference="",
            decision=Decision.RETAIN,
            evidence=(),
        )
        for path in trees.plugin.paths()
        if path.endswith(".py")
    )
    return InventoryResult(rows=rows, evidence=())


def compare(trees: Trees) -> CompareResult:
    """Files equal in both versions."""
    both = set(trees.base.paths()) & set(trees.target.paths())
    same = sorted(path for path in both if trees.base.blob(path) == trees.target.blob(path))
    return CompareResult(counterparts=(), unchanged=tuple(same))


def run_checks(trees: Trees, progress: Any) -> CheckResult:
    """A finding for each line that asks for one."""
    findings, evidence = [], []
    paths = [path for path in trees.plugin.paths() if path.endswith(".py")]
    for done, path in enumerate(paths):
        progress("checking", done, len(paths))
        for number, line in enumerate(trees.plugin.read(path).decode().splitlines(), 1):
            if not line.startswith("# BREAKS "):
                continue
            _, _, severity, name = line.split()
            key = short_hash(path, name)
            evidence.append(
                Evidence(
                    id=f"ev-{key}",
                    kind="source",
                    source="plugin",
                    path=path,
                    lines=(number, number),
                    excerpt=line,
                )
            )
            findings.append(
                Finding(
                    id=f"FAK001-{key}",
                    check="FAK001",
                    path=path,
                    line=number,
                    symbol=name,
                    severity=Severity(severity),
                    certainty=Certainty.CERTAIN,
                    introduced=True,
                    message=f"{name} is gone",
                    trigger="Importing it.",
                    consequence="It fails.",
                    evidence=(f"ev-{key}",),
                    attribution=Attribution.REGRESSION,
                    decision=Decision.UPDATE,
                    level="source-inspected",
                )
            )
    return CheckResult(
        findings=tuple(findings),
        unresolved=(),
        evidence=tuple(evidence),
        checks=("FAK001",),
        checks_failed=("FAK001: out of luck",) if os.environ.get("FAKE_FAILED") else (),
        timings={"check FAK001": 0.1},
    )


def coverage(trees: Trees, result: CheckResult) -> Coverage:
    """Counts files."""
    return Coverage(
        plugin_files=len(trees.plugin.paths()), checks=result.checks, checks_failed=result.checks_failed
    )


def rules() -> Mapping[str, RuleInfo]:
    """Documentation of the only check."""
    return {"FAK001": RuleInfo(title="A line that says it breaks", help="Reads comments.")}

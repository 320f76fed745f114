"""Runs one review in a process of its own: ``python -m evals.worker JOB RECORD``.

One review a process: memory is given back at its end, its peak is its own, and a crash loses nothing else.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from evals.baselines import BASELINES, ToolMissing
from evals.merging import merged_symbols
from evals.records import MergedSymbol, NeedsWork, RangeAudit, ReviewRecord, Row, ToolRun
from evals.symbols import REST, FileSymbols, file_symbols, symbol_changes
from tools.checks.base import Context
from tools.checks.engine import CheckResult
from tools.code.tree import Tree
from tools.code.typecheck import TypeCheckError
from tools.findings import Finding, Meaning
from tools.history.audit import anchors_of, open_upstream
from tools.history.gitlog import count_of
from tools.merge.ancestors import GitHistory
from tools.profiles import load_profile
from tools.results import own_code
from tools.review import Trees, audit_commits, compare, load_trees, run_checks, take_inventory
from tools.sources.snapshot import Snapshot
from tools.sources.spec import Role, open_source


def run(job: dict[str, Any]) -> ReviewRecord:
    """The review that ``job`` describes (see :func:`evals.replay.job_of`)."""
    profile, cache = load_profile(job["profile"]), Path(job["cache"])

    def opened(spec: str, role: Role) -> Snapshot:
        return open_source(spec, role=role, profile=profile, python=None, cache=cache, offline=job["offline"])

    plugin, settled = opened(job["plugin"], "plugin"), opened(job["settled"], "plugin")
    base, target = opened(job["base"], "base"), opened(job["target"], "target")
    started = time.perf_counter()
    trees = load_trees(plugin, base, target, profile, cache)
    checks, merges = "checks" in job["part"], "merges" in job["part"]
    result = run_checks(trees) if checks or merges else None
    wall = time.perf_counter() - started
    peak = _peak()
    places = _Places(trees.plugin)
    changes = symbol_changes(plugin, settled, profile.plugin_package) if checks else {}
    findings = tuple(_row(f, places) for f in result.findings) if result and checks else ()
    return ReviewRecord(
        code=own_code(),
        findings=findings,
        unresolved=len(result.unresolved) if result else 0,
        checks_failed=result.checks_failed if result else (),
        wall=round(wall, 2),
        peak_mib=round(peak, 1),
        baselines={name: _baseline(name, trees, cache, places) for name in job["part"] if name in BASELINES},
        changes={p: tuple(s) for p, s in changes.items()},
        symbols=sum(len(places.file(path).digests) for path in trees.plugin.paths.values()) if checks else 0,
        symbols_changed=sum(len(s) for s in _existing(changes, places).values()),
        settled=job["settled_revision"],
        needs=_needs(trees, findings, changes, places) if checks and job["whole"] else None,
        merging=_merging(trees, settled, result, job) if result and merges else None,
        audit=_audit(trees, job) if "audit" in job["part"] else None,
    )


def _merging(
    trees: Trees, settled: Snapshot, result: CheckResult, job: dict[str, Any]
) -> tuple[MergedSymbol, ...]:
    folder, _, revision = str(job.get("history", "")).rpartition("@")
    history = GitHistory(Path(folder), revision) if folder else None
    known = frozenset(f.id for f in result.findings)
    return tuple(merged_symbols(trees.context(), settled, known, history))


_WORK = (Meaning.MERGE, Meaning.DEPENDENCY)


def _audit(trees: Trees, job: dict[str, Any]) -> RangeAudit | None:
    """The audit of the commits from base to target; None where no clone of upstream was named."""
    folder = str(job.get("history", "")).rpartition("@")[0]
    if not folder or not job.get("target_commit"):
        return None
    begun = time.perf_counter()
    cache, repository = Path(job["cache"]), open_upstream(Path(folder))
    base, target = trees.base.snapshot, trees.target.snapshot
    anchors = anchors_of(repository, job["target_commit"], base, target, trees.profile, cache)
    found = audit_commits(trees, Path(folder), anchors, take_inventory(trees).rows)
    needs: dict[str, set[str]] = {}
    for row in found.dispositions:
        for symbol in row.symbols if row.disposition in _WORK else ():
            module, _, name = symbol.partition(":")
            path = trees.plugin.paths.get(module)
            if path is not None:
                needs.setdefault(path, set()).add(name)
    return RangeAudit(
        commits=count_of(repository, anchors["base"].commit, anchors["target"].commit),
        dispositions=len({row.commit for row in found.dispositions}),
        seconds=round(time.perf_counter() - begun, 2),
        needs={path: tuple(sorted(names)) for path, names in sorted(needs.items())},
    )


def _peak() -> float:
    own, children = (
        resource.getrusage(w).ru_maxrss for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return max(own, children) / 1024


class _Places:
    """Symbols of the plugin's files, read once each."""

    def __init__(self, tree: Tree) -> None:
        self._snapshot = tree.snapshot
        self._known = frozenset(tree.snapshot.paths())
        self._files: dict[str, FileSymbols] = {}

    def file(self, path: str) -> FileSymbols:
        if path not in self._files:
            content = self._snapshot.read(path) if path in self._known else b""
            self._files[path] = file_symbols(content) if path.endswith(".py") else FileSymbols()
        return self._files[path]

    def resolve(self, path: str, symbol: str, line: int) -> str:
        return self.file(path).resolve(symbol, line)


def _row(finding: Finding, places: _Places) -> Row:
    return Row(
        path=finding.path,
        line=finding.line,
        symbols=(finding.symbol,) if finding.symbol else (),
        family=finding.check[:3],
        message=finding.message,
        severity=str(finding.severity),
        id=finding.id,
        check=finding.check,
        introduced=finding.introduced,
        silent=finding.silent,
        resolved=places.resolve(finding.path, finding.symbol, finding.line),
    )


def _baseline(name: str, trees: Trees, cache: Path, places: _Places) -> ToolRun:
    started = time.perf_counter()
    try:
        rows = BASELINES[name](trees, cache)
    except (ToolMissing, TypeCheckError) as error:
        return ToolRun(reason=str(error))
    wall = round(time.perf_counter() - started, 2)
    return ToolRun(
        rows=tuple(
            r.model_copy(update={"resolved": places.resolve(r.path, "".join(r.symbols[:1]), r.line)})
            for r in rows
        ),
        wall=wall,
    )


def _needs(
    trees: Trees, findings: Iterable[Row], changes: dict[str, list[str]], places: _Places
) -> NeedsWork:
    """Symbols by what the report says of them. A class stands for its members only where it is named itself."""
    work: dict[str, set[str]] = {}
    same: dict[str, set[str]] = {}
    for row in findings:
        work.setdefault(row.path, set()).add(row.resolved)
    for counterpart in compare(trees).counterparts:
        side = work if counterpart.deltas else same
        side.setdefault(counterpart.path, set()).add(counterpart.symbol)
    context: Context = trees.context()
    own = {context.plugin.paths[m] for m in context.plugin.modules}
    return NeedsWork(
        work={p: tuple(sorted(s)) for p, s in sorted(work.items())},
        no_edit={
            p: tuple(sorted(s - work.get(p, set()) - {REST})) for p, s in sorted(same.items()) if p in own
        },
        changed=_existing(changes, places),
    )


def _existing(changes: dict[str, list[str]], places: _Places) -> dict[str, tuple[str, ...]]:
    """Changes of symbols that were there before."""
    return {p: tuple(s for s in changes[p] if s in places.file(p).digests) for p in sorted(changes)}


def main() -> None:
    """Read a job, leave a record; the file appears whole or not at all."""
    job_file, record_file = Path(sys.argv[1]), Path(sys.argv[2])
    record = run(json.loads(job_file.read_text(encoding="utf-8")))
    temporary = record_file.with_suffix(".part")
    temporary.write_text(record.model_dump_json(), encoding="utf-8")
    temporary.replace(record_file)


if __name__ == "__main__":
    main()

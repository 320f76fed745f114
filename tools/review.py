"""The deterministic part of a review in one place: what the graph's steps call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.bisection import Bisection
from tools.checks.base import Context, RuleInfo, all_checks
from tools.checks.drf_common import counterparts_of
from tools.checks.engine import CheckResult, run_all, type_checker
from tools.code.cache import CodeCache
from tools.code.reading import Progress, no_collector
from tools.code.tree import Tree, read_together
from tools.compare.deltas import CompareResult, compare_worlds, unchanged_symbols
from tools.findings import Coverage, Disposition, Finding, InventoryRow, short_hash
from tools.history.anchors import Anchor
from tools.history.audit import Audit, AuditResult, CitedResult, anchors_of, open_upstream
from tools.profiles import Profile
from tools.registry.inventory import InventoryResult
from tools.registry.inventory import take_inventory as inventory_of
from tools.sources.snapshot import Snapshot

Anchors = Mapping[str, Anchor]
"""``base`` and ``target``."""


@dataclass(frozen=True)
class Trees:
    """The three packages under review, read."""

    plugin: Tree
    base: Tree
    target: Tree
    profile: Profile
    notes: tuple[str, ...]
    """Things that cost time but no result, such as a cache that cannot be written."""
    cache: Path | None = None

    def context(self) -> Context:
        """The plugin against target, with base behind it; the same one every time."""
        return self._context

    @cached_property
    def _context(self) -> Context:
        versions = {
            "base": _version(self.profile, self.base.snapshot),
            "target": _version(self.profile, self.target.snapshot),
        }
        base = Context(self.plugin, self.base, self.profile, versions=versions, cache=self.cache)
        return Context(
            self.plugin, self.target, self.profile, before=base, versions=versions, cache=self.cache
        )


def _version(profile: Profile, snapshot: Snapshot) -> str:
    identity = snapshot.identity
    if identity.version:
        return f"{profile.upstream_package} {identity.version}"
    if identity.revision:
        return f"{profile.upstream_package} {identity.revision[:12]}"
    return f"{profile.upstream_package} ({identity.label})"


def load_trees(
    plugin: Snapshot,
    base: Snapshot,
    target: Snapshot,
    profile: Profile,
    cache: Path | None,
    progress: Progress | None = None,
) -> Trees:
    """Read all three. Raises SourceError when a snapshot holds no such package or a file cannot be read."""
    store = CodeCache(cache)
    package = profile.upstream_package
    try:
        with no_collector():
            read_together(
                [(plugin, profile.plugin_package), (base, package), (target, package)], store, progress
            )
            return Trees(
                Tree(plugin, profile.plugin_package, "plugin", store),
                Tree(base, package, "base", store),
                Tree(target, package, "target", store),
                profile,
                (store.note,) if store.note else (),
                cache,
            )
    finally:
        store.close()


def rules() -> Mapping[str, RuleInfo]:
    """Documentation of every check, by id."""
    return {check.id: check.info for check in all_checks()}


def run_checks(trees: Trees, progress: Progress | None = None) -> CheckResult:
    """Every check on (plugin, base) and (plugin, target)."""
    context = trees.context()
    with no_collector(), type_checker(context):
        return run_all(all_checks(), context, progress)


def take_inventory(trees: Trees) -> InventoryResult:
    """Every registration and patch of the plugin, against target."""
    with no_collector():
        return inventory_of(trees.context())


def compare(trees: Trees) -> CompareResult:
    """Counterpart of every plugin symbol with what became of it, and what stayed the same."""
    context = trees.context()
    counterparts = counterparts_of(context)
    assert counterparts is not None
    assert context.before is not None
    with no_collector():
        return compare_worlds(context.before.world, context.world, counterparts, context.patches)


def audit_key(
    repository: Path, ref: str | None, base: Snapshot, target: Snapshot, profile: Profile, cache: Path | None
) -> tuple[Anchors, str]:
    """The commits that stand for base and target, and what a kept audit of them depends on. Raises SourceError."""
    anchors = anchors_of(open_upstream(repository), ref, base, target, profile, cache)
    return anchors, short_hash(*(anchor.model_dump_json() for anchor in anchors.values()))


def audit_commits(
    trees: Trees,
    repository: Path,
    anchors: Anchors,
    inventory: Sequence[InventoryRow],
    progress: Progress | None = None,
) -> AuditResult:
    """What every upstream commit between base and target means for the plugin. Raises SourceError."""
    with closing(_audit(trees, repository, anchors, inventory, progress)) as audit:
        return audit.run(progress)


def cite_commits(
    trees: Trees,
    repository: Path,
    anchors: Anchors,
    inventory: Sequence[InventoryRow],
    findings: Sequence[Finding],
    dispositions: Sequence[Disposition],
    progress: Progress | None = None,
) -> CitedResult:
    """Findings with the commits that caused them, and the commits with their findings. Raises SourceError."""
    with closing(_audit(trees, repository, anchors, inventory, progress)) as audit:
        bisection = Bisection(trees.context(), audit.upstream.repository, progress)
        return audit.cite(findings, dispositions, bisection.narrowed)


def _audit(
    trees: Trees,
    repository: Path,
    anchors: Anchors,
    inventory: Sequence[InventoryRow],
    progress: Progress | None,
) -> Audit:
    counterparts = counterparts_of(trees.context())
    assert counterparts is not None
    return Audit.open(
        open_upstream(repository), anchors, trees.context(), counterparts, inventory, trees.cache, progress
    )


def coverage(trees: Trees, result: CheckResult) -> Coverage:
    """What was read and what was not."""
    skipped = [
        f"{tree.role}: {path}: {record.error}"
        for tree in (trees.plugin, trees.base, trees.target)
        for module, record in sorted(tree.modules.items())
        if record.error and (path := tree.paths[module])
    ]
    skipped += [f"plugin: {s.path}: {s.reason}" for s in trees.plugin.snapshot.skipped]
    context = trees.context()
    assert context.before is not None
    return Coverage(
        plugin_files=len(trees.plugin.paths),
        upstream_files_base=len(trees.base.paths),
        upstream_files_target=len(trees.target.paths),
        checks=result.checks,
        checks_failed=result.checks_failed,
        skipped=tuple(skipped),
        unresolved=len(result.unresolved),
        unchanged=unchanged_symbols(context.before.world, context.world, context.patches),
    )

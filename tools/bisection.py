"""Finds the first commit at which a check fires, where more than one commit may be the cause."""

from __future__ import annotations

from tools.checks.base import Check, Context, all_checks
from tools.code.cache import CodeCache
from tools.code.reading import Progress, no_collector
from tools.code.tree import Tree
from tools.findings import Finding
from tools.history.causes import Cause
from tools.sources.git import open_revision
from tools.sources.repository import Repository
from tools.sources.snapshot import SourceError

_TREES = 8
"""Commits whose trees are read; each takes about a second. What is left then keeps all its candidates."""
_SLOW = "type checker"
"""In the title of checks that start another program for each tree."""


class Bisection:
    """Runs single checks on upstream as it was after a commit. Trees are read once for all findings."""

    def __init__(self, context: Context, repository: Repository, progress: Progress | None = None) -> None:
        self._context, self._repository, self._progress = context, repository, progress
        self._contexts: dict[str, Context | None] = {}
        self._checks = {check.id: check for check in all_checks()}
        self._results: dict[tuple[str, str, str], frozenset[str]] = {}

    def narrowed(self, finding: Finding, causes: list[Cause]) -> list[Cause]:
        """The one of ``causes``, oldest first, after which the check fires; all of them when that is not clear."""
        check = self._checks.get(finding.check)
        if check is None or _SLOW in check.title.lower():
            return causes
        low, high = 0, len(causes) - 1
        if not self._fires(check, finding, causes[high]):
            return causes  # it takes something that lies outside of the range
        while low < high:
            middle = (low + high) // 2
            fires = self._fires(check, finding, causes[middle])
            if fires is None:
                return causes
            low, high = (low, middle) if fires else (middle + 1, high)
        return [causes[low]]

    def _fires(self, check: Check, finding: Finding, cause: Cause) -> bool | None:
        """None when the tree of that commit cannot be had."""
        commit = cause.commit.id
        context = self._at(commit)
        module = self._context.plugin.modules_at.get(finding.path)
        if context is None or module is None:
            return None
        key = (check.id, finding.path, commit)
        if key not in self._results:
            context.focus = frozenset({module})
            try:
                with no_collector():
                    found = [r for r in check.run(context) if isinstance(r, Finding)]
            finally:
                context.focus = None
            self._results[key] = frozenset(f.id for f in found) | {f"{f.symbol}\0{f.cause}" for f in found}
        return bool({finding.id, f"{finding.symbol}\0{finding.cause}"} & self._results[key])

    def _at(self, commit: str) -> Context | None:
        if commit not in self._contexts:
            if len(self._contexts) >= _TREES:
                return None
            if self._progress is not None:
                self._progress("looking for the first commit of a finding", len(self._contexts), None)
            self._contexts[commit] = self._read(commit)
        return self._contexts[commit]

    def _read(self, commit: str) -> Context | None:
        here = self._context
        store = CodeCache(here.cache)
        try:
            snapshot = open_revision(self._repository, commit, f"{self._repository.folder}@{commit[:12]}")
            tree = Tree(snapshot, here.profile.upstream_package, "target", store)
        except SourceError:
            return None  # contents that the clone lacks: the candidates stay as they are
        finally:
            store.close()
        return Context(
            here.plugin, tree, here.profile, before=here.before, versions=here.versions, cache=here.cache
        )

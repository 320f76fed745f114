"""Tiny trees for tests: what a check sees, written as dictionaries of files."""

from __future__ import annotations

from textwrap import dedent

from tools.checks.base import Context, all_checks
from tools.checks.engine import CheckResult, run_all
from tools.code.cache import CodeCache
from tools.code.tree import Tree
from tools.findings import Finding
from tools.profiles import load_profile
from tools.sources.snapshot import MemorySnapshot

Files = dict[str, str]


def tree(files: Files, package: str, role: str, version: str | None = None) -> Tree:
    """A tree of ``files`` (paths inside the package); ``__init__.py`` is added where there is none."""
    full = {"__init__.py": "", **files}
    extra = {p: c for p, c in full.items() if p.startswith("/")}
    inside = {f"{package}/{p}": dedent(c) for p, c in full.items() if not p.startswith("/")}
    # Paths with a leading slash lie at the root of the project (setup.py, pyproject.toml).
    inside |= {p[1:]: dedent(c) for p, c in extra.items()}
    return Tree(MemorySnapshot(dict(inside), label=role, version=version), package, role, CodeCache(None))


def context(plugin: Files, base: Files, target: Files, profile: str = "metax") -> Context:
    """A context for target with base behind it."""
    loaded = load_profile(profile)
    versions = {"base": "vllm 1.0", "target": "vllm 2.0"}
    own = tree(plugin, loaded.plugin_package, "plugin")
    before = Context(own, tree(base, loaded.upstream_package, "base", "1.0"), loaded, versions=versions)
    return Context(
        own, tree(target, loaded.upstream_package, "target", "2.0"), loaded, before=before, versions=versions
    )


def review(plugin: Files, base: Files, target: Files, *ids: str, profile: str = "metax") -> CheckResult:
    """All checks (or those of ``ids``) on tiny trees. A check that raises fails the test."""
    checks = [c for c in all_checks() if not ids or c.id in ids]
    assert not ids or len(checks) == len(set(ids)), f"unknown check among {ids}"
    result = run_all(checks, context(plugin, base, target, profile))
    assert not result.checks_failed, result.checks_failed
    return result


def findings(plugin: Files, base: Files, target: Files, *ids: str, profile: str = "metax") -> list[Finding]:
    """The findings of :func:`review`."""
    return list(review(plugin, base, target, *ids, profile=profile).findings)

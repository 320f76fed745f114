"""Tiny upstream repositories and what an audit says of them."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

from tests.tools.sources.helpers import make_repo, run_git, write
from tests.tools.trees import Files, tree
from tools.checks.base import Context
from tools.checks.drf_common import counterparts_of
from tools.code.cache import CodeCache
from tools.code.tree import Tree
from tools.findings import Disposition, Meaning
from tools.history.audit import Audit, AuditResult, anchors_of
from tools.history.gitlog import range_of, read_commits
from tools.history.records import Commit
from tools.profiles import load_profile
from tools.registry.inventory import take_inventory
from tools.sources.repository import Repository, find_repository
from tools.sources.spec import open_source

PROFILE = load_profile("metax")


@dataclass
class Upstream:
    """A repository that grows commit by commit."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, files: dict[str, bytes | str]) -> Upstream:
        """With one commit of ``files``."""
        return cls(make_repo(folder, {p: dedent(c) if isinstance(c, str) else c for p, c in files.items()}))

    def git(self, *arguments: str) -> str:
        return run_git(self.folder, *arguments)

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    @property
    def repository(self) -> Repository:
        found = find_repository(self.folder)
        assert found is not None
        return found

    def commit(self, message: str, files: dict[str, bytes | str] | None = None, *gone: str) -> str:
        """A commit that writes ``files`` and removes ``gone``; returns its id."""
        write(self.folder, {p: dedent(c) if isinstance(c, str) else c for p, c in (files or {}).items()})
        for path in gone:
            (self.folder / path).unlink()
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head

    def commits(self, base: str, target: str = "HEAD") -> list[Commit]:
        """Records of the range, in its order."""
        rows = range_of(self.repository, base, target)
        read = {c.id: c for c in read_commits(self.repository, rows)}
        assert len(read) == len(rows)
        return [read[commit] for commit, _ in rows]


def context_of(plugin: Files, upstream: Upstream, base: str, target: str) -> Context:
    """The plugin against two revisions of ``upstream``."""
    trees = []
    for role, revision in (("base", base), ("target", target)):
        snapshot = open_source(
            f"{upstream.folder}@{revision}",
            role=role,  # type: ignore[arg-type]
            profile=PROFILE,
            python=None,
            cache=Path("unused"),
        )
        trees.append(Tree(snapshot, "vllm", role, CodeCache(None)))
    own = tree(plugin, "vllm_metax", "plugin")
    before = Context(own, trees[0], PROFILE)
    return Context(own, trees[1], PROFILE, before=before)


def open_audit(context: Context, upstream: Upstream, cache: Path | None = None) -> Audit:
    """As the product opens it."""
    assert context.before is not None
    anchors = anchors_of(
        upstream.repository,
        None,
        context.before.upstream.snapshot,
        context.upstream.snapshot,
        PROFILE,
        cache,
    )
    counterparts = counterparts_of(context)
    assert counterparts is not None
    return Audit.open(
        upstream.repository, anchors, context, counterparts, take_inventory(context).rows, cache
    )


def audited(
    plugin: Files, upstream: Upstream, base: str, target: str = "HEAD", cache: Path | None = None
) -> AuditResult:
    """The audit of a plugin over a range."""
    target = upstream.git("rev-parse", target)
    with closing(open_audit(context_of(plugin, upstream, base, target), upstream, cache)) as audit:
        result = audit.run()
    counted = int(upstream.git("rev-list", "--count", f"{base}..{target}"))
    assert len(result.dispositions) == len({d.commit for d in result.dispositions}) == counted
    return result


def last(result: AuditResult) -> Disposition:
    """What the newest commit means."""
    return result.dispositions[-1]


def means(plugin: Files, before: Files, after: Files, tmp_path: Path, message: str = "change") -> Disposition:
    """What one commit that turns ``before`` into ``after`` means; paths are those of the repository."""
    upstream = Upstream.make(tmp_path / "upstream", {"vllm/__init__.py": "", **before})
    base = upstream.head
    upstream.commit(message, dict(after), *(p for p in before if p not in after))
    return last(audited(plugin, upstream, base))


__all__ = ["Meaning", "Upstream", "audited", "context_of", "last", "means", "open_audit"]

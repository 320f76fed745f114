"""What a check is, and what it is given.

A check is one module in this package: its docstring is its documentation page, ``ID``, ``TITLE`` and
``SEVERITY`` say what it is, and ``run(context)`` yields findings. Dropping a file here adds a check.
"""

from __future__ import annotations

import hashlib
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import tools.checks
from tools.code.infer import Inference
from tools.code.tree import Tree
from tools.code.typecheck import Diagnostic, diagnose
from tools.code.world import Resolution, World
from tools.compare.patches import Patch, find_patches
from tools.findings import (
    Attribution,
    Certainty,
    Decision,
    Evidence,
    Finding,
    Frozen,
    Level,
    Severity,
    Unresolved,
    short_hash,
)
from tools.profiles import Profile

_EXCERPT_LINES = 24
"""Longest excerpt; more is not read by anyone."""
_SURROUNDINGS = 1
"""Lines shown before and after the lines concerned."""

Result = Finding | Unresolved


class RuleInfo(Frozen):
    """A check as documentation shows it."""

    id: str
    title: str
    help: str
    severity: Severity


@dataclass(frozen=True, slots=True)
class Check:
    """One registered check."""

    id: str
    title: str
    severity: Severity
    doc: str
    run: Callable[[Context], Iterable[Result]]

    @property
    def info(self) -> RuleInfo:
        """For reports and ``metax-upgrade checks``."""
        return RuleInfo(id=self.id, title=self.title, help=self.doc, severity=self.severity)


@cache
def all_checks() -> tuple[Check, ...]:
    """Every module of this package that defines ``ID``, by id. Raises ValueError for two of one id."""
    found: dict[str, Check] = {}
    for info in pkgutil.iter_modules(tools.checks.__path__):
        module = importlib.import_module(f"{tools.checks.__name__}.{info.name}")
        check_id = getattr(module, "ID", None)
        if check_id is None:
            continue
        if check_id in found:
            raise ValueError(f"two checks have the id {check_id}")
        doc = (module.__doc__ or "").strip()
        found[check_id] = Check(check_id, module.TITLE, module.SEVERITY, doc, module.run)
    return tuple(found[key] for key in sorted(found))


class Context:
    """The plugin against one upstream tree. ``before`` is the same against base while target is examined.

    Checks that compare base with target do nothing when ``before`` is None: the engine runs every check on
    (plugin, base) too, and what it finds there was there before the upgrade.
    """

    def __init__(
        self,
        plugin: Tree,
        upstream: Tree,
        profile: Profile,
        *,
        before: Context | None = None,
        versions: dict[str, str] | None = None,
        cache: Path | None = None,
    ) -> None:
        self.plugin, self.upstream, self.profile, self.before = plugin, upstream, profile, before
        self.versions = versions or {}
        self.world = World(plugin, upstream, profile)
        self.inference = Inference(self.world)
        self.evidence: dict[str, Evidence] = {}
        self.cache = cache
        self.focus: frozenset[str] | None = None
        """Plugin modules to examine, when the engine asks only whether a finding was there before."""
        self.shared: dict[str, object] = {}
        """Results that checks share, by name; computed by whoever needs one first."""

    @property
    def role(self) -> str:
        """``base`` or ``target``."""
        return self.upstream.role

    @property
    def examined(self) -> list[str]:
        """Plugin modules that a check which looks at one after the other has to look at, sorted."""
        if self.focus is not None:
            return sorted(self.focus)
        return sorted(self.plugin.modules)

    def version(self, role: str) -> str:
        """How messages call a snapshot: ``vllm 0.26.0``."""
        return self.versions.get(role, role)

    @cached_property
    def patches(self) -> tuple[Patch, ...]:
        """Everything the plugin replaces in upstream."""
        return find_patches(self.world, self.inference)

    @cached_property
    def patched(self) -> dict[str, tuple[Patch, ...]]:
        """Dotted target -> patches, so that a check can tell what upstream names really hold at run time."""
        out: dict[str, list[Patch]] = {}
        for patch in self.patches:
            out.setdefault(patch.target, []).append(patch)
        return {target: tuple(patches) for target, patches in out.items()}

    def start_type_checker(self) -> Callable[[], tuple[Diagnostic, ...]]:
        """Run ty in the background; ``diagnostics`` waits for it. Returns what waits."""
        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ty")
        future = pool.submit(diagnose, self.plugin, self.upstream, self.cache)
        pool.shutdown(wait=False)
        self.shared["ty"] = future.result
        return future.result

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Rows of the type checker. Raises TypeCheckError when it cannot be run."""
        waiting: Callable[[], tuple[Diagnostic, ...]] | None = self.shared.get("ty")  # type: ignore[assignment]
        return waiting() if waiting is not None else diagnose(self.plugin, self.upstream, self.cache)

    # ---- evidence ----

    def cite(
        self,
        tree: Tree,
        module: str,
        line: int,
        end: int | None = None,
        *,
        level: Level = Level.SOURCE,
    ) -> str:
        """Id of evidence that quotes ``line`` to ``end`` of ``module`` as ``tree`` holds it."""
        path = tree.paths[module]
        lines = tree.lines(module)
        first = max(1, line - _SURROUNDINGS)
        last = min(len(lines), (end or line) + _SURROUNDINGS, first + _EXCERPT_LINES - 1)
        content = tree.snapshot.read(path)
        digest = hashlib.sha256(content).hexdigest()
        excerpt = "\n".join(lines[first - 1 : last])
        evidence_id = "E" + short_hash("source", tree.role, path, str(first), str(last), digest)
        self.evidence[evidence_id] = Evidence(
            id=evidence_id,
            kind="source",
            source=tree.role,
            path=path,
            lines=(first, max(first, last)),
            sha256=digest,
            excerpt=excerpt,
            level=level,
        )
        return evidence_id

    def cite_definition(self, found: Resolution, *, whole: bool = False) -> str | None:
        """Evidence that quotes the head of a definition in either tree; None for what has no lines."""
        tree = self.world.tree(found.module)
        if tree is None or found.module not in tree.paths:
            return None
        space = tree.namespace(found.module)
        record = space.functions.get(found.qualname) or space.classes.get(found.qualname)
        if record is None:
            bindings = space.names.get(found.qualname)
            line = bindings.assigns[0].line if bindings and bindings.assigns else 1
            return self.cite(tree, found.module, line)
        end = record.end_line if whole else min(record.end_line, record.line + 11)
        return self.cite(tree, found.module, record.line, end)

    def cite_absence(self, tree: Tree, module: str) -> str | None:
        """Evidence for a module that does not hold a name: its first line, and the sha256 of the whole."""
        return self.cite(tree, module, 1) if module in tree.paths else None

    def cite_command(self, tool: str, command: str, output: str) -> str:
        """Evidence that quotes what a tool printed about the plugin with this upstream."""
        evidence_id = "E" + short_hash("diagnostic", tool, self.role, command, output)
        self.evidence[evidence_id] = Evidence(
            id=evidence_id,
            kind="diagnostic",
            source=f"{tool} with {self.role}",
            command=command,
            excerpt=output,
            level=Level.SIGNATURE,
        )
        return evidence_id

    # ---- results ----

    def finding(
        self,
        check: str,
        *,
        module: str,
        line: int,
        symbol: str,
        key: str,
        severity: Severity,
        message: str,
        trigger: str,
        consequence: str,
        suggestion: str,
        evidence: Iterable[str | None],
        certainty: Certainty = Certainty.CERTAIN,
        decision: Decision = Decision.UPDATE,
        level: Level = Level.SOURCE,
        cause: str = "",
        silent: bool = False,
        attribution: Attribution = Attribution.REGRESSION,
        blast_radius: tuple[str, ...] = (),
    ) -> Finding:
        """A finding in plugin ``module``; ``key`` tells findings of one check in one symbol apart.

        ``evidence`` may hold None (what could not be cited); the plugin line itself is always cited.
        The engine sets ``introduced`` and the final ``attribution``, ``since`` and ``related``.
        """
        path = self.plugin.paths[module]
        cited = [self.cite(self.plugin, module, line), *(e for e in evidence if e is not None)]
        return Finding(
            id="F" + short_hash(check, path, symbol, key),
            check=check,
            path=path,
            line=line,
            symbol=symbol,
            severity=severity,
            certainty=certainty,
            introduced=True,
            message=message,
            trigger=trigger,
            consequence=consequence,
            suggestion=suggestion,
            evidence=tuple(dict.fromkeys(cited)),
            attribution=attribution,
            decision=decision,
            level=level,
            cause=cause,
            silent=silent,
            blast_radius=blast_radius,
        )

    def unresolved(
        self, check: str, *, module: str, line: int, symbol: str, reason: str, subject: str = ""
    ) -> Unresolved:
        """What ``check`` could not decide."""
        return Unresolved(
            check=check,
            path=self.plugin.paths[module],
            line=line,
            symbol=symbol,
            reason=reason,
            subject=subject,
        )

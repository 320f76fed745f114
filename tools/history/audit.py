"""The commit audit as one call: what each commit between base and target means, and which files differ."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tools.code.reading import Progress, no_collector
from tools.compare.counterparts import Counterparts
from tools.findings import (
    Certainty,
    Disposition,
    Evidence,
    FileRow,
    Finding,
    Frozen,
    InventoryRow,
    Meaning,
    short_hash,
)
from tools.history.anchors import Anchor, find_anchors
from tools.history.causes import Cause, Causes, since_text
from tools.history.dispositions import Dispositions, Outcome
from tools.history.filetable import file_rows
from tools.history.gitlog import patch_texts
from tools.history.reach import Reach
from tools.history.relations import relations_of
from tools.history.store import HistoryStore
from tools.history.upstream import Range, read_range
from tools.profiles import Profile
from tools.registry.subject import Subject
from tools.sources.repository import Repository, find_repository
from tools.sources.snapshot import Snapshot, SourceError

_PATCH = 6_000
"""Characters of one patch that are kept as evidence; the whole is named by its sha256 and a command."""
_PATCHES = 600_000
"""Characters of all of them."""


class AuditResult(Frozen):
    """Part of the report."""

    dispositions: tuple[Disposition, ...]
    files: tuple[FileRow, ...]
    evidence: tuple[Evidence, ...]
    anchors: tuple[Anchor, ...]
    commits: str
    """For the report's coverage: how many commits, of which range, and how it was found."""
    note: str | None = None


class CitedResult(Frozen):
    """Findings with the commits behind them, and commits with the findings that they caused."""

    findings: tuple[Finding, ...]
    dispositions: tuple[Disposition, ...]


def open_upstream(path: Path) -> Repository:
    """The repository at ``path``. Raises SourceError when there is none."""
    repository = find_repository(path) if path.is_dir() else None
    if repository is None:
        raise SourceError(
            f"--upstream-repo {path}",
            "is not a git repository" if path.is_dir() else "no such folder",
            "Give a clone of the upstream project (bare or not), with the history of both versions.",
            wrong_use=True,
        )
    return repository


def anchors_of(
    repository: Repository,
    ref: str | None,
    base: Snapshot,
    target: Snapshot,
    profile: Profile,
    cache: Path | None,
) -> dict[str, Anchor]:
    """The commits that stand for base and target. Raises SourceError."""
    with closing(HistoryStore(cache)) as store:
        return find_anchors(repository, ref, {"base": base, "target": target}, profile, store)


@dataclass
class Audit:
    """One range and one plugin. Close it: it holds the cache open."""

    subject: Subject
    anchors: Mapping[str, Anchor]
    upstream: Range
    dispositions: Dispositions
    causes: Causes

    @classmethod
    def open(
        cls,
        repository: Repository,
        anchors: Mapping[str, Anchor],
        subject: Subject,
        counterparts: Counterparts,
        inventory: Sequence[InventoryRow],
        cache: Path | None,
        progress: Progress | None = None,
    ) -> Audit:
        """Read the range. Raises SourceError when it is not all there."""
        assert subject.before is not None
        store = HistoryStore(cache)
        try:
            package = subject.profile.upstream_package
            upstream = read_range(
                repository, anchors["base"].commit, anchors["target"].commit, package, store, progress
            )
            relations = relations_of(upstream.commits, upstream.beside)
            with no_collector():
                reach = Reach(subject, counterparts, tuple(inventory))
            judged = Dispositions(upstream, reach, relations)
            causes = Causes(upstream, subject.before.upstream, subject.upstream, relations)
        except BaseException:
            store.close()
            raise
        return cls(subject, anchors, upstream, judged, causes)

    def close(self) -> None:
        """Release the cache."""
        self.upstream.store.close()

    def run(self, progress: Progress | None = None) -> AuditResult:
        """Judge every commit. Raises SourceError when a commit would be missing from the result."""
        self.upstream.read_deltas(self.dispositions.reached, progress)
        outcomes: list[Outcome] = []
        with no_collector():
            for number, commit in enumerate(self.upstream.commits):
                if progress is not None and number % 25 == 0:
                    progress("judging upstream commits", number, len(self.upstream.commits))
                outcomes.append(self.dispositions.of(commit))
        rows, evidence = self._cited(outcomes)
        if Counter(r.commit for r in rows) != Counter(c.id for c in self.upstream.commits):
            raise SourceError(
                f"{self.upstream.base[:12]}..{self.upstream.target[:12]}",
                f"{len(rows)} dispositions for {len(self.upstream.commits)} commits",
                "Report this: every commit must have exactly one.",
            )
        return AuditResult(
            dispositions=tuple(rows),
            files=file_rows(self.upstream, self.dispositions.reach, self.subject),
            evidence=tuple(evidence),
            anchors=tuple(self.anchors.values()),
            commits=self._said(rows),
            note=self.upstream.store.note,
        )

    def _said(self, rows: Sequence[Disposition]) -> str:
        how = "; ".join(anchor.said for anchor in self.anchors.values())
        short = f"{self.upstream.base[:12]}..{self.upstream.target[:12]}"
        unread = sum(c.unread for c in self.upstream.commits)
        lacking = (
            f"; of {unread} the clone lacks contents, so that their lines are not known" if unread else ""
        )
        return f"{len(rows)} of {len(self.upstream.commits)} commits of {short}; {how}{lacking}"

    # ---- patches as evidence ----

    def _cited(self, outcomes: Iterable[Outcome]) -> tuple[list[Disposition], list[Evidence]]:
        """Rows that need work cite their patch; those of other rows are one ``git show`` away."""
        by_id = {c.id: c for c in self.upstream.commits}
        rows, evidence, room = [], [], _PATCHES
        for outcome in outcomes:
            row = outcome.row
            if row.disposition.work and outcome.paths and room > 0:
                text = patch_texts(self.upstream.repository, by_id[row.commit], outcome.paths)
                item = _patch(row.commit, outcome.paths, text, min(_PATCH, room))
                room -= len(item.excerpt)
                evidence.append(item)
                row = row.model_copy(update={"evidence": (item.id,)})
            rows.append(row)
        return rows, evidence

    # ---- findings ----

    def cite(
        self,
        findings: Sequence[Finding],
        rows: Sequence[Disposition],
        bisect: Callable[[Finding, list[Cause]], list[Cause]] | None = None,
    ) -> CitedResult:
        """Fill ``since`` of findings that the upgrade introduced, and tell commits what they caused.

        ``bisect`` is asked where several commits may be the cause.
        """
        by_commit = {row.commit: row for row in rows}
        caused: dict[str, list[tuple[Finding, bool]]] = {}
        out = []
        for finding in findings:
            causes = self.causes.of_finding(finding)
            if len(causes) > 1 and bisect is not None:
                causes = bisect(finding, causes)
            if not causes:
                out.append(finding)
                continue
            sure = len(causes) == 1
            cited = [e for c in causes if c.commit.id in by_commit for e in by_commit[c.commit.id].evidence]
            out.append(
                finding.model_copy(
                    update={
                        "since": since_text(causes) if sure else f"one of {since_text(causes)}",
                        "evidence": tuple(dict.fromkeys((*finding.evidence, *cited))),
                    }
                )
            )
            for cause in causes:
                caused.setdefault(cause.commit.id, []).append((out[-1], sure))
        return CitedResult(
            findings=tuple(out),
            dispositions=tuple(self._caused(row, caused.get(row.commit, [])) for row in rows),
        )

    def _caused(self, row: Disposition, found: Sequence[tuple[Finding, bool]]) -> Disposition:
        if not found:
            return row
        ids = tuple(dict.fromkeys((*row.findings, *(f.id for f, _ in found))))
        serious = [(f, sure) for f, sure in found if f.severity.value != "note"]
        if row.disposition.work or not serious:
            return row.model_copy(update={"findings": ids})
        first, sure = min(serious, key=lambda pair: (not pair[1], pair[0].sort_key))
        modules = self.subject.plugin.modules_at
        symbols = [f"{modules[f.path]}:{f.symbol}".rstrip(":") for f, _ in serious if f.path in modules]
        reason = f"It causes {first.check} at `{first.path}:{first.line}`: {first.message}"
        return row.model_copy(
            update={
                "findings": ids,
                "disposition": Meaning.MERGE,
                "certainty": first.certainty if sure else Certainty.POSSIBLE,
                "reason": reason,
                "symbols": tuple(dict.fromkeys((*symbols, *row.symbols))),
                "links": tuple(dict.fromkeys((reason, row.reason, *row.links))),
            }
        )


def _patch(commit: str, paths: Sequence[str], text: str, room: int) -> Evidence:
    shown = text if len(text) <= room else text[:room].rpartition("\n")[0]
    if len(shown) < len(text):
        shown += f"\n… {text.count(chr(10)) - shown.count(chr(10))} more lines: see the command"
    return Evidence(
        id="E" + short_hash("patch", commit, *paths),
        kind="patch",
        source="upstream",
        path=paths[0],
        sha256=hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        command=f"git show {commit} -- {' '.join(paths[:8])}{' …' if len(paths) > 8 else ''}",
        excerpt=shown,
    )

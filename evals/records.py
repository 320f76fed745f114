"""What one review leaves behind: plain records in JSON, so that scoring never needs the trees again."""

from __future__ import annotations

from tools.findings import Frozen

FORMAT = 3
"""Of ReviewRecord; part of the key under which records are kept."""


class Row(Frozen):
    """One thing that the product or a baseline says."""

    path: str
    line: int
    symbols: tuple[str, ...]
    """Any of them may be the defect's."""
    family: str
    """Family of checks; '' when the rule has no counterpart among the checks."""
    message: str
    severity: str = "error"
    id: str = ""
    check: str = ""
    introduced: bool = True
    silent: bool = False
    resolved: str = ""
    """The plugin symbol that a maintainer would edit, as in ``ReviewRecord.changes``."""


class ToolRun(Frozen):
    """A baseline on one review. ``reason`` says why it did not run."""

    rows: tuple[Row, ...] = ()
    reason: str = ""
    wall: float = 0.0


class NeedsWork(Frozen):
    """What the report says of every plugin symbol that has a counterpart, at the start of a case."""

    work: dict[str, tuple[str, ...]]
    """Path -> symbols with a finding or a changed counterpart."""
    no_edit: dict[str, tuple[str, ...]]
    """Path -> symbols with a counterpart that is the same, and no finding."""
    changed: dict[str, tuple[str, ...]]
    """Path -> functions, methods and classes that the maintainers changed and that were there before."""


class MergedSymbol(Frozen):
    """A copied function that the maintainers and upstream both changed, and what each way of merging makes of it.

    Ways end ``exact`` (the maintainers' own result, as syntax), ``differs``, ``conflict`` or ``nothing`` (no proposal).
    """

    path: str
    symbol: str
    state: str
    """Of the product's proposal; '' without one."""
    product: str
    lines: str
    """A line merge of the symbol (``git merge-file``)."""
    file: str
    """A line merge of the whole file with the counterpart of the same path; one conflict spoils a file."""


class RangeAudit(Frozen):
    """What the audit of the upstream commits between base and target gave."""

    commits: int
    """In the range, as git counts them."""
    dispositions: int
    """Commits that the audit has an answer for."""
    seconds: float
    needs: dict[str, tuple[str, ...]]
    """Path -> plugin symbols that a commit leaves work for."""


class ReviewRecord(Frozen):
    """One review."""

    code: str
    """Digest of the code that made it."""
    findings: tuple[Row, ...]
    unresolved: int
    checks_failed: tuple[str, ...]
    wall: float
    """Seconds from opened sources to findings, whatever the cache held."""
    peak_mib: float
    """Highest resident memory of the process, and of its largest child."""
    baselines: dict[str, ToolRun]
    changes: dict[str, tuple[str, ...]]
    """Path -> symbols that differ between the reviewed revision and the settled one."""
    symbols: int
    """Symbols of the plugin at the reviewed revision."""
    symbols_changed: int
    """Those of them that ``changes`` names."""
    settled: str
    """The revision taken for settled."""
    needs: NeedsWork | None = None
    merging: tuple[MergedSymbol, ...] | None = None
    audit: RangeAudit | None = None

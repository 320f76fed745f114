"""Evidence, findings and the report: the contract that every tool returns and every surface reads.

A finding cannot be built without evidence, and evidence says where it was seen: the snapshot, the path,
the lines and the sha256 of the file it quotes. Names of the fields are those of ``report.json``.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

SCHEMA_VERSION = "1.0"
"""Version of report.json: the major part changes when a reader of the old form would break."""


class Level(StrEnum):
    """How far a statement was verified. A report never raises the level of its evidence."""

    UNTESTED = "untested"
    SOURCE = "source-inspected"
    SIGNATURE = "signature-checked"
    RUNTIME = "runtime-reproduced"
    NUMERIC = "numerically-validated"


class Severity(StrEnum):
    """What happens to a user, worst first; certainty is a field of its own."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)


class Certainty(StrEnum):
    """How sure the check is that the fault exists."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"

    @property
    def rank(self) -> int:
        """0 for the surest."""
        return list(Certainty).index(self)


class Attribution(StrEnum):
    """Whose fault it is."""

    REGRESSION = "adapter regression"
    EXISTING = "existing plugin defect"
    UPSTREAM = "shared upstream defect"
    COMPONENT = "component bug"
    ENVIRONMENT = "environment mismatch"


class Decision(StrEnum):
    """What to do with the plugin code concerned."""

    RETAIN = "retain"
    UPDATE = "update"
    REMOVE = "remove"
    MIGRATE = "migrate"
    REJECT = "reject"
    UNDECIDED = "undecided"


class Status(StrEnum):
    """Where a finding stands in its session."""

    OPEN = "open"
    FIXED = "fixed"
    PARTLY_FIXED = "partly fixed"
    PRESENT = "still present"
    MASKED = "masked"


class Frozen(BaseModel):
    """Base of every record: immutable, and no unknown field passes unseen."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def short_hash(*parts: str) -> str:
    """Twelve hex digits that identify ``parts`` in their order."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


class Evidence(Frozen):
    """One observed fact."""

    id: str
    kind: str
    """``source`` (excerpt of a file), ``diagnostic`` (row of a type checker), ``patch`` (of a commit), ``command``."""
    source: str
    """Which snapshot: ``plugin``, ``base`` or ``target``; or the tool that was run."""
    path: str | None = None
    lines: tuple[int, int] | None = None
    """First and last line, counted from 1, both included."""
    sha256: str | None = None
    """Of the whole file at ``path`` as it was read."""
    command: str | None = None
    excerpt: str = ""
    level: Level = Level.SOURCE


class Finding(Frozen):
    """A claim about one place in the plugin."""

    id: str
    """Stable across runs and line shifts: made of check, path, symbol and the name concerned."""
    check: str
    path: str
    line: int = Field(ge=1)
    symbol: str
    """``Qual.name`` inside the file, or '' at module level."""
    severity: Severity
    certainty: Certainty
    introduced: bool
    """True when the same check is silent on (plugin, base)."""
    message: str
    trigger: str
    """What a user does to meet it."""
    consequence: str
    """What happens then."""
    since: str | None = None
    suggestion: str = ""
    evidence: Annotated[tuple[str, ...], Field(min_length=1)]
    """Ids of the evidence; a finding without evidence cannot be constructed."""
    attribution: Attribution
    decision: Decision
    level: Level
    status: Status = Status.OPEN
    cause: str = ""
    """Group key: the upstream change behind it, equal for all findings of one cause."""
    silent: bool = False
    """True when nothing is raised: wrong numbers, a fallback, an op that is never used."""
    related: tuple[str, ...] = ()
    """Ids of findings at sibling sites or of the same cause."""
    blast_radius: tuple[str, ...] = ()
    """Registrations that never happen because of it."""

    @property
    def sort_key(self) -> tuple[int, bool, int, str, int, str]:
        """Worst, newest and surest first, then by place; total, so that reports are reproducible."""
        return (self.severity.rank, not self.introduced, self.certainty.rank, self.path, self.line, self.id)


class Unresolved(Frozen):
    """What a check looked at and could not decide. Counted apart; never a finding."""

    check: str
    path: str
    line: int
    symbol: str
    reason: str
    subject: str = ""


class Activation(StrEnum):
    """Whether a registration is made when the plugin starts."""

    ACTIVE = "active"
    CONDITIONAL = "conditional"
    """Only under a condition, or only when something else imports the module; the row says which."""
    INACTIVE = "inactive"
    """No import leads to the line."""
    LOST = "lost"
    """The start ends, or the entry point does, before the line is reached."""
    AGGREGATE = "aggregate file"
    """Registers nothing itself: it imports the files that do."""


class Place(Frozen):
    """One link of a chain through source files: what happens at a line."""

    path: str
    """'' for what upstream does itself."""
    line: int
    what: str


class InventoryRow(Frozen):
    """One registration, patch or override of the plugin."""

    kind: str
    key: str
    path: str
    line: int
    symbol: str
    activation: str
    """In one line, for people; ``status``, ``condition`` and ``chain`` say the same for programs."""
    effective: str
    counterpart: str
    difference: str
    decision: Decision
    evidence: tuple[str, ...]
    status: Activation = Activation.ACTIVE
    condition: str = ""
    """What a conditional registration depends on; why a lost one is lost."""
    chain: tuple[Place, ...] = ()
    """From the entry point to the file that registers."""
    reason: str = ""
    """Why the decision is what it is."""


class ChainStep(Frozen):
    """One step of a dispatch chain; ``depth`` makes the list a tree, in the order of a walk from its root."""

    depth: int
    role: str
    """``import``, ``registration``, ``lookup``, ``method``, ``oracle``, ``kernel boundary`` and the like."""
    name: str
    where: str
    """``plugin``, ``upstream`` or ``outside``."""
    path: str = ""
    line: int = 0
    when: str = ""
    """Condition under which the branch is taken."""
    note: str = ""
    fallback: bool = False
    """Here code of the plugin hands over to upstream's own implementation."""


class Chain(Frozen):
    """What happens with one registered key, from the entry point to components outside both packages."""

    kind: str
    key: str
    steps: tuple[ChainStep, ...]
    boundaries: tuple[str, ...]
    """Components outside both packages that the chain ends in."""
    unresolved: tuple[str, ...] = ()
    """Calls that could not be followed, each with its place."""
    evidence: tuple[str, ...] = ()


class SupportFact(Frozen):
    """One thing that the code accepts or refuses."""

    accepts: bool
    text: str
    path: str
    line: int
    symbol: str
    stage: str
    """``selection`` (before weights exist), ``allocation``, ``loading`` or ``execution``."""


class SupportCell(Frozen):
    """One dimension of a quantization method; without facts it is unknown."""

    dimension: str
    facts: tuple[SupportFact, ...] = ()

    @property
    def known(self) -> bool:
        """False where the code says nothing that could be read."""
        return bool(self.facts)


class SupportRow(Frozen):
    """What the code of one quantization method says about the configurations it takes."""

    key: str
    part: str
    """Which layers: ``linear``, ``MoE``, ``KV cache``, ``embedding``, or ``config`` for all of them."""
    symbol: str
    when: str
    cells: tuple[SupportCell, ...]
    evidence: tuple[str, ...]


class Meaning(StrEnum):
    """What one upstream commit asks of the plugin; those that ask for work come first."""

    MERGE = "needs a MetaX merge"
    DEPENDENCY = "needs a coordinated dependency change"
    NEW_ARCHITECTURE = "new unsupported architecture"
    INHERITED = "inherited"
    PLATFORM = "platform-specific"
    OUTSIDE = "outside the plugin's reach"

    @property
    def rank(self) -> int:
        """0 for the most urgent."""
        return list(Meaning).index(self)

    @property
    def work(self) -> bool:
        """True when somebody has to edit or to install something."""
        return self in (Meaning.MERGE, Meaning.DEPENDENCY)


class RelatedCommit(Frozen):
    """Another commit of the range that a commit belongs to."""

    relation: str
    """``reverts``, ``is reverted by``, ``is the same patch as``, ``is in base already as`` and the like."""
    commit: str
    said: str
    """How it is known."""


class Disposition(Frozen):
    """What one upstream commit means for the plugin."""

    commit: str
    title: str
    disposition: Meaning
    reason: str
    """One sentence."""
    symbols: tuple[str, ...]
    """Plugin symbols concerned, as ``module:Qual.name``."""
    certainty: Certainty
    number: str = ""
    """``#123``, of the pull request."""
    merge: bool = False
    links: tuple[str, ...] = ()
    """What ties the commit to those symbols: counterpart, base class, call, patch or registration, as a clause each."""
    related: tuple[RelatedCommit, ...] = ()
    findings: tuple[str, ...] = ()
    """Ids of findings that this commit caused."""
    files: int = 0
    """How many files it changes."""
    evidence: tuple[str, ...] = ()


class FileRow(Frozen):
    """One file that differs between base and target, or that only the plugin has."""

    path: str
    state: str
    """``changed``, ``moved``, ``removed``, ``target only`` or ``local only``."""
    was: str = ""
    """Moved files: path in base."""
    plugin: tuple[str, ...] = ()
    """Plugin files that copy, patch, derive from or import it."""
    commits: tuple[str, ...] = ()
    """Commits of the range that touched it; empty when the history was not audited."""


class MergeRow(Frozen):
    """One symbol merged from base to target."""

    path: str
    symbol: str
    counterpart: str
    state: str
    diff: str
    """A patch that git applies; for a conflict both sides; for what is not merged upstream's own change."""
    evidence: tuple[str, ...]
    reasons: tuple[str, ...] = ()
    """What to look at before the merge is taken, or why there is none."""


class Blocked(Frozen):
    """Something needed that could not be read."""

    what: str
    why: str
    remedy: str


class Discrepancy(Frozen):
    """Something in an environment that does not fit together, and what that means for whoever uses it."""

    kind: str
    """Stable name of the rule."""
    about: str
    """The package, component or place concerned."""
    severity: Severity
    """error: what is validated here would not be what is reviewed; warning: it may not be; note: worth knowing."""
    what: str
    """What was seen."""
    means: str
    remedy: str


class Identity(Frozen):
    """Which tree a snapshot shows, exactly enough to obtain it again."""

    kind: str
    """revision, index, worktree, folder, installed or release."""
    label: str
    """The specification as it was given."""
    name: str | None = None
    version: str | None = None
    revision: str | None = None
    """Full commit id where there is one."""
    dirty: bool | None = None
    """Worktrees: whether files differ from the commit."""
    digest: str
    """sha256 over every path and blob id: equal for equal content, however it was obtained."""


class Coverage(Frozen):
    """What was looked at, so that silence can be told from blindness."""

    plugin_files: int = 0
    upstream_files_base: int = 0
    upstream_files_target: int = 0
    checks: tuple[str, ...] = ()
    checks_failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    """Files that were not read, each with the reason."""
    unresolved: int = 0
    unchanged: tuple[str, ...] = ()
    """Upstream symbols the plugin uses whose interface is the same in base and target."""
    commits: str = "not audited"


class Report(Frozen):
    """The whole of report.json."""

    schema_version: str = SCHEMA_VERSION
    tool_version: str
    profile: str
    subject: Identity
    base: Identity
    target: Identity
    environment: dict[str, str]
    coverage: Coverage
    timings: dict[str, float]
    """Seconds per step; the only part that differs between two runs on the same inputs."""
    discrepancies: tuple[Discrepancy, ...] = ()
    """Of the environment, when an interpreter was asked."""
    blocked: tuple[Blocked, ...] = ()
    findings: tuple[Finding, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    inventory: tuple[InventoryRow, ...] = ()
    chains: tuple[Chain, ...] = ()
    support: tuple[SupportRow, ...] = ()
    dispositions: tuple[Disposition, ...] = ()
    files: tuple[FileRow, ...] = ()
    merges: tuple[MergeRow, ...] = ()
    evidence: tuple[Evidence, ...] = ()

    @model_validator(mode="after")
    def _evidence_exists(self) -> Report:
        known = {item.id for item in self.evidence}
        for finding in self.findings:
            missing = set(finding.evidence) - known
            if missing:
                raise ValueError(f"finding {finding.id} cites evidence that is not in the report: {missing}")
        for row in self.dispositions:
            if set(row.evidence) - known:
                raise ValueError(f"commit {row.commit} cites evidence that is not in the report")
        return self


def report_schema() -> dict[str, Any]:
    """JSON schema of report.json, as it is published in ``docs/report.schema.json``."""
    schema = Report.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"metax-upgrade report {SCHEMA_VERSION}"
    return schema

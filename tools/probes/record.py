"""What a run of the probe left, as ``metax-upgrade probe registry --json`` writes it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from tools.findings import Evidence, Finding, Frozen, Level

FORMAT = "1.0"


class Mode(StrEnum):
    """How the plugin is loaded."""

    STRICT = "strict"
    """As a user's start would, with the stubs that were asked for and no other."""
    MINIMAL = "minimal"
    """Afresh again and again, each time with the one stub more that the failure asks for."""
    TOLERANT = "tolerant"
    """With a guard around every import statement of the plugin: every failing import in one pass. Diagnosis only."""


class Kind(StrEnum):
    """How the process ended."""

    COMPLETE = "complete"
    CRASH = "crash"
    """A signal, or an exit in the middle of a stage."""
    TIME = "time limit"
    OUTPUT = "output limit"
    MEMORY = "memory limit"
    START = "did not start"


class Frame(Frozen):
    """One frame of a traceback."""

    file: str
    line: int | None
    name: str


class Raised(Frozen):
    """One exception of a chain."""

    type: str
    message: str
    frames: tuple[Frame, ...] = ()
    module: str | None = None
    """ImportError: the module concerned."""


Chain = tuple[Raised, ...]


class Stage(Frozen):
    """One step of the start; ``error`` is what it raised."""

    name: str
    error: Chain | None
    seconds: float


class Registered(Frozen):
    """Something of the plugin in one of upstream's containers."""

    container: str
    """``module:name`` of the container."""
    key: str
    object: str = ""
    """``module:qualname`` of the class in force."""
    file: str | None = None
    path: str = ""
    """A class path given as text; ``object`` is what it leads to."""
    error: Chain | None = None
    """Why the path leads to nothing."""


class Patched(Frozen):
    """A name of upstream that is bound to something of the plugin."""

    target: str
    object: str
    file: str | None


class Stale(Frozen):
    """A name in another module that still holds what a patch replaced."""

    module: str
    name: str
    target: str


class ModuleRun(Frozen):
    """One module of the plugin, imported by itself. ``ended``: loaded, imported, hangs, or how its process ended."""

    module: str
    error: Chain | None
    ended: str


class CallFailed(Frozen):
    """A call in the source that the object which is really there does not take."""

    module: str
    line: int
    scope: str
    callee: str
    object: str
    file: str | None
    signature: str
    error: str


class Calls(Frozen):
    """Calls bound to live signatures. ``skipped``: no signature, a stub, or a module that does not import."""

    bound: int = 0
    skipped: int = 0
    failed: tuple[CallFailed, ...] = ()


class Missing(Frozen):
    """Tolerant: one import that failed."""

    file: str
    line: int
    importer: str
    module: str
    name: str
    error: str
    type: str


class Heard(Frozen):
    """Something that was logged at WARNING or worse; ``error`` is the exception that was swallowed with it."""

    logger: str
    level: str
    message: str
    place: str
    error: Chain | None


class Asked(Frozen):
    """A stub that was used, and the line that asked for it."""

    module: str
    asked_by: str


class SecondLoad(Frozen):
    """Loading the general plugins once more."""

    error: Chain | None
    registered_before: int
    registered_after: int


class Platform(Frozen):
    """The platform in force; ``own`` when a class of the plugin is on its MRO."""

    object: str
    file: str | None
    own: bool


class Elsewhere(Frozen):
    """A module that did not come from the source it was to be probed from."""

    module: str
    file: str


class Origins(Frozen):
    """Package -> folder it was imported from -> modules."""

    folders: dict[str, dict[str, int]] = Field(default_factory=dict)
    elsewhere: tuple[Elsewhere, ...] = ()


class Run(Frozen):
    """One process."""

    kind: Kind
    detail: str = ""
    """Of a process that did not come to its end: signal, status, stage."""
    stages: tuple[Stage, ...] = ()
    platform: Platform | None = None
    registered: tuple[Registered, ...] = ()
    patched: tuple[Patched, ...] = ()
    stale: tuple[Stale, ...] = ()
    modules: tuple[ModuleRun, ...] = ()
    calls: Calls = Calls()
    missing: tuple[Missing, ...] = ()
    swallowed: tuple[Heard, ...] = ()
    warnings: tuple[dict[str, Any], ...] = ()
    second_load: SecondLoad | None = None
    origins: Origins = Origins()
    stubs: tuple[Asked, ...] = ()
    workarounds: tuple[str, ...] = ()
    interpreter: dict[str, str] = Field(default_factory=dict)
    seconds: float = 0.0
    memory_mib: int | None = None
    output: str = ""
    """The end of what it printed on stderr."""

    @property
    def failed(self) -> tuple[Stage, ...]:
        """Stages that raised."""
        return tuple(s for s in self.stages if s.error)

    @property
    def started(self) -> bool:
        """Whether a user's start would have come through: every stage of it ended well, and so did the process."""
        return self.kind is Kind.COMPLETE and not self.failed

    @property
    def partly(self) -> bool:
        """Something failed and something is registered all the same: not a successful start."""
        return not self.started and bool(self.registered or self.patched)


class ProbeRecord(Frozen):
    """The whole record."""

    format: str = FORMAT
    mode: Mode
    upstream: str
    """What was probed: label of the source."""
    plugin: str
    stubs: tuple[str, ...]
    """Top-level modules that stubs were offered for."""
    command: str
    level: Level
    """Of what this run shows. With stubs or guards it proves no production reachability, and stays below
    runtime-reproduced."""
    run: Run
    earlier: tuple[Run, ...] = ()
    """Mode minimal: the runs before, each with one stub less."""
    differences: tuple[Finding, ...] = ()
    """Where the source and the running process disagree."""
    evidence: tuple[Evidence, ...] = ()

"""What the probe answers, typed. The fields are those that ``probe.py`` prints."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from tools.findings import Frozen


class Flags(Frozen):
    """``sys.flags`` that decide where imports look; they come from a wrapper around the interpreter or variables."""

    isolated: bool
    ignore_environment: bool
    no_user_site: bool
    no_site: bool
    safe_path: bool
    """True when the current folder is not put in front; always False before Python 3.11."""


class UserSite(Frozen):
    """The user's own packages."""

    path: str
    enabled: bool


class Interpreter(Frozen):
    """The interpreter itself."""

    executable: str
    real: str
    """``executable`` with links followed."""
    version: str
    implementation: str
    platform: str
    prefix: str
    base_prefix: str
    pyvenv_cfg: dict[str, str] | None
    """Path and lines of ``pyvenv.cfg``; None outside a virtual environment."""
    cwd: str
    flags: Flags
    user_site: UserSite


class PathVariableEntry(Frozen):
    """One part of PYTHONPATH."""

    entry: str
    relative: bool
    """True for an empty one too: it stands for the current folder."""


class Variable(Frozen):
    """An environment variable that decides what is imported."""

    name: str
    value: str
    entries: tuple[PathVariableEntry, ...]


class PathRow(Frozen):
    """An entry of ``sys.path``."""

    entry: str
    place: str
    source: str
    """What put it there, as far as that can be told."""
    kind: Literal["folder", "file", "missing"]


class PthLine(Frozen):
    """A line of a ``.pth`` file."""

    kind: Literal["path", "code"]
    text: str
    hook: str
    """The editable install's finder module that a line of code names."""
    active: bool
    """Whether the folder exists, or the finder module was loaded at start."""
    place: str


class PthFile(Frozen):
    """A ``.pth`` file of a site folder."""

    file: str
    lines: tuple[PthLine, ...]


class EntryPoint(Frozen):
    """An entry point of one of vLLM's groups."""

    group: str
    name: str
    value: str


class InstalledPlugin(EntryPoint):
    """An entry point of one of vLLM's groups, of whichever distribution: vLLM asks them all."""

    distribution: str


class DirectUrl(Frozen):
    """What ``direct_url.json`` claims; no proof of what is imported."""

    url: str
    vcs: str = ""
    commit_id: str = ""
    requested_revision: str = ""
    editable: bool = False


class Distribution(Frozen):
    """An installed distribution, by its metadata."""

    name: str
    version: str
    metadata: str
    """Its ``.dist-info`` or ``.egg-info``."""
    entry: str
    """The entry of ``sys.path`` it was found in."""
    installer: str
    editable: bool
    how: str
    """How an editable one is found: ``mapping``, ``path file``, ``project folder``, or '' when it is not."""
    direct_url: DirectUrl | None
    recorded: bool
    """Whether there is a list of its files."""
    packages: dict[str, str]
    """Import name -> folder or file that its metadata leads to."""
    real: dict[str, str]
    """The same with links followed."""
    entry_points: tuple[EntryPoint, ...]


class Candidate(Frozen):
    """One place that answers to an import name."""

    kind: Literal[
        "package", "module", "extension", "namespace", "builtin", "dangling", "built when imported", "unknown"
    ]
    """``dangling``: a mapping to nothing; ``unknown``: an import hook that cannot be looked into."""
    origin: str
    """The file that runs, '' where there is none."""
    place: str
    """The package's folder, or the module's file."""
    real: str
    entry: str
    via: str
    """``path``, or ``hook MODULE:CLASS``."""
    zipped: bool
    portions: tuple[str, ...] = ()
    """Folders of a namespace package."""


class Import(Frozen):
    """What importing one top-level name takes; the first candidate wins."""

    module: tuple[Candidate, ...]
    """When started as ``python -m`` or ``-c``: the current folder is looked at first."""
    script: tuple[Candidate, ...]
    """When started by a script elsewhere, such as ``bin/vllm``: the current folder is not looked at."""
    loaded: bool
    """Whether start-up itself (``.pth``, sitecustomize) had imported it."""


class Answer(Frozen):
    """The whole answer of one interpreter in one folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    probe: Literal[1]
    interpreter: Interpreter
    variables: tuple[Variable, ...]
    path: tuple[PathRow, ...]
    pth: tuple[PthFile, ...]
    hooks: tuple[str, ...]
    """Import hooks that are not importlib's own."""
    customized: tuple[str, ...]
    """``sitecustomize`` and ``usercustomize``, where they ran."""
    distributions: tuple[Distribution, ...]
    plugins: tuple[InstalledPlugin, ...]
    count: int = Field(ge=0)
    """Of all distributions."""
    names: tuple[str, ...]
    """Of all distributions, when they were asked for."""
    imports: dict[str, Import]
    problems: tuple[str, ...]
    """What could not be looked at."""

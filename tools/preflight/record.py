"""The preflight record: what lies where, what would be imported, and what of it does not fit together."""

from __future__ import annotations

from typing import Any, Literal

from tools.environment.answer import (
    Candidate,
    Distribution,
    InstalledPlugin,
    Interpreter,
    PathRow,
    PthFile,
    Variable,
)
from tools.findings import Discrepancy, Frozen, Identity

SCHEMA_VERSION = "1.0"
"""Version of the record: the major part changes when a reader of the old form would break."""

Role = Literal["vllm", "plugin"]
State = Literal["matching", "changed", "missing", "install_only", "generated"]


class LocalSource(Frozen):
    """A source tree on disk, in git or from the index."""

    identity: Identity
    package: str
    """Path of the package inside the tree; '' when the tree holds none."""
    place: str
    """Folder of the package on disk; '' when it lies in git or in an archive only."""


class Package(Frozen):
    """vLLM, or the plugin: its source, and what the interpreter has of it."""

    role: Role
    name: str
    """Import name."""
    source: LocalSource | None
    module: tuple[Candidate, ...]
    """What answers to the name with the current folder on the path (``python -m``); the first is imported."""
    script: tuple[Candidate, ...]
    """The same without it, as for ``bin/vllm``."""
    loaded: bool
    distributions: tuple[Distribution, ...]
    """Every one that provides the name, in the order of the path."""

    @property
    def effective(self) -> Candidate | None:
        """What ``python -m`` in the working directory imports."""
        return self.module[0] if self.module else None

    def owner(self, candidate: Candidate) -> Distribution | None:
        """The first distribution whose metadata lead to ``candidate``."""
        return next((d for d in self.distributions if d.real.get(self.name) == candidate.real), None)


class Component(Frozen):
    """Something installed apart from vLLM and the plugin."""

    label: str
    imports: dict[str, tuple[Candidate, ...]]
    """Import name -> what answers to it; the first is imported."""
    loaded: bool
    distributions: tuple[Distribution, ...]

    @property
    def found(self) -> bool:
        """Whether there is anything of it."""
        return bool(self.distributions) or any(self.imports.values())


class Files(Frozen):
    """Files in one state."""

    count: int
    python: int
    """How many of them are Python."""
    paths: tuple[str, ...]
    """The first of them, Python first; ``count`` says how many there are."""


class Correspondence(Frozen):
    """A source tree beside an installed copy, by content."""

    role: Role
    place: str
    """The installed copy."""
    imported: bool
    """Whether it is what an import in the working directory takes."""
    same_place: bool
    """The installed copy is the source tree itself."""
    matching: Files
    changed: Files
    missing: Files
    """In the source, not in the copy."""
    install_only: Files
    generated: Files
    """Made by a build (version files, compiled modules), wherever they are: no difference between sources."""

    @property
    def equal(self) -> bool:
        """Whether all Python of one is in the other, unchanged."""
        return not (self.changed.python or self.missing.python or self.install_only.python)


class Preflight(Frozen):
    """The whole record. The same environment gives the same record: it holds no time and no process id."""

    schema_version: str = SCHEMA_VERSION
    profile: str
    python: str
    """The interpreter as it was asked for."""
    interpreter: Interpreter
    variables: tuple[Variable, ...]
    path: tuple[PathRow, ...]
    pth: tuple[PthFile, ...]
    hooks: tuple[str, ...]
    customized: tuple[str, ...]
    plugins: tuple[InstalledPlugin, ...]
    """Every installed entry point of vLLM's groups."""
    vllm: Package
    plugin: Package
    components: tuple[Component, ...]
    correspondence: tuple[Correspondence, ...]
    discrepancies: tuple[Discrepancy, ...]
    mapping_id: str
    """Equal as long as interpreter, comparison target and mapping are: one confirmation holds that long."""
    problems: tuple[str, ...]

    @property
    def packages(self) -> tuple[Package, Package]:
        """Both packages."""
        return (self.vllm, self.plugin)


def preflight_schema() -> dict[str, Any]:
    """JSON schema of the record, as it is published in ``docs/preflight.schema.json``."""
    schema = Preflight.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"metax-upgrade preflight {SCHEMA_VERSION}"
    return schema

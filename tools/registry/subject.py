"""What this package needs to know of a review: the plugin against one upstream tree."""

from __future__ import annotations

from typing import Protocol

from tools.code.infer import Inference
from tools.code.tree import Tree
from tools.code.world import Resolution, World
from tools.compare.patches import Patch
from tools.findings import Evidence
from tools.profiles import Profile


class Subject(Protocol):
    """The part of a check's context that is read here; checks pass their context as it is."""

    plugin: Tree
    upstream: Tree
    profile: Profile
    world: World
    inference: Inference
    evidence: dict[str, Evidence]
    shared: dict[str, object]

    @property
    def before(self) -> Subject | None:
        """The same plugin against base while target is examined."""
        ...

    @property
    def patches(self) -> tuple[Patch, ...]:
        """Everything the plugin replaces in upstream."""
        ...

    def cite(self, tree: Tree, module: str, line: int, end: int | None = None) -> str:
        """Id of evidence that quotes lines of a module."""
        ...

    def cite_definition(self, found: Resolution, *, whole: bool = False) -> str | None:
        """Evidence that quotes the head of a definition; None for what has no lines."""
        ...

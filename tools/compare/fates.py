"""What may become of an upstream symbol between two releases, and how likely two names mean one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tools.code.records import Class, Function
from tools.code.tree import Tree
from tools.code.world import World
from tools.compare.bodies import dice, words
from tools.findings import Certainty
from tools.profiles import Profile

RENAMED = 0.5
"""Share of common lines from which a body under another name is the same code."""


class Fate(StrEnum):
    """What became of a symbol."""

    PRESENT = "present"
    MOVED = "moved"
    RENAMED = "renamed"
    PRIVATE = "now private"
    CHANGED_KIND = "changed kind"
    """Still importable from there, but a class is now a function, or the other way round."""
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Went:
    """The answer. ``module`` and ``name`` (dotted below it) say where it is in target; '' when removed."""

    kind: Fate
    module: str
    name: str
    certainty: Certainty
    how: str
    """What the answer rests on, as a clause for messages."""
    others: tuple[str, ...] = ()
    """Further candidates, best first, as ``module:name``."""
    similarity: float = 0.0

    @property
    def found(self) -> bool:
        """True when target holds it somewhere."""
        return self.kind is not Fate.REMOVED

    @property
    def dotted(self) -> str:
        """Path in target, as an import statement would spell it."""
        return f"{self.module}.{self.name}" if self.name else self.module

    @property
    def id(self) -> str:
        """``module:Qual.name``."""
        return f"{self.module}:{self.name}" if self.name else self.module


def sureness(body: float, near: bool) -> Certainty:
    """Of a rename: much in common, and in the place where the old name was."""
    if body >= 0.8 and near:
        return Certainty.CERTAIN
    return Certainty.LIKELY if body >= (RENAMED if near else 0.8) else Certainty.POSSIBLE


def path_likeness(one: str, two: str) -> float:
    """Modules alike in their words and their ends."""
    same_end = one.rpartition(".")[2] == two.rpartition(".")[2]
    return 0.7 * dice(words(one), words(two)) + (0.3 if same_end else 0.0)


def features_of(tree: Tree, module: str, record: Function | Class) -> frozenset[str]:
    """Names that survive a rename: parameters of a function, methods and attributes of a class."""
    if isinstance(record, Function):
        return frozenset(p.name for p in record.params)
    # Not through the namespace: building those of a whole tree costs half a second.
    prefix = f"{record.qualname}."
    methods = {
        f.qualname[len(prefix) :]
        for f in tree.modules[module].functions
        if f.in_class and f.qualname.startswith(prefix)
    }
    return frozenset(methods) | {a.name for a in record.assigns}


def alone(tree: Tree) -> World:
    """One tree as a world of its own."""
    profile = Profile(
        name="",
        plugin_package=tree.package,
        upstream_package=tree.package,
        plugin_distribution="",
        upstream_distribution="",
    )
    return World(tree, tree, profile)

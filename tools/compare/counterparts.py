"""The upstream symbol that each plugin symbol copies, overrides, subclasses, registers over or replaces.

Patches, registrations and base classes say it outright. Copies say it by their path and name, with the vendor's
prefix taken off. Where the name is all there is, the bodies must be alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tools.code.records import Class, Function, typing_only
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.compare.bodies import Bodies, alike, words
from tools.compare.moves import moves
from tools.compare.patches import Patch
from tools.findings import Certainty

_ALIKE = 0.3
"""Share of common lines from which one name means one thing in two places."""
_COPY = 0.6
"""Share of common lines from which a method is a copy of another class's."""
_CLOSER = 0.2
"""By how much that must be nearer than what the class inherits."""
_HEAD = re.compile(r"^(?:[A-Z]+(?=[A-Z][a-z])|[A-Z][a-z0-9]+|[a-z0-9]+_)(?=\w)")
"""First word of a CamelCase or snake_case name: where a vendor puts its prefix."""


_OTHER_DEVICE = re.compile(r"[._](amd|rocm|cpu|xpu|tpu)([._]|$)")
"""Of two originals alike, the one for another device is the less likely."""


class How(StrEnum):
    """What names the counterpart."""

    PATCH = "patched over"
    REGISTERED = "registered over"
    PATH = "same path and name"
    NAME = "same name"
    SUBCLASS = "derived from"
    MEMBER = "member of the counterpart"
    SIBLING = "same method of another class that derives from the same base"


@dataclass(frozen=True, slots=True)
class Counterpart:
    """``base`` or ``target`` is None where that version has no such symbol."""

    symbol: Resolution
    base: Resolution | None
    target: Resolution | None
    how: How
    certainty: Certainty


class Counterparts:
    """Counterparts of every class, method and function of the plugin."""

    def __init__(self, base: World, target: World, patches: Sequence[Patch]) -> None:
        self.base, self.target = base, target
        self.plugin: Tree = target.plugin
        self._forward = moves(base.upstream, target.upstream)
        self._patches: dict[str, list[Patch]] = {}
        for patch in patches:
            if patch.replacement is not None and patch.attribute:
                self._patches.setdefault(patch.replacement.id, []).append(patch)
        self._own = Bodies(self.plugin)

    @cached_property
    def rows(self) -> tuple[Counterpart, ...]:
        """All that were found, in the order of modules and lines."""
        return tuple(self._find())

    @cached_property
    def by_symbol(self) -> dict[str, Counterpart]:
        """Plugin symbol id -> counterpart."""
        return {row.symbol.id: row for row in self.rows}

    @cached_property
    def names(self) -> dict[str, str]:
        """What the plugin calls a class -> what upstream calls it, where the two differ."""
        out = {}
        for row in self.rows:
            other = row.target or row.base
            if other is not None and row.how is not How.MEMBER:
                mine, theirs = row.symbol.qualname, other.qualname
                if mine != theirs and "." not in mine:
                    out[mine] = theirs
        return out

    def took_all(self, row: Counterpart) -> bool:
        """True when every line that upstream changed is in the copy as target has it: nothing to look into."""
        if row.base is None or row.target is None:
            return False
        old = self._forward.old.lines(row.base.module, row.base.qualname)
        new = self._forward.new.lines(row.target.module, row.target.qualname)
        own = self._own.lines(row.symbol.module, row.symbol.qualname)
        return new - old <= own and not (old - new) & own

    def _find(self) -> Iterator[Counterpart]:
        for module in sorted(self.plugin.modules):
            space = self.plugin.namespace(module)
            for qualname, cls in space.classes.items():
                if cls.in_function or typing_only(cls.guard) or "." in qualname:
                    continue
                symbol = Resolution(Kind.CLASS, module, qualname)
                row = self._class(symbol, cls)
                if row is not None:
                    yield row
                yield from self._methods(symbol, row, space.methods.get(qualname, {}))
            for qualname, function in space.functions.items():
                if not function.in_class and not function.in_function and not typing_only(function.guard):
                    row = self._function(Resolution(Kind.FUNCTION, module, qualname))
                    if row is not None:
                        yield row

    # ---- both versions of an upstream symbol ----

    def _pair(
        self, symbol: Resolution, module: str, name: str, how: How, certainty: Certainty
    ) -> Counterpart | None:
        """The row for an upstream symbol that either version has at ``module.name``."""
        kinds = (Kind.CLASS, Kind.FUNCTION)
        was = self.base.path(f"{module}.{name}")
        now = self.target.path(f"{module}.{name}")
        if was.kind not in kinds and now.kind not in kinds:
            return None
        if was.kind in kinds and now.kind not in kinds:
            went = self._forward.of(was.module, was.qualname)
            now = self.target.path(went.dotted) if went.found else now
            if went.found and went.certainty.rank > certainty.rank:
                certainty = went.certainty
        elif now.kind in kinds and was.kind not in kinds:
            came = moves(self.target.upstream, self.base.upstream).of(now.module, now.qualname)
            was = self.base.path(came.dotted) if came.found and came.similarity >= _ALIKE else was
        return Counterpart(
            symbol,
            was if was.kind in kinds else None,
            now if now.kind in kinds else None,
            how,
            certainty,
        )

    def _patched(self, symbol: Resolution) -> Counterpart | None:
        for patch in self._patches.get(symbol.id, ()):
            row = self._pair(symbol, patch.target_module, patch.attribute, How.PATCH, Certainty.CERTAIN)
            if row is not None:
                return row
        return None

    # ---- classes ----

    def _class(self, symbol: Resolution, cls: Class) -> Counterpart | None:
        return (
            self._patched(symbol)
            or self._registered(symbol, cls)
            or self._by_path(symbol)
            or self._by_name(symbol)
            or self._derived(symbol)
        )

    def _registered(self, symbol: Resolution, cls: Class) -> Counterpart | None:
        for decorator in cls.decorators:
            callee = decorator.partition("(")[0]
            owner, _, last = callee.rpartition(".")
            if last != "register_oot" or "name=" in decorator or not owner.replace(".", "").isidentifier():
                continue
            for world in (self.target, self.base):
                found = world.name(symbol.module, "", owner)
                if found.kind is Kind.CLASS and world.tree(found.module) is world.upstream:
                    return self._pair(symbol, found.module, found.qualname, How.REGISTERED, Certainty.CERTAIN)
        return None

    def _derived(self, symbol: Resolution) -> Counterpart | None:
        for world in (self.target, self.base):
            for base in world.mro(symbol).classes[1:]:
                if base.kind is Kind.CLASS and world.tree(base.module) is world.upstream:
                    return self._pair(symbol, base.module, base.qualname, How.SUBCLASS, Certainty.CERTAIN)
        return None

    def _methods(
        self, symbol: Resolution, row: Counterpart | None, methods: dict[str, Function]
    ) -> Iterator[Counterpart]:
        for name, function in methods.items():
            method = Resolution(Kind.FUNCTION, symbol.module, function.qualname)
            patched = self._patched(method)
            if patched is not None:
                yield patched
            elif row is not None:
                was = self._member(self.base, row.base, name)
                now = self._member(self.target, row.target, name)
                sibling = self._sibling(method, row, was, name)
                if sibling is not None:
                    yield sibling
                elif was is not None or now is not None:
                    yield Counterpart(method, was, now, How.MEMBER, row.certainty)

    def _sibling(
        self, method: Resolution, row: Counterpart, inherited: Resolution | None, name: str
    ) -> Counterpart | None:
        """What a method was copied from that its class's base lacks, only declares, or does otherwise.

        A platform derives from ``Platform`` and has its bodies from ``CudaPlatformBase``.
        """
        if row.how is not How.SUBCLASS or row.base is None:
            return None
        own, old = (method.module, method.qualname), self._forward.old
        least = _COPY
        if inherited is not None:
            least = max(least, alike(self._own, own, old, (inherited.module, inherited.qualname)) + _CLOSER)
        best: tuple[float, str, str] | None = None
        for module, qualname in self._methods_at_base.get(name, ()):
            owner = Resolution(Kind.CLASS, module, qualname)
            if owner.id == row.base.id or not self.base.is_subclass(owner, row.base.id):
                continue
            likeness = alike(self._own, own, old, (module, f"{qualname}.{name}"))
            if _OTHER_DEVICE.search(module):
                likeness -= 0.1
            if likeness >= least and (best is None or likeness > best[0]):
                best = likeness, module, f"{qualname}.{name}"
        if best is None:
            return None
        return self._pair(method, best[1], best[2], How.SIBLING, Certainty.LIKELY)

    @cached_property
    def _methods_at_base(self) -> dict[str, list[tuple[str, str]]]:
        """Method name -> (module, class) of base that defines it."""
        out: dict[str, list[tuple[str, str]]] = {}
        for module, function in self.base.upstream.functions():
            owner, _, name = function.qualname.rpartition(".")
            if function.in_class and not function.in_function and not function.is_stub:
                out.setdefault(name, []).append((module, owner))
        return out

    @staticmethod
    def _member(world: World, cls: Resolution | None, name: str) -> Resolution | None:
        found = world.class_member(cls, name) if cls is not None and cls.kind is Kind.CLASS else None
        return found if found is not None and found.kind is Kind.FUNCTION else None

    # ---- functions ----

    def _function(self, symbol: Resolution) -> Counterpart | None:
        return self._patched(symbol) or self._by_path(symbol) or self._by_name(symbol)

    # ---- by path and name ----

    def upstream_modules(self, module: str) -> tuple[str, ...]:
        """Where code of plugin ``module`` was copied from, the likeliest first."""
        profile = self.target.profile
        out = []
        rules = sorted(profile.path_rules, key=lambda r: -len(r.plugin))
        for rule in rules:
            if module == rule.plugin or module.startswith(rule.plugin + "."):
                out.append(rule.upstream + module[len(rule.plugin) :])
                break
        out.append(profile.upstream_package + module[len(profile.plugin_package) :])
        return tuple(dict.fromkeys(out))

    def _spellings(self, name: str) -> tuple[str, ...]:
        """The name, and without a vendor's prefix; the latter only where upstream has no such name itself."""
        if name in self.target.upstream.defined or name in self.base.upstream.defined:
            return (name,)
        head = _HEAD.match(name)
        if head is None or len(words(name)) < 2:
            return (name,)
        rest = name[head.end() :]
        return (name, rest, f"_{rest}")

    def _by_path(self, symbol: Resolution) -> Counterpart | None:
        for name in self._spellings(symbol.qualname):
            for module in self.upstream_modules(symbol.module):
                for world in (self.base, self.target):
                    if world.member(module, name).kind is symbol.kind:
                        certainty = Certainty.CERTAIN if name == symbol.qualname else Certainty.LIKELY
                        return self._pair(symbol, module, name, How.PATH, certainty)
        return None

    def _by_name(self, symbol: Resolution) -> Counterpart | None:
        """Same name anywhere, when the bodies are alike or the plugin's class derives from it."""
        best: tuple[float, str, str] | None = None
        for bodies in (self._forward.old, self._forward.new):
            for name in self._spellings(symbol.qualname):
                for module in bodies.tree.defined.get(name, ())[:12]:
                    likeness = alike(self._own, (symbol.module, symbol.qualname), bodies, (module, name))
                    if _OTHER_DEVICE.search(module):
                        likeness -= 0.1
                    if likeness >= _ALIKE and (best is None or likeness > best[0]):
                        best = likeness, module, name
        if best is None:
            return None
        certainty = Certainty.LIKELY if best[0] >= 0.5 else Certainty.POSSIBLE
        return self._pair(symbol, best[1], best[2], How.NAME, certainty)

"""What of upstream the plugin touches, and how: the links along which an upstream commit concerns it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from tools.code.records import Call, Class, Function
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.compare.bodies import Bodies, alike
from tools.compare.counterparts import Counterpart, Counterparts, How
from tools.compare.patches import Patch
from tools.findings import Certainty, InventoryRow
from tools.history.places import other_device
from tools.registry.subject import Subject


class Via(StrEnum):
    """How a plugin symbol hangs on an upstream one, as reasons say it: ``A copies B``."""

    COPY = "copies"
    PATCH = "is patched over"
    OVERRIDE = "overrides"
    REGISTERED = "is registered over"
    BASE = "derives from"
    CALL = "calls"
    IMPORT = "imports"
    MUTATE = "alters"


REPLACES = frozenset({Via.COPY, Via.PATCH, Via.OVERRIDE, Via.REGISTERED})
"""Links on which the plugin has code of its own instead of upstream's."""


@dataclass(frozen=True, slots=True)
class Link:
    """One plugin symbol and one upstream symbol, both as ``module:Qual.name``."""

    via: Via
    plugin: str
    upstream: str
    certainty: Certainty = Certainty.CERTAIN
    row: Counterpart | None = None
    """The counterpart behind it, where there is one."""
    call: Call | None = None
    """The call site, for CALL."""

    @property
    def said(self) -> str:
        """As a clause: ``MacaX.forward copies vllm.x:X.forward``; where the plugin's is, its id says."""
        return f"`{self.plugin.partition(':')[2] or self.plugin}` {self.via.value} `{self.upstream}`"


class Reach:
    """Links of a plugin with base and with target, by upstream symbol and by upstream module."""

    def __init__(
        self, subject: Subject, counterparts: Counterparts, inventory: tuple[InventoryRow, ...] = ()
    ) -> None:
        assert subject.before is not None
        self.subject, self.counterparts = subject, counterparts
        self.worlds: tuple[World, World] = (subject.before.world, subject.world)
        self.plugin: Tree = subject.plugin
        self.upstream = subject.world.upstream.package
        self._links: dict[str, dict[tuple[Via, str, int], Link]] = defaultdict(dict)
        self.modules: dict[str, set[str]] = defaultdict(set)
        """Upstream module -> plugin modules that hang on it."""
        self.model_keys: frozenset[str] = frozenset(r.key for r in inventory if r.kind == "model")
        for link in self._find(inventory):
            line = link.call.line if link.call is not None else 0
            self._links[link.upstream].setdefault((link.via, link.plugin, line), link)
            self.modules[link.upstream.partition(":")[0]].add(link.plugin.partition(":")[0])

    def links(self, module: str, name: str) -> list[Link]:
        """Links to exactly ``module:name``; ``name`` '' for the module itself."""
        return list(self._links.get(f"{module}:{name}" if name else module, {}).values())

    def module_links(self, module: str) -> list[Link]:
        """Links to anything in ``module``."""
        keys = sorted(k for k in self._links if k.partition(":")[0] == module)
        return [link for key in keys for link in self._links[key].values()]

    def defines(self, cls: str, name: str) -> bool:
        """Whether the plugin class ``module:Class`` has ``name`` in its own body."""
        module, _, qualname = cls.partition(":")
        return self.worlds[1].own_member(Resolution(Kind.CLASS, module, qualname), name) is not None

    # ---- where links come from ----

    def _find(self, inventory: tuple[InventoryRow, ...]) -> Iterator[Link]:
        yield from self._bases()
        yield from self._counterparts()
        yield from self._values()
        yield from self._siblings()
        for patch in self.subject.patches:
            yield from self._patch(patch)
        yield from self._registered(inventory)
        for world in self.worlds:
            yield from self._imports(world)
            yield from self._calls(world)

    def _is_upstream(self, module: str) -> bool:
        return module == self.upstream or module.startswith(f"{self.upstream}.")

    def _bases(self) -> Iterator[Link]:
        for world in self.worlds:
            for module, cls in self.plugin.classes():
                if cls.in_function:
                    continue
                own = Resolution(Kind.CLASS, module, cls.qualname)
                for base in world.mro(own).classes[1:]:
                    if base.kind is Kind.CLASS and self._is_upstream(base.module):
                        yield Link(Via.BASE, own.id, base.id)

    def _counterparts(self) -> Iterator[Link]:
        for row in self.counterparts.rows:
            for side, found in zip(self.worlds, (row.base, row.target), strict=True):
                if found is not None and self._is_upstream(found.module):
                    via = self._via(row, side, found)
                    if via is not None:
                        yield Link(via, row.symbol.id, found.id, row.certainty, row)
                    if row.symbol.kind is Kind.CLASS:
                        yield from self._attributes(row, side, found)

    def _attributes(self, row: Counterpart, world: World, found: Resolution) -> Iterator[Link]:
        """Class attributes that both bodies assign."""
        record = world.class_record(row.symbol)
        via = Via.OVERRIDE if world.is_subclass(row.symbol, found.id) else Via.COPY
        for assign in record.assigns if record is not None else ():
            theirs = world.class_member(found, assign.name)
            if theirs is not None and theirs.kind is Kind.VALUE and self._is_upstream(theirs.module):
                yield Link(via, f"{row.symbol.id}.{assign.name}", theirs.id, row.certainty)

    def _via(self, row: Counterpart, world: World, found: Resolution) -> Via | None:
        if row.how is How.PATCH:
            return Via.PATCH
        owner = row.symbol.qualname.rpartition(".")[0]
        cls = Resolution(Kind.CLASS, row.symbol.module, owner) if owner else row.symbol
        theirs = found.qualname.rpartition(".")[0] if owner else found.qualname
        derived = world.is_subclass(cls, f"{found.module}:{theirs}")
        if row.how is How.MEMBER:
            return Via.OVERRIDE if derived else Via.COPY
        if row.symbol.kind is Kind.CLASS and derived:
            return None  # the link over its base says it already
        return Via.REGISTERED if row.how is How.REGISTERED else Via.COPY

    def _values(self) -> Iterator[Link]:
        """Constants of a copied module: the same name at the same place."""
        for module in sorted(self.plugin.modules):
            names = self.plugin.namespace(module).names
            for name, bindings in names.items():
                if not bindings.assigns or bindings.functions or bindings.classes or name in _EVERYWHERE:
                    continue
                for source in self.counterparts.upstream_modules(module):
                    if any(self._assigns(world, source, name) for world in self.worlds):
                        yield Link(Via.COPY, f"{module}:{name}", f"{source}:{name}", Certainty.LIKELY)
                        break

    @staticmethod
    def _assigns(world: World, module: str, name: str) -> bool:
        bound = world.upstream.namespace(module).names.get(name) if module in world.upstream.modules else None
        return bool(bound and bound.assigns)

    def _siblings(self) -> Iterator[Link]:
        """Methods copied from a class beside: upstream's own subclass of the same base (its CUDA platform, say)."""
        own = Bodies(self.plugin)
        theirs = [Bodies(world.upstream) for world in self.worlds]
        for world, bodies in zip(self.worlds, theirs, strict=True):
            for module, cls in self.plugin.classes():
                if cls.in_function:
                    continue
                mine = Resolution(Kind.CLASS, module, cls.qualname)
                methods = self.plugin.namespace(module).methods.get(cls.qualname, {})
                yield from self._other_forward(world, mine, own, bodies)
                for home, sibling in self._beside(world, mine) if methods else ():
                    shared = world.upstream.namespace(home).methods.get(sibling.qualname, {})
                    for name in methods.keys() & shared.keys():
                        one, two = (module, methods[name].qualname), (home, shared[name].qualname)
                        if shared[name].is_stub or shared[name].end_line - shared[name].line < _SMALL:
                            continue
                        if not self._has_original(own, one) and alike(own, one, bodies, two) >= _ALIKE:
                            yield Link(Via.COPY, f"{one[0]}:{one[1]}", f"{two[0]}:{two[1]}", Certainty.LIKELY)

    def _other_forward(self, world: World, cls: Resolution, own: Bodies, bodies: Bodies) -> Iterator[Link]:
        """``forward_oot`` answers for a platform like ours; upstream's original of it bears another name."""
        methods = self.plugin.namespace(cls.module).methods.get(cls.qualname, {})
        mine = methods.get("forward_oot")
        for name in _FORWARDS if mine is not None else ():
            found = world.class_member(cls, name)
            if found is None or found.kind is not Kind.FUNCTION or not self._is_upstream(found.module):
                continue
            one, two = (cls.module, f"{cls.qualname}.forward_oot"), (found.module, found.qualname)
            if alike(own, one, bodies, two) >= _ALIKE / 2:
                yield Link(Via.COPY, f"{one[0]}:{one[1]}", found.id, Certainty.LIKELY)
                return

    def _has_original(self, own: Bodies, method: tuple[str, str]) -> bool:
        """Whether the method is a copy of its counterpart already."""
        row = self.counterparts.by_symbol.get(f"{method[0]}:{method[1]}")
        pairs = zip(self.worlds, (row.base, row.target) if row is not None else (), strict=False)
        return any(
            r is not None and alike(own, method, Bodies(w.upstream), (r.module, r.qualname)) >= _ALIKE / 2
            for w, r in pairs
        )

    def _beside(self, world: World, cls: Resolution) -> Iterator[tuple[str, Class]]:
        """Upstream classes that have an upstream base in common with ``cls`` and are no base of it."""
        bases = [
            c for c in world.mro(cls).classes[1:] if c.kind is Kind.CLASS and self._is_upstream(c.module)
        ]
        known = {c.id for c in bases}
        for base in bases:
            found = world.upstream.subclasses.get(base.qualname, ())
            if len(found) > _FAMILY:
                continue
            for home, sibling in found:
                if f"{home}:{sibling.qualname}" not in known and not other_device(world.upstream.paths[home]):
                    yield home, sibling

    def _patch(self, patch: Patch) -> Iterator[Link]:
        plugin = patch.replacement.id if patch.replacement is not None else f"{patch.module}:{patch.scope}"
        for world in self.worlds:
            found = world.path(patch.target)
            if found.found and self._is_upstream(found.module):
                whole = patch.replacement is not None
                yield Link(Via.PATCH if whole else Via.MUTATE, plugin.rstrip(":"), found.id)
        direct = f"{patch.target_module}:{patch.attribute}" if patch.attribute else patch.target_module
        yield Link(Via.PATCH if patch.replacement is not None else Via.MUTATE, plugin.rstrip(":"), direct)

    def _registered(self, inventory: tuple[InventoryRow, ...]) -> Iterator[Link]:
        for row in inventory:
            module, _, name = row.counterpart.partition(":")
            if row.kind.startswith(("patch", "platform", "entry")) or not name:
                continue
            if not self._is_upstream(module):
                continue
            own = row.effective.partition(" ")[0]
            if not own.startswith(f"{self.plugin.package}."):
                continue
            if ":" not in own:
                found = self.worlds[1].path(own)
                own = found.id if found.found else own
            upstream = f"{module}:{name}"
            if not any(
                w.is_subclass(Resolution(Kind.CLASS, *own.partition(":")[::2]), upstream) for w in self.worlds
            ):
                yield Link(Via.REGISTERED, own, upstream, Certainty.LIKELY)

    def _imports(self, world: World) -> Iterator[Link]:
        for module, record in sorted(self.plugin.modules.items()):
            for imported in record.imports:
                source = self.plugin.absolute(module, imported)
                if not self._is_upstream(source):
                    continue
                own = f"{module}:{imported.scope or imported.bound}"
                if imported.name in ("", ".", "*"):
                    yield Link(Via.IMPORT, own, source)
                    continue
                found = world.member(source, imported.name)
                yield Link(Via.IMPORT, own, f"{source}:{imported.name}")
                if found.found and self._is_upstream(found.module):
                    yield Link(Via.IMPORT, own, found.id)

    def _calls(self, world: World) -> Iterator[Link]:
        for module in sorted(self.plugin.modules):
            reached = self._reached_names(module)
            for call in self.plugin.calls(module):
                found = self._callee(world, module, call, reached)
                if found is None or not self._is_upstream(found.module):
                    continue
                own = f"{module}:{call.scope}" if call.scope else module
                yield Link(Via.CALL, own, found.id, call=call)
                if found.kind is Kind.CLASS:
                    init = world.class_member(found, "__init__")
                    if init is not None and self._is_upstream(init.module):
                        yield Link(Via.CALL, own, init.id, call=call)

    def _reached_names(self, module: str) -> set[str]:
        """Names of the module that an import from upstream binds."""
        return {
            i.bound
            for i in self.plugin.modules[module].imports
            if self._is_upstream(self.plugin.absolute(module, i))
        }

    @staticmethod
    def _callee(world: World, module: str, call: Call, reached: set[str]) -> Resolution | None:
        head, _, rest = call.callee.partition(".")
        if "?" in call.callee:
            return None
        if head in reached:
            found = world.name(module, call.scope, call.callee)
            return found if found.kind in (Kind.FUNCTION, Kind.CLASS) else None
        if head in ("self", "cls", "super()") and rest and "." not in rest:
            owner = call.scope.rpartition(".")[0]
            cls = world.path(f"{module}.{owner}") if owner else None
            if cls is None or cls.kind is not Kind.CLASS:
                return None
            if head == "super()":
                definer = world.definer(cls, rest, after=cls)
                return world.own_member(definer, rest) if definer is not None else None
            return world.class_member(cls, rest)
        return None


def record_of(world: World, found: str) -> Function | None:
    """The function record of ``module:Qual.name`` in upstream."""
    module, _, name = found.partition(":")
    tree = world.upstream
    return tree.namespace(module).functions.get(name) if module in tree.modules else None


_ALIKE = 0.6
"""Share of common lines from which a method of a sibling class is a copy."""
_FORWARDS = ("forward_cuda", "forward_native", "forward_hip", "forward")
_SMALL = 3
"""Lines of a body up to which methods are alike by chance."""
_FAMILY = 12
"""Subclasses of a base beyond which they have little in common."""
_EVERYWHERE = frozenset({"logger", "__all__", "T", "P", "R"})
"""Names that most modules bind, each on its own."""

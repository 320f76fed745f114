"""Plugin classes as upstream meets them: what they override, stand in for, and how they are reached."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from tools.checks.base import Context
from tools.code.records import Function, typing_only
from tools.code.world import Kind, Resolution


@dataclass(frozen=True, slots=True)
class Seat:
    """A plugin class and the upstream classes whose place it can take.

    ``family`` are the upstream classes an instance may be declared as; ``replaced`` those of them that the
    plugin class is put in place of, so that naming them, or constructing them, means the plugin class.
    """

    cls: Resolution
    family: frozenset[str]
    replaced: frozenset[str]
    inherits: bool


@dataclass(frozen=True, slots=True)
class Override:
    """``owner`` (of the plugin) defines ``name``, which ``upstream_owner`` defines for the same callers."""

    seat: Seat
    owner: Resolution
    name: str
    function: Function
    upstream_owner: Resolution
    upstream: Function
    root: Resolution
    """The furthest upstream class that defines it: what siblings have in common."""

    @property
    def symbol(self) -> str:
        """Qualified name of the overriding method."""
        return self.function.qualname

    @property
    def cause(self) -> str:
        """Group key of everything that one change of the overridden method breaks."""
        return f"{self.root.module}:{self.root.qualname}.{self.name} signature"


class Classes:
    """Plugin classes of one context."""

    def __init__(self, context: Context) -> None:
        self.context, self.world = context, context.world

    @cached_property
    def all(self) -> tuple[Resolution, ...]:
        """Every class of the plugin that exists at run time, outside functions."""
        return tuple(
            Resolution(Kind.CLASS, module, cls.qualname)
            for module, cls in self.context.plugin.classes()
            if not cls.in_function and not typing_only(cls.guard)
        )

    @cached_property
    def parents(self) -> frozenset[str]:
        """Ids of classes that some plugin class derives from."""
        return frozenset(c.id for cls in self.all for c in self.world.mro(cls).classes[1:])

    @cached_property
    def replaced_by(self) -> dict[str, tuple[Resolution, ...]]:
        """Id of a plugin class -> upstream classes it is put in place of, by patch or ``register_oot``."""
        out: dict[str, list[Resolution]] = {}
        for patch in self.context.patches:
            new = patch.replacement
            if new is None or new.kind is not Kind.CLASS or not patch.attribute:
                continue
            old = self.world.path(patch.target)
            if old.kind is Kind.CLASS and self.world.tree(old.module) is self.world.upstream:
                out.setdefault(new.id, []).append(old)
        for cls in self.all:
            record = self.world.class_record(cls)
            for decorator in record.decorators if record else ():
                callee = decorator.partition("(")[0]
                name, _, last = callee.rpartition(".")
                if last != "register_oot" or not name.replace(".", "").isidentifier():
                    continue
                scope = cls.qualname.rpartition(".")[0]
                old = self.world.name(cls.module, scope, name)
                if old.kind is Kind.CLASS and self.world.tree(old.module) is self.world.upstream:
                    out.setdefault(cls.id, []).append(old)
        return {key: tuple(dict.fromkeys(value)) for key, value in out.items()}

    def upstream_mro(self, cls: Resolution) -> tuple[Resolution, ...]:
        """The classes of upstream along the MRO."""
        return tuple(
            c
            for c in self.world.mro(cls).classes
            if c.kind is Kind.CLASS and self.world.tree(c.module) is self.world.upstream
        )

    def seat(self, cls: Resolution) -> Seat | None:
        """None for a class that upstream cannot meet as one of its own."""
        mro = self.upstream_mro(cls)
        replaced = self.replaced_by.get(cls.id, ())
        family = {c.id for c in mro}
        for old in replaced:
            family.update(c.id for c in self.upstream_mro(old))
        if not family:
            return None
        return Seat(cls, frozenset(family), frozenset(c.id for c in replaced), bool(mro))

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        """Every plugin class that upstream can meet."""
        return tuple(s for s in map(self.seat, self.all) if s is not None)

    @cached_property
    def met(self) -> tuple[Seat, ...]:
        """Seats of classes that upstream can hold an instance of: a common base of the plugin's is not."""
        return tuple(s for s in self.seats if s.cls.id not in self.parents or self.is_used(s.cls))

    def is_used(self, cls: Resolution) -> str:
        """What makes an instance of ``cls``, as a trigger reads; '' when nothing was found."""
        name = cls.qualname.rpartition(".")[2]
        record = self.world.class_record(cls)
        if cls.id in self.replaced_by:
            return f"upstream constructs `{self.replaced_by[cls.id][0].qualname}`, which is this class now"
        if record is not None and any("register" in d for d in record.decorators):
            return f"upstream constructs what `@{record.decorators[0].partition('(')[0]}` registered"
        for module, call in self.context.plugin.calls_by_name.get(name, ()):
            if self.world.name(module, call.scope, call.callee).id == cls.id:
                return f"`{call.scope or module}` constructs it at `{self._path(module)}:{call.line}`"
        if name in self._returned:
            return f"upstream constructs what `{self._returned[name]}` returns"
        return ""

    def _path(self, module: str) -> str:
        return self.context.plugin.paths[module]

    @cached_property
    def _returned(self) -> dict[str, str]:
        """Names in return annotations ``type[X]``, with the getter that hands just that class out."""
        out: dict[str, str] = {}
        for module, function in self.context.plugin.functions():
            if function.returns and function.returns.startswith(("type[", "Type[")):
                name = function.returns[5:-1].strip("\"'").partition("[")[0]
                body = self.context.plugin.lines(module)[function.line : function.end_line]
                if any(line.strip() == f"return {name}" for line in body):
                    out[name] = function.qualname
        return out

    @cached_property
    def overrides(self) -> tuple[Override, ...]:
        """Every method of the plugin that takes the place of an upstream one; a mixin's too."""
        out: dict[tuple[str, str], Override] = {}
        for seat in self.met:
            for override in self._overrides(seat):
                out.setdefault((override.owner.id, override.name), override)
        for override in self._duck_typed():
            out.setdefault((override.owner.id, override.name), override)
        return tuple(out[key] for key in sorted(out))

    def _overrides(self, seat: Seat) -> Iterator[Override]:
        classes = self.world.mro(seat.cls).classes
        stands_for = [c for old in self.replaced_by.get(seat.cls.id, ()) for c in self.upstream_mro(old)]
        seen: set[str] = set()
        for index, owner in enumerate(classes):
            if owner.kind is not Kind.CLASS:
                continue
            if self.world.tree(owner.module) is not self.world.plugin:
                continue
            behind = [c for c in classes[index + 1 :] if c.kind is Kind.CLASS]
            behind = [c for c in behind if self.world.tree(c.module) is self.world.upstream] + stands_for
            space = self.context.plugin.namespace(owner.module)
            for name, function in space.methods.get(owner.qualname, {}).items():
                if name in seen:
                    continue
                seen.add(name)
                found = self._definers(behind, name)
                if found:
                    yield Override(seat, owner, name, function, found[0][0], found[0][1], found[-1][0])

    def _duck_typed(self) -> Iterator[Override]:
        """Methods of classes that have all that an upstream ``Protocol`` asks for without naming it."""
        protocols = self._protocols
        for cls in self.all:
            for name in self.context.plugin.namespace(cls.module).methods.get(cls.qualname, ()):
                for protocol, methods in protocols.get(name, ()):
                    if protocol.id in {c.id for c in self.upstream_mro(cls)}:
                        continue
                    if any(self.world.class_member(cls, other) is None for other in methods):
                        continue
                    own = self.context.plugin.namespace(cls.module).methods[cls.qualname][name]
                    seat = Seat(cls, frozenset({protocol.id}), frozenset(), False)
                    yield Override(seat, cls, name, own, protocol, methods[name], protocol)

    @cached_property
    def _protocols(self) -> dict[str, list[tuple[Resolution, dict[str, Function]]]]:
        """Method name -> upstream protocols that ask for it, with all their methods."""
        out: dict[str, list[tuple[Resolution, dict[str, Function]]]] = {}
        for module, record in self.context.upstream.classes():
            if not any(b.partition("[")[0].rpartition(".")[2] == "Protocol" for b in record.bases):
                continue
            protocol = Resolution(Kind.CLASS, module, record.qualname)
            methods: dict[str, Function] = {}
            for owner in reversed(self.upstream_mro(protocol)):
                space = self.context.upstream.namespace(owner.module)
                methods.update(space.methods.get(owner.qualname, {}))
            methods = {n: f for n, f in methods.items() if not n.startswith("__")}
            own = self.context.upstream.namespace(module).methods.get(record.qualname, {})
            for name in own:
                if name in methods:
                    out.setdefault(name, []).append((protocol, methods))
        return out

    def _definers(self, classes: list[Resolution], name: str) -> list[tuple[Resolution, Function]]:
        out = []
        for cls in classes:
            member = self.world.own_member(cls, name)
            if member is None:
                continue
            function = self.world.function_record(member) if member.kind is Kind.FUNCTION else None
            if function is None:
                # Bound to a value or a class: nothing to compare with, here or further up.
                break
            out.append((cls, function))
        return out


def classes_of(context: Context) -> Classes:
    """The plugin's classes, read once for a context."""
    key = f"classes:{context.role}"
    found = context.shared.get(key)
    if not isinstance(found, Classes) or found.context is not context:
        found = context.shared[key] = Classes(context)
    return found

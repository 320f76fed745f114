"""Name resolution over two packages at once: what a dotted name means at run time.

A ``World`` is the plugin together with one version of upstream. Resolution follows re-exports, star imports,
module ``__getattr__`` and submodules, across both packages, and stops at whatever neither holds.
"""

from __future__ import annotations

import builtins
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from tools.code.records import Class, Function, Import, typing_only
from tools.code.tree import Tree
from tools.profiles import Profile

_DEPTH = 40
"""Longest chain of re-exports followed; a longer one is a cycle."""
_BUILTINS = frozenset(dir(builtins))


class Kind(StrEnum):
    """What a name turned out to be."""

    MODULE = "module"
    FUNCTION = "function"
    CLASS = "class"
    VALUE = "value"
    EXTERNAL = "external"
    """Lies in neither package."""
    GENERATED = "generated"
    """A module that a build makes; no source tree can say what it holds."""
    DYNAMIC = "dynamic"
    """Exists, but what it is cannot be read."""
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a name leads. ``module`` and ``qualname`` name the definition; for MISSING, what is not there."""

    kind: Kind
    module: str = ""
    qualname: str = ""
    via: tuple[str, ...] = field(default=(), compare=False)
    """Modules passed on the way (re-exports). The thing reached is the same whichever way was taken."""

    @property
    def id(self) -> str:
        """``module:Qual.name``, or the module alone."""
        return f"{self.module}:{self.qualname}" if self.qualname else self.module

    @property
    def found(self) -> bool:
        """False for MISSING only."""
        return self.kind is not Kind.MISSING


class World:
    """``plugin`` and ``upstream`` as one import system."""

    def __init__(self, plugin: Tree, upstream: Tree, profile: Profile) -> None:
        self.plugin, self.upstream, self.profile = plugin, upstream, profile
        self._members: dict[tuple[str, str], Resolution] = {}
        self._mros: dict[str, Mro] = {}

    def tree(self, module: str) -> Tree | None:
        """The tree whose package ``module`` belongs to, whether or not it exists there."""
        for tree in (self.plugin, self.upstream):
            if module == tree.package or module.startswith(tree.package + "."):
                return tree
        return None

    def is_generated(self, module: str) -> bool:
        """True for modules that only a build makes."""
        return any(fnmatchcase(module, pattern) for pattern in self.profile.generated_modules)

    def module(self, name: str) -> Resolution:
        """The module called ``name``. MISSING carries the longest part that does exist in ``via``."""
        tree = self.tree(name)
        if tree is None:
            return Resolution(Kind.EXTERNAL, name)
        if name in tree:
            return Resolution(Kind.MODULE, name)
        if self.is_generated(name):
            return Resolution(Kind.GENERATED, name)
        parent = name
        while parent and parent not in tree:
            parent = parent.rpartition(".")[0]
        return Resolution(Kind.MISSING, name, via=(parent,) if parent else ())

    # ---- attributes of modules ----

    def member(self, module: str, name: str) -> Resolution:
        """``module.name`` as ``from module import name`` would find it."""
        key = (module, name)
        found = self._members.get(key)
        if found is None:
            found = self._members[key] = self._member(module, name, frozenset())
        return found

    def _member(self, module: str, name: str, seen: frozenset[tuple[str, str]]) -> Resolution:
        if (module, name) in seen or len(seen) > _DEPTH:
            return Resolution(Kind.MISSING, module, name)
        seen = seen | {(module, name)}
        top = self.module(module)
        if top.kind is not Kind.MODULE:
            return Resolution(top.kind, module, name if top.kind is not Kind.MISSING else "", top.via)
        tree = self.tree(module)
        assert tree is not None
        space = tree.namespace(module)
        record = tree.modules.get(module)
        if record is not None and record.error:
            return Resolution(Kind.DYNAMIC, module, name)
        bindings = space.names.get(name)
        candidates: list[Resolution] = []
        if bindings is not None:
            candidates += [
                Resolution(Kind.CLASS, module, name) for c in bindings.classes if not typing_only(c.guard)
            ]
            candidates += [
                Resolution(Kind.FUNCTION, module, name)
                for f in bindings.functions
                if not typing_only(f.guard)
            ]
            candidates += [
                self._imported(tree, module, i, seen) for i in bindings.imports if not typing_only(i.guard)
            ]
            # An annotation without a value binds nothing.
            candidates += [
                self._assigned(module, name, a.alias, seen)
                for a in bindings.assigns
                if not typing_only(a.guard) and (a.annotation is None or a.value)
            ]
        for preferred in (Kind.CLASS, Kind.FUNCTION, Kind.MODULE):
            for candidate in candidates:
                if candidate.kind is preferred:
                    return candidate
        found = [c for c in candidates if c.found]
        if found:
            return found[0]
        submodule = self.module(f"{module}.{name}")
        if submodule.found:
            return submodule
        for star in space.stars:
            result = self._star(tree, module, star, name, seen)
            if result is not None:
                return result
        if record is not None:
            if record.getattr_names is not None and (name in record.getattr_names or record.getattr_any):
                return Resolution(Kind.DYNAMIC, module, name)
            if record.dynamic:
                return Resolution(Kind.DYNAMIC, module, name)
        if candidates:
            return candidates[0]
        return Resolution(Kind.MISSING, module, name)

    def _imported(
        self, tree: Tree, module: str, imported: Import, seen: frozenset[tuple[str, str]]
    ) -> Resolution:
        source = tree.absolute(module, imported)
        if not source:
            return Resolution(Kind.MISSING, "." * imported.level + imported.module, imported.name)
        if imported.name in ("", "."):
            name = source if imported.name == "." else imported.bound
            return self.module(name)
        result = self._member(source, imported.name, seen)
        return Resolution(result.kind, result.module, result.qualname, (*result.via, source))

    def _assigned(self, module: str, name: str, alias: str, seen: frozenset[tuple[str, str]]) -> Resolution:
        """``B = A`` is A where A is a class or function; anything else is a value of this module."""
        head, _, rest = alias.partition(".")
        if head and head != name:
            target = self._member(module, head, seen)
            if rest and target.found:
                target = self._descend(target, rest.split("."), seen)
            if target.kind in (Kind.CLASS, Kind.FUNCTION):
                return target
        return Resolution(Kind.VALUE, module, name)

    def _star(
        self, tree: Tree, module: str, star: Import, name: str, seen: frozenset[tuple[str, str]]
    ) -> Resolution | None:
        source = tree.absolute(module, star)
        top = self.module(source)
        if top.kind is not Kind.MODULE:
            return Resolution(Kind.DYNAMIC, source, name) if top.kind is not Kind.MISSING else None
        owner = self.tree(source)
        assert owner is not None
        record = owner.modules.get(source)
        if record is None or (record.exports is not None and name not in record.exports):
            return None
        if record.exports is None and name.startswith("_"):
            return None
        result = self._member(source, name, seen)
        return result if result.found else None

    def _descend(
        self, start: Resolution, parts: list[str], seen: frozenset[tuple[str, str]] = frozenset()
    ) -> Resolution:
        """Attributes of a resolved thing, one after the other."""
        current = start
        for part in parts:
            if current.kind is Kind.MODULE:
                current = self._member(current.module, part, seen)
            elif current.kind is Kind.CLASS:
                found = self.class_member(current, part)
                if found is None:
                    kind = Kind.DYNAMIC if self.mro(current).opaque else Kind.MISSING
                    return Resolution(kind, current.module, f"{current.qualname}.{part}")
                current = found
            elif current.kind is Kind.MISSING:
                return current
            else:
                kind = Kind.DYNAMIC if current.kind in (Kind.VALUE, Kind.FUNCTION) else current.kind
                return Resolution(kind, current.module, f"{current.qualname}.{part}".lstrip("."))
        return current

    # ---- dotted names ----

    def path(self, dotted: str) -> Resolution:
        """``a.b.C.d`` read as an import path followed by attributes."""
        parts = dotted.replace(":", ".").split(".")
        tree = self.tree(dotted.replace(":", "."))
        if tree is None:
            return Resolution(Kind.EXTERNAL, dotted)
        for cut in range(len(parts), 0, -1):
            module = ".".join(parts[:cut])
            if module in tree:
                return self._descend(Resolution(Kind.MODULE, module), parts[cut:])
        return Resolution(Kind.MISSING, dotted)

    def name(self, module: str, scope: str, dotted: str) -> Resolution:
        """``dotted`` as code in ``scope`` of ``module`` would find it; locals of functions are not known."""
        head, _, rest = dotted.partition(".")
        tree = self.tree(module)
        assert tree is not None
        space = tree.namespace(module)
        current: Resolution | None = None
        outer = scope
        while outer and current is None:
            for imported in reversed(space.local_imports.get(outer, ())):
                if imported.bound == head:
                    current = self._imported(tree, module, imported, frozenset())
                    break
            if current is None and f"{outer}.{head}" in space.classes:
                current = Resolution(Kind.CLASS, module, f"{outer}.{head}")
            outer = outer.rpartition(".")[0]
        if current is None:
            current = self.member(module, head)
            if not current.found and current.module == module and head in _BUILTINS:
                current = Resolution(Kind.EXTERNAL, "builtins", head)
        return self._descend(current, rest.split(".")) if rest else current

    # ---- classes ----

    def class_record(self, cls: Resolution) -> Class | None:
        """The record behind a CLASS resolution."""
        tree = self.tree(cls.module)
        return tree.namespace(cls.module).classes.get(cls.qualname) if tree else None

    def function_record(self, function: Resolution) -> Function | None:
        """The record behind a FUNCTION resolution, methods included."""
        tree = self.tree(function.module)
        return tree.namespace(function.module).functions.get(function.qualname) if tree else None

    def bases(self, cls: Resolution) -> list[Resolution]:
        """Direct bases in order; text that is no name becomes DYNAMIC."""
        record = self.class_record(cls)
        if record is None:
            return []
        scope = cls.qualname.rpartition(".")[0]
        out = []
        for text in record.bases:
            name = text.partition("[")[0].strip()
            if all(part.isidentifier() for part in name.split(".")):
                out.append(self.name(cls.module, scope, name))
            else:
                out.append(Resolution(Kind.DYNAMIC, "", text))
        return out

    def mro(self, cls: Resolution) -> Mro:
        """Linearization of ``cls``; bases that cannot be read make it opaque from there on."""
        found = self._mros.get(cls.id)
        if found is None:
            self._mros[cls.id] = Mro((cls,), True)  # a cycle ends here
            found = self._mros[cls.id] = self._linearize(cls)
        return found

    def _linearize(self, cls: Resolution) -> Mro:
        sequences: list[list[Resolution]] = []
        heads: list[Resolution] = []
        opaque = False
        for base in self.bases(cls):
            if base.kind is Kind.CLASS:
                mro = self.mro(base)
                sequences.append(list(mro.classes))
                opaque = opaque or mro.opaque
                heads.append(base)
            elif base.kind is Kind.EXTERNAL and base.id in _TRANSPARENT:
                continue
            else:
                opaque = True
                sequences.append([base])
                heads.append(base)
        sequences.append(heads)
        order = [cls]
        while True:
            sequences = [s for s in sequences if s]
            if not sequences:
                return Mro(tuple(order), opaque)
            for sequence in sequences:
                head = sequence[0]
                if not any(head in s[1:] for s in sequences):
                    break
            else:
                # Inconsistent in this reading (an opaque base hides part of the order): depth first serves.
                head = sequences[0][0]
            order.append(head)
            sequences = [[c for c in s if c != head] for s in sequences]

    def class_member(self, cls: Resolution, name: str) -> Resolution | None:
        """Class attribute, method or nested class found along the MRO; None when no readable class has it."""
        for owner in self.mro(cls).classes:
            found = self.own_member(owner, name)
            if found is not None:
                return found
        return None

    def own_member(self, cls: Resolution, name: str) -> Resolution | None:
        """What the body of ``cls`` itself binds to ``name``."""
        if cls.kind is not Kind.CLASS:
            return None
        tree = self.tree(cls.module)
        assert tree is not None
        space = tree.namespace(cls.module)
        qualname = f"{cls.qualname}.{name}"
        if name in space.methods.get(cls.qualname, {}):
            return Resolution(Kind.FUNCTION, cls.module, qualname)
        if qualname in space.classes:
            return Resolution(Kind.CLASS, cls.module, qualname)
        record = space.classes.get(cls.qualname)
        if record is not None:
            for assign in record.assigns:
                if assign.name == name:
                    return Resolution(Kind.VALUE, cls.module, qualname)
        return None

    def method(self, cls: Resolution, name: str, *, after: Resolution | None = None) -> Function | None:
        """The method that ``cls.name`` finds; ``after`` starts behind that class, as ``super()`` does."""
        classes = self.mro(cls).classes
        if after is not None and after in classes:
            classes = classes[classes.index(after) + 1 :]
        for owner in classes:
            found = self.own_member(owner, name)
            if found is not None:
                return self.function_record(found) if found.kind is Kind.FUNCTION else None
            if owner.kind is not Kind.CLASS:
                return None
        return None

    def definer(self, cls: Resolution, name: str, *, after: Resolution | None = None) -> Resolution | None:
        """The class along the MRO whose body binds ``name``."""
        classes = self.mro(cls).classes
        if after is not None and after in classes:
            classes = classes[classes.index(after) + 1 :]
        for owner in classes:
            if self.own_member(owner, name) is not None:
                return owner
        return None

    def instance_attributes(self, cls: Resolution) -> frozenset[str]:
        """Attributes that methods along the MRO store on self, and everything class bodies bind."""
        names: set[str] = set()
        for owner in self.mro(cls).classes:
            if owner.kind is not Kind.CLASS:
                continue
            tree = self.tree(owner.module)
            assert tree is not None
            space = tree.namespace(owner.module)
            names.update(space.methods.get(owner.qualname, ()))
            record = space.classes.get(owner.qualname)
            if record is not None:
                names.update(a.name for a in record.assigns)
            for method in space.methods.get(owner.qualname, {}).values():
                names.update(w.attr for w in method.self_writes)
        return frozenset(names)

    def is_subclass(self, cls: Resolution, base_id: str) -> bool:
        """True when a class with id ``base_id`` is on the MRO."""
        return any(c.id == base_id for c in self.mro(cls).classes)


@dataclass(frozen=True, slots=True)
class Mro:
    """Classes in lookup order, the class itself first. ``opaque``: something on it cannot be read."""

    classes: tuple[Resolution, ...]
    opaque: bool


_TRANSPARENT = frozenset(
    {
        "abc:ABC",
        "builtins:object",
        "typing:Generic",
        "typing:Protocol",
        "typing_extensions:Protocol",
        "typing_extensions:Generic",
    }
)
"""External bases that add no attribute a caller could mean."""

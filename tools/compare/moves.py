"""Where an upstream symbol of base went in target: moved, renamed, made private, of another kind, gone."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from tools.code.records import Class, Function
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.compare.bodies import Bodies, alike, dice, words
from tools.compare.fates import RENAMED, Fate, Went, alone, features_of, path_likeness
from tools.findings import Certainty

_RENAMED_KIN = 0.3
"""The same when the two names share their words."""
_SMALL = 5
"""Lines. Below this two bodies are alike by chance."""
_RENAMED_SMALL = 0.75
_LOOKED_AT = 12
"""Candidates whose bodies are compared; the records alone rank the rest lower."""


def where_went(base: Tree, target: Tree, module: str, name: str = "") -> Went:
    """What ``module.name`` of base is in target; ``name`` may be dotted, or '' for the module."""
    return moves(base, target).of(module, name)


@lru_cache(maxsize=4)
def moves(base: Tree, target: Tree) -> Moves:
    """The answers for one pair of trees, each worked out once."""
    return Moves(base, target)


class Moves:
    """Follows symbols from ``base`` to ``target``."""

    def __init__(self, base: Tree, target: Tree) -> None:
        self.base, self.target = base, target
        self.old, self.new = Bodies(base), Bodies(target)
        self._base_world, self._target_world = alone(base), alone(target)
        self._answers: dict[tuple[str, str], Went] = {}
        self._modules: dict[str, Went] = {}
        self._newcomers: list[tuple[str, Function | Class, frozenset[str]]] | None = None

    def of(self, module: str, name: str = "") -> Went:
        """As :func:`where_went`."""
        if not name:
            found = self._modules.get(module)
            if found is None:
                found = self._modules[module] = self._module(module)
            return found
        key = (module, name)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = self._symbol(module, name)
        return answer

    # ---- modules ----

    def _module(self, module: str) -> Went:
        if module in self.target:
            return Went(Fate.PRESENT, module, "", Certainty.CERTAIN, "the module is still there")
        votes: Counter[str] = Counter()
        record = self.base.modules.get(module)
        names = self._definitions(module) if record is not None else []
        for name in names:
            homes = self.target.defined.get(name, ())
            for home in homes:
                if home not in self.base.defined.get(name, ()):
                    votes[home] += 1
        if votes:
            ranked = sorted(votes, key=lambda m: (-votes[m], -path_likeness(module, m), m))
            best = ranked[0]
            share = votes[best] / len(names)
            how = f"{votes[best]} of its {len(names)} definitions are there"
            certainty = Certainty.CERTAIN if share >= 0.6 else Certainty.LIKELY
            return Went(Fate.MOVED, best, "", certainty, how, tuple(ranked[1:4]), round(share, 2))
        return self._package(module)

    def _package(self, module: str) -> Went:
        """A package without definitions of its own moved with the modules below it."""
        prefix = module + "."
        homes: Counter[str] = Counter()
        for below in sorted(m for m in self.base.modules if m.startswith(prefix)):
            went = self.of(below)
            tail = below[len(module) :]
            if went.kind is Fate.MOVED and went.module.endswith(tail):
                homes[went.module[: -len(tail)]] += 1
        if homes:
            best = max(sorted(homes), key=lambda m: homes[m])
            return Went(Fate.MOVED, best, "", Certainty.LIKELY, f"{homes[best]} modules below it are there")
        return Went(Fate.REMOVED, "", "", Certainty.LIKELY, "nothing it defined is in target")

    def _definitions(self, module: str) -> list[str]:
        space = self.base.namespace(module)
        return sorted(name for name, bound in space.names.items() if bound.classes or bound.functions)

    # ---- symbols ----

    def _symbol(self, module: str, name: str) -> Went:
        was = self._base_world.path(f"{module}.{name}")
        now = self._target_world.path(f"{module}.{name}")
        if was.kind is Kind.MODULE and was.module == f"{module}.{name}":
            return self.of(was.module)
        if now.found:
            return self._present(module, name, was, now)
        if was.kind not in (Kind.FUNCTION, Kind.CLASS, Kind.VALUE):
            # Base does not hold it either: look for the name alone.
            was = Resolution(Kind.MISSING, module, name)
        elif was.qualname and (was.module, was.qualname) != (module, name):
            definition = self._target_world.path(f"{was.module}.{was.qualname}")
            if definition.found and definition.kind is was.kind:
                return Went(
                    Fate.MOVED,
                    definition.module,
                    definition.qualname,
                    Certainty.CERTAIN,
                    "defined there already in base; the re-export is gone",
                    similarity=1.0,
                )
        if "." in was.qualname:
            return self._nested(was)
        return (
            self._elsewhere(was)
            or self._renamed(was)
            or Went(
                Fate.REMOVED, "", "", Certainty.LIKELY, "no definition of that name or with a similar body"
            )
        )

    def _present(self, module: str, name: str, was: Resolution, now: Resolution) -> Went:
        kinds = (Kind.CLASS, Kind.FUNCTION)
        if was.kind in kinds and now.kind in kinds and was.kind is not now.kind:
            how = f"a {was.kind} in base, a {now.kind} in target"
            return Went(Fate.CHANGED_KIND, now.module, now.qualname, Certainty.CERTAIN, how)
        if was.kind in kinds and now.kind is was.kind and was.id != now.id and now.module != module:
            return Went(
                Fate.PRESENT,
                now.module,
                now.qualname,
                Certainty.CERTAIN,
                "moved, and imported back to the old place",
            )
        return Went(Fate.PRESENT, module, name, Certainty.CERTAIN, "still there")

    def _elsewhere(self, was: Resolution) -> Went | None:
        """The same name defined in other modules of target."""
        name = was.qualname
        scored = []
        for home in self.target.defined.get(name, ()):
            record = self.new.record(home, name)
            if was.kind in (Kind.CLASS, Kind.FUNCTION) and record is None:
                continue
            if was.kind is Kind.VALUE and record is not None:
                continue
            body = self._likeness(was, home, name)
            stood = home in self.base.defined.get(name, ()) and home != was.module
            path = path_likeness(was.module, home)
            scored.append((body + 0.3 * path - (0.35 if stood else 0), body, stood, home))
        if was.kind is Kind.VALUE and len(scored) > 3:
            # ``logger`` and its like are everywhere.
            scored = [s for s in scored if s[1] > 0.9 and not s[2]]
        if not scored:
            return None
        scored.sort(key=lambda s: (-s[0], s[3]))
        _, body, stood, home = scored[0]
        clear = len(scored) == 1 or scored[0][0] - scored[1][0] >= 0.2
        if was.kind is Kind.MISSING:
            certainty = Certainty.LIKELY if len(scored) == 1 else Certainty.POSSIBLE
        elif body >= 0.5 and clear:
            certainty = Certainty.CERTAIN
        elif (body >= 0.25 and clear) or (len(scored) == 1 and not stood):
            certainty = Certainty.LIKELY
        else:
            certainty = Certainty.POSSIBLE
        if certainty is Certainty.POSSIBLE and was.kind is not Kind.MISSING:
            renamed = self._renamed(was)
            if renamed is not None and renamed.similarity > body:
                return renamed
        how = (
            "the only definition of that name" if len(scored) == 1 else f"best of {len(scored)} of that name"
        )
        if was.kind is not Kind.MISSING and body:
            how += f", {round(body * 100)}% of its lines alike"
        others = tuple(f"{s[3]}:{name}" for s in scored[1:4])
        return Went(Fate.MOVED, home, name, certainty, how, others, round(body, 2))

    def _likeness(self, was: Resolution, home: str, name: str) -> float:
        if was.kind in (Kind.CLASS, Kind.FUNCTION):
            return alike(self.old, (was.module, was.qualname), self.new, (home, name))
        if was.kind is Kind.VALUE:
            one = self.base.namespace(was.module).names.get(was.qualname)
            two = self.target.namespace(home).names.get(name)
            if one and two and one.assigns and two.assigns and one.assigns[0].value == two.assigns[0].value:
                return 1.0
        return 0.0

    # ---- other names ----

    def _renamed(self, was: Resolution) -> Went | None:
        record = self.old.record(was.module, was.qualname)
        if record is None:
            return None
        name = was.qualname
        features = features_of(self.base, was.module, record)
        home = self.of(was.module).module
        ranked = []
        for module, other, their in self._new_definitions():
            kin = dice(words(name), words(other.qualname))
            near = 0.5 if module in (home, was.module) else 0.2 * path_likeness(was.module, module)
            score = dice(features, their) + kin + near
            if score > 0.6:
                ranked.append((score, kin, module, other.qualname))
        ranked.sort(key=lambda r: (-r[0], r[2], r[3]))
        best: tuple[float, float, str, str] | None = None
        for _, kin, module, other_name in ranked[:_LOOKED_AT]:
            body = alike(self.old, (was.module, name), self.new, (module, other_name))
            if best is None or body > best[0]:
                best = (body, kin, module, other_name)
        if best is None:
            return None
        body, kin, module, other_name = best
        near = module in (home, was.module)
        least = _RENAMED_KIN if near and kin >= 0.5 else RENAMED
        if len(self.old.lines(was.module, name)) < _SMALL:
            least = _RENAMED_SMALL
        if body < least:
            return None
        private = other_name == f"_{name}"
        return Went(
            Fate.PRIVATE if private else Fate.RENAMED,
            module,
            other_name,
            Certainty.CERTAIN if body >= 0.8 else Certainty.LIKELY if body >= RENAMED else Certainty.POSSIBLE,
            f"{round(body * 100)}% of its lines are there under the new name",
            similarity=round(body, 2),
        )

    def _new_definitions(self) -> list[tuple[str, Function | Class, frozenset[str]]]:
        """Top-level definitions of target under names that base does not have."""
        if self._newcomers is None:
            self._newcomers = []
            for module in sorted(self.target.modules):
                record = self.target.modules[module]
                tops: list[Function | Class] = [
                    f for f in record.functions if not f.in_class and not f.in_function
                ]
                tops += [c for c in record.classes if "." not in c.qualname and not c.in_function]
                for top in tops:
                    if top.qualname not in self.base.defined:
                        self._newcomers.append((module, top, features_of(self.target, module, top)))
        return self._newcomers

    # ---- members of classes ----

    def _nested(self, was: Resolution) -> Went:
        """A class member: found on the class wherever that went, under its own or another name."""
        owner, _, name = was.qualname.rpartition(".")
        gone = Went(Fate.REMOVED, "", "", Certainty.CERTAIN, "the class has no such member")
        went = self.of(was.module, owner)
        if not went.found:
            return Went(Fate.REMOVED, "", "", went.certainty, f"{owner} is gone")
        cls = self._target_world.path(went.dotted)
        if cls.kind is not Kind.CLASS:
            return gone
        member = self._target_world.class_member(cls, name)
        if member is not None:
            return Went(
                Fate.MOVED, member.module, member.qualname, went.certainty, f"with {owner}: {went.how}"
            )
        methods = self.target.namespace(cls.module).methods.get(cls.qualname, {})
        earlier = self.base.namespace(was.module).methods.get(owner, {})
        best = ("", 0.0)
        for other in methods:
            if other not in earlier:
                key = (cls.module, f"{cls.qualname}.{other}")
                body = alike(self.old, (was.module, was.qualname), self.new, key)
                if other.strip("_") == name.strip("_"):
                    body = max(body, RENAMED)
                if body > best[1]:
                    best = (other, body)
        if best[1] < RENAMED:
            return (
                gone
                if went.kind is Fate.PRESENT
                else Went(Fate.REMOVED, "", "", went.certainty, f"{cls.id} has no such member")
            )
        return Went(
            Fate.PRIVATE if best[0] == f"_{name}" else Fate.RENAMED,
            cls.module,
            f"{cls.qualname}.{best[0]}",
            Certainty.LIKELY if best[1] < 0.8 else Certainty.CERTAIN,
            f"{round(best[1] * 100)}% of its lines are there under the new name",
            similarity=round(best[1], 2),
        )


__all__ = ["Fate", "Moves", "Went", "moves", "where_went"]

"""Where upstream constructs a class that it was told of: put in place of its own, or chosen by a getter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from tools.checks._binding import arguments
from tools.checks._callers import OTHER_DEVICE, Callers, Site
from tools.checks._classes import Seat
from tools.code.constructor import constructor
from tools.code.infer import Form
from tools.code.records import Call
from tools.code.signature import bind
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Certainty


class Constructions:
    """Constructions in the upstream of ``callers``."""

    def __init__(self, callers: Callers) -> None:
        self.callers, self.context, self.world = callers, callers.context, callers.world

    def of(self, seat: Seat) -> Iterator[tuple[Site, Resolution]]:
        """(call, the class it was written for), for calls that can construct the seat's class."""
        for old in sorted(seat.replaced):
            module, _, qualname = old.partition(":")
            yield from self._by_name(Resolution(Kind.CLASS, module, qualname))
        if seat.inherits and not seat.replaced:
            base = self._nearest(seat)
            if base is not None:
                yield from self._by_variable(seat, base)

    def _nearest(self, seat: Seat) -> Resolution | None:
        for cls in self.world.mro(seat.cls).classes[1:]:
            if cls.kind is not Kind.CLASS:
                return None
            if self.world.tree(cls.module) is self.context.upstream:
                return cls
        return None

    def _by_name(self, old: Resolution) -> Iterator[tuple[Site, Resolution]]:
        name = old.qualname.rpartition(".")[2]
        for module, call in self.context.upstream.calls_by_name.get(name, ()):
            head = call.callee.partition(".")[0]
            if OTHER_DEVICE.search(module) or "?" in head or head in ("self", "cls", "super()"):
                continue
            found = self.world.name(module, call.scope, call.callee)
            if found.id == old.id and self.callers.runs(module, call):
                yield Site(module, call, Certainty.CERTAIN), old

    @cached_property
    def _candidates(self) -> tuple[tuple[Resolution, str, Call, Call], ...]:
        """(declared class, module, call of a getter, call of a local variable beside it)."""
        out = []
        upstream = self.context.upstream
        for name in sorted(upstream.calls_by_name):
            if not name.endswith("_cls") or not name.startswith("get_"):
                continue
            declared = self._declared(name)
            if declared is None:
                continue
            for module, got in upstream.calls_by_name[name]:
                if OTHER_DEVICE.search(module) or not got.scope:
                    continue
                known = upstream.namespace(module).names
                for call in upstream.calls(module):
                    callee = call.callee
                    if call.scope != got.scope or not (call.keywords or call.nargs):
                        continue
                    if callee.isidentifier() and callee not in known:
                        out.append((declared, module, got, call))
        return tuple(out)

    def _declared(self, name: str) -> Resolution | None:
        """The class that a getter's annotation ``type[X]`` names, the most special one of several."""
        best: Resolution | None = None
        for owner, function in self.callers.definers(name):
            found = self.callers.annotated(owner.module, function.qualname, function.returns or "")
            if found is None or found.form is not Form.CLASS:
                continue
            if best is None or self.world.is_subclass(best, found.ref.id):
                best = found.ref
        return best

    def _by_variable(self, seat: Seat, base: Resolution) -> Iterator[tuple[Site, Resolution]]:
        """``var = x.get_something_cls(); var(…)``, where most classes like it could take the call."""
        own = constructor(self.world, seat.cls)
        theirs = constructor(self.world, base)
        if own is None or theirs is None:
            return
        for declared, module, got, call in self._candidates:
            if declared.id not in seat.family or not bind(own.params, arguments(call)):
                continue
            if bind(theirs.params, arguments(call)) or not self._customary(base, call):
                continue
            if self._variable(module, got, call):
                yield Site(module, call, Certainty.LIKELY), base

    def _variable(self, module: str, got: Call, call: Call) -> bool:
        """Does ``call`` call the variable that holds what ``got`` gives?"""
        scope = self.context.inference.scope_of(module, got.scope)
        for node in scope.nodes if scope is not None else ():
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            value = node.value
            if isinstance(value, ast.Call) and dotted(value.func) == "cast" and len(value.args) == 2:
                value = value.args[1]
            if node.targets[0].id == call.callee and isinstance(value, ast.Call):
                end = value.end_lineno or value.lineno
                return value.lineno <= got.line <= end and dotted(value.func) == got.callee
        return False

    def _customary(self, base: Resolution, call: Call) -> bool:
        """True when most upstream classes with the same base could be constructed so."""
        last = base.qualname.rpartition(".")[2]
        takes = refuses = 0
        for module, cls in self.context.upstream.subclasses.get(last, ()):
            if OTHER_DEVICE.search(module) or cls.in_function:
                continue
            found = constructor(self.world, Resolution(Kind.CLASS, module, cls.qualname))
            if found is not None:
                takes, refuses = (
                    (takes + 1, refuses) if not bind(found.params, arguments(call)) else (takes, refuses + 1)
                )
        return takes >= refuses

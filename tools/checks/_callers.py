"""Which calls in upstream land on a method of a plugin class.

The receiver decides: ``self`` inside a class on the MRO, a parameter or attribute with a known type, or,
where neither is known, a call that no class outside the family could take.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tools.checks._binding import arguments
from tools.checks._classes import Override, Seat, classes_of
from tools.checks.base import Context
from tools.code.infer import Form, Type
from tools.code.records import Call, Function, ParamKind
from tools.code.signature import (
    Arguments,
    bind,
    is_static,
    keeps_signature,
    without_receiver,
)
from tools.code.world import Kind, Resolution
from tools.findings import Certainty

OTHER_DEVICE = re.compile(r"(^|[._])(cpu|xpu|tpu|rocm|hpu|neuron|aiter|tests?|benchmarks?)([._]|$)")
"""Modules that serve another device: their calls never meet this plugin."""
_GENERIC = frozenset(
    dir(dict) + dir(list) + dir(str) + dir(set) + ["forward", "apply", "run", "start", "join"]
)
"""Names that objects outside both packages have too."""
_TYPE = re.compile(r"(?:typing\.)?[Tt]ype\[\s*[\"']?([\w.]+)(?:\[.*\])?[\"']?\s*\]")


@dataclass(frozen=True, slots=True)
class Site:
    """A call that lands on the plugin's method."""

    module: str
    call: Call
    certainty: Certainty


class Callers:
    """Call sites of upstream, judged by receiver."""

    def __init__(self, context: Context) -> None:
        self.context, self.world = context, context.world
        self._customs: dict[tuple[str, Arguments], bool] = {}
        self._taking: dict[tuple[str, Arguments, bool], list[Resolution]] = {}
        self._definers: dict[str, tuple[tuple[Resolution, Function], ...]] = {}

    @cached_property
    def named(self) -> dict[str, tuple[tuple[str, Function], ...]]:
        """Last part of the name -> functions and methods of upstream, for names that the plugin can mean."""
        wanted = {o.name for o in classes_of(self.context).overrides} | set(self.context.plugin.calls_by_name)
        wanted |= {name for name in self.context.upstream.calls_by_name if name.endswith("_cls")}
        out: dict[str, list[tuple[str, Function]]] = defaultdict(list)
        for module, record in self.context.upstream.modules.items():
            for function in record.functions:
                name = function.qualname.rpartition(".")[2]
                if name in wanted and not function.in_function:
                    out[name].append((module, function))
        return {name: tuple(found) for name, found in out.items()}

    def definers(self, name: str) -> tuple[tuple[Resolution, Function], ...]:
        """Every upstream class that defines the method ``name``."""
        found = self._definers.get(name)
        if found is None:
            found = self._definers[name] = tuple(
                (Resolution(Kind.CLASS, module, f.qualname.rpartition(".")[0]), f)
                for module, f in self.named.get(name, ())
                if f.in_class
            )
        return found

    def method_calls(self, name: str) -> Iterator[tuple[str, Call]]:
        """Calls ``x.name(…)`` in upstream that may run on this platform."""
        for module, call in self.context.upstream.calls_by_name.get(name, ()):
            head, dot, _ = call.callee.rpartition(".")
            if dot and head != "super()" and not OTHER_DEVICE.search(module) and self.runs(module, call):
                yield module, call

    def runs(self, module: str, call: Call) -> bool:
        """False when the plugin replaces the function the call stands in."""
        name = f"{module}.{call.scope}"
        patched = self.context.patched
        while name and name != module:
            if any(p.replacement is not None for p in patched.get(name, ())):
                return False
            name = name.rpartition(".")[0]
        return True

    def sites(
        self, seat: Seat, name: str, upstream: Function, wanted: Callable[[Call], bool]
    ) -> Iterator[Site]:
        """Calls of ``name`` that bind to the upstream method, land on ``seat`` and are ``wanted``.

        Receivers cost most, so they are looked at last.
        """
        params = without_receiver(upstream)
        for module, call in self.method_calls(name):
            if not wanted(call) or (bind(params, arguments(call)) and keeps_signature(upstream)):
                continue
            certainty = self.lands_on(seat, name, module, call)
            if certainty is not None:
                yield Site(module, call, certainty)

    def is_open(self, override: Override, site: Site) -> bool:
        """True when the contract takes anything and classes that follow it differ in what they accept.

        ``QuantizeMethodBase.apply(layer, *args)`` is called one way for linear layers, another for experts;
        a call belongs to the plugin's class only if all who share the contract could take it.
        """
        anything = (ParamKind.VAR_POSITIONAL, ParamKind.VAR_KEYWORD)
        if not any(p.kind in anything for p in override.upstream.params):
            return False
        given = arguments(site.call)
        return any(
            bind(without_receiver(f), given)
            for owner, f in self.definers(override.name)
            if any(c.id == override.upstream_owner.id for c in self.world.mro(owner).classes)
        )

    # ---- receivers ----

    def enclosing(self, module: str, scope: str) -> tuple[Resolution | None, Function | None, str]:
        """(class, method, name of its receiver) around ``scope``."""
        tree = self.world.tree(module)
        assert tree is not None
        space = tree.namespace(module)
        parts = scope.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            owner = ".".join(parts[:cut])
            if owner in space.classes:
                method = space.functions.get(f"{owner}.{parts[cut]}")
                receiver = ""
                if method is not None and method.params and not is_static(method):
                    receiver = method.params[0].name
                return Resolution(Kind.CLASS, module, owner), method, receiver
        return None, space.functions.get(parts[0]), ""

    def receiver(self, module: str, call: Call) -> Type | None:
        """The type before the last dot; None when unknown."""
        head, *rest = call.callee.split(".")[:-1]
        cls, method, self_name = self.enclosing(module, call.scope)
        current = self._head(module, call, head, cls, method, self_name)
        for part in rest:
            if current is None:
                return None
            current = self.context.inference.attribute(current, part)
        return current

    def _head(
        self,
        module: str,
        call: Call,
        head: str,
        cls: Resolution | None,
        method: Function | None,
        self_name: str,
    ) -> Type | None:
        if head in ("?", "super()"):
            return None
        if cls is not None and head == self_name and method is not None:
            return Type(Form.CLASS if "classmethod" in method.decorators else Form.INSTANCE, cls)
        for param in method.params if method is not None else ():
            if param.name == head:
                return self.annotated(module, call.scope, param.annotation or "")
        scope = self.context.inference.scope_of(module, call.scope) if call.scope else None
        if scope is not None and head in scope.names:
            return self.context.inference.of(ast.Name(head), scope)
        found = self.world.name(module, call.scope, head)
        if found.kind is Kind.CLASS:
            return Type(Form.CLASS, found)
        if found.kind is Kind.MODULE:
            return Type(Form.MODULE, found)
        return None

    def annotated(self, module: str, scope: str, text: str) -> Type | None:
        """``X`` is an instance of X, ``type[X]`` the class."""
        match = _TYPE.fullmatch(text.strip().strip("\"'"))
        if match is None:
            return self.context.inference.annotation(module, scope, text) if text else None
        found = self.context.inference.annotation(module, scope, match[1])
        return Type(Form.CLASS, found.ref) if found is not None else None

    def lands_on(self, seat: Seat, name: str, module: str, call: Call) -> Certainty | None:
        """How surely the call runs the plugin's method; None when it does not, or nothing says so."""
        cls, method, self_name = self.enclosing(module, call.scope)
        head = call.callee.rpartition(".")[0]
        if cls is not None and head == self_name and self_name:
            assert method is not None
            return Certainty.CERTAIN if self._inherited(seat, cls, method) else None
        known = self.receiver(module, call)
        if known is not None:
            if known.form not in (Form.CLASS, Form.INSTANCE) or known.ref.id not in seat.family:
                return None
            named = known.form is Form.CLASS and known.ref.qualname == head.rpartition(".")[2]
            if (known.exact or named) and known.ref.id not in seat.replaced:
                return None
            return Certainty.CERTAIN
        if not seat.inherits and not seat.replaced:
            return Certainty.LIKELY if self._customary(name, call) else None
        if not self._only_family(seat, name, call) or self._left_behind(seat, module, call):
            return None
        return Certainty.LIKELY

    def _left_behind(self, seat: Seat, module: str, call: Call) -> bool:
        """True for a helper function that only methods call which the plugin's class overrides."""
        if not call.scope or "." in call.scope:
            return False
        users = [
            (self.enclosing(caller, c.scope), caller)
            for caller, c in self.context.upstream.calls_by_name.get(call.scope, ())
            if caller == module
        ]
        return bool(users) and all(
            cls is not None
            and method is not None
            and cls.id in seat.family
            and not self._inherited(seat, cls, method)
            for (cls, method, _), _ in users
        )

    def _customary(self, name: str, call: Call) -> bool:
        """True when nearly every upstream class with such a method could take the call."""
        key = (name, given := arguments(call))
        if key not in self._customs:
            takes = [
                not bind(without_receiver(f), given) for _, f in self.definers(name) if keeps_signature(f)
            ]
            usual = len(takes) > 1 and sum(takes) * 10 >= len(takes) * 9
            self._customs[key] = name not in _GENERIC and usual
        return self._customs[key]

    def _inherited(self, seat: Seat, cls: Resolution, method: Function) -> bool:
        """Does ``cls.method`` run on an instance of the seat's class?"""
        if cls.id not in seat.family:
            return False
        name = method.qualname.rpartition(".")[2]
        for owner in self.world.mro(seat.cls).classes:
            if owner.id == cls.id:
                return True
            member = self.world.own_member(owner, name)
            if member is None:
                continue
            tree = self.world.tree(owner.module)
            if tree is None or member.kind is not Kind.FUNCTION:
                return False
            forwarded = f"super().{name}"
            if not any(
                c.callee == forwarded and c.scope == member.qualname for c in tree.calls(owner.module)
            ):
                return False
        return False

    def _only_family(self, seat: Seat, name: str, call: Call) -> bool:
        """True when no upstream class outside the family has a method that could take the call.

        A few strangers pass when the receiver is named like the family: ``attn_backend``, AttentionBackend. Then
        those that only pass anything on (``**kwargs``) are no strangers either: they tell nothing.
        """
        telling = len(call.keywords) >= 1 or call.nargs >= 3
        if not telling and name in _GENERIC:
            return False
        mine = frozenset(owner.id for owner, _ in self.definers(name) if owner.id in seat.family)
        alike = telling and self._called_alike(mine, call)
        takers = [
            owner
            for owner in self._takers(name, call, naming=alike and bool(call.keywords))
            if owner.id not in seat.family
        ]
        allowed = len(takers) // 8 if alike else 0
        strangers = 0
        for owner in takers:
            if not any(c.id in mine for c in self.world.mro(owner).classes):
                strangers += 1
                if strangers > allowed:
                    return False
        return True

    def _takers(self, name: str, call: Call, *, naming: bool) -> list[Resolution]:
        """Upstream classes whose method ``name`` could take the call; ``naming``: by a parameter for each keyword."""
        key = (name, given := arguments(call), naming)
        if key not in self._taking:
            self._taking[key] = [
                owner for owner, f in self.definers(name) if (_names if naming else _takes)(f, given)
            ]
        return self._taking[key]

    def _called_alike(self, mine: frozenset[str], call: Call) -> bool:
        receiver = call.callee.rpartition(".")[0].rpartition(".")[2]
        last = receiver.strip("_").rpartition("_")[2].lower()
        words = {w.lower() for cls in mine for w in re.findall("[A-Z][a-z]+", cls.rpartition(":")[2])}
        return last in words


def _takes(function: Function, given: Arguments) -> bool:
    return not keeps_signature(function) or not bind(without_receiver(function), given)


def _names(function: Function, given: Arguments) -> bool:
    named = [p for p in without_receiver(function) if p.kind != ParamKind.VAR_KEYWORD]
    return not bind(named, given)


def callers_of(context: Context) -> Callers:
    """The call sites of a context's upstream, read once."""
    key = f"callers:{context.role}"
    found = context.shared.get(key)
    if not isinstance(found, Callers) or found.context is not context:
        found = context.shared[key] = Callers(context)
    return found

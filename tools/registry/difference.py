"""What of a plugin class or function differs from its upstream counterpart, read from both, in a few words."""

from __future__ import annotations

import ast
from difflib import SequenceMatcher

from tools.code.functions import function_node, walk
from tools.code.records import Function, ParamKind
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.compare.statements import statements
from tools.registry.subject import Subject

_SHOWN = 4
_OPEN = (ParamKind.VAR_POSITIONAL, ParamKind.VAR_KEYWORD)
_COPIED = 0.5
"""Share of a body's statements that a copy has in common with its original."""


class Differences:
    """Of one plugin against one upstream."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world

    def of_class(self, cls: Resolution, counterpart: Resolution) -> str:
        """How ``cls`` relates to ``counterpart`` and what it defines itself; '' when one cannot be read."""
        own, theirs = self.world.class_record(cls), self.world.class_record(counterpart)
        if own is None or theirs is None:
            return ""
        if cls.id == counterpart.id:
            return "upstream's own class"
        parts = [self._relation(cls, counterpart)]
        methods = _methods(self.world, cls)
        derived = self.world.is_subclass(cls, counterpart.id)
        overrides, adds, same = [], [], 0
        for name, function in methods.items():
            original = self._original(cls, counterpart, name, derived)
            detail = self._method(cls, name, function, original) if original is not None else ""
            if original is None:
                adds.append(name)
            elif detail:
                overrides.append(f"`{name}` ({detail})")
            else:
                same += 1
        verb = "overrides" if derived else "has its own"
        if overrides:
            parts.append(f"{verb} {_listed(overrides)}")
        if same:
            parts.append(f"{verb} {same} method{'s' * (same != 1)} with the same statements")
        if adds:
            parts.append(f"adds {_listed([f'`{n}`' for n in adds])}")
        fields = [a.name for a in own.assigns if not a.name.startswith("__")]
        if fields:
            parts.append(f"sets {_listed([f'`{f}`' for f in fields])}")
        if not derived:
            lacking = [
                n for n in _methods(self.world, counterpart) if self.world.class_member(cls, n) is None
            ]
            if lacking:
                parts.append(f"lacks {_listed([f'`{n}`' for n in lacking])}")
        if not methods and not fields:
            parts.append("defines nothing of its own")
        return "; ".join(parts)

    def of_function(self, function: Resolution, counterpart: Resolution) -> str:
        """How much of the body and which parameters differ; '' when one cannot be read."""
        own, theirs = self.world.function_record(function), self.world.function_record(counterpart)
        if own is None or theirs is None:
            return ""
        return self._changed(function.module, own, counterpart.module, theirs) or "the same statements"

    def changed_upstream(self, cls: Resolution, counterpart: Resolution) -> list[str]:
        """Methods that ``cls`` has itself and that upstream changed between base and target."""
        before = self.subject.before
        if before is None:
            return []
        old = before.world.path(counterpart.id.replace(":", "."))
        out = []
        for name in _methods(self.world, cls):
            was = before.world.own_member(old, name) if old.kind is Kind.CLASS else None
            now = self.world.own_member(counterpart, name)
            if was is None or now is None:
                continue
            then, today = before.world.function_record(was), self.world.function_record(now)
            if then is not None and today is not None and then.text_hash != today.text_hash:
                out.append(name)
        return out

    # ---- parts ----

    def _relation(self, cls: Resolution, counterpart: Resolution) -> str:
        if self.world.is_subclass(cls, counterpart.id):
            direct = [b.id for b in self.world.bases(cls)]
            if counterpart.id in direct:
                return f"derives from `{counterpart.qualname}`"
            between = [
                c.qualname
                for c in self.world.mro(cls).classes[1:]
                if self.world.is_subclass(c, counterpart.id) and c.id != counterpart.id
            ]
            return f"derives from `{counterpart.qualname}` through {_listed([f'`{b}`' for b in between])}"
        bases = [b.qualname or b.module for b in self.world.bases(cls)]
        named = _listed([f"`{b}`" for b in bases]) if bases else "nothing"
        return f"does not derive from `{counterpart.qualname}` (its base is {named})"

    def _original(
        self, cls: Resolution, counterpart: Resolution, name: str, derived: bool
    ) -> Resolution | None:
        found = None
        if derived:
            owner = self.world.definer(cls, name, after=cls)
            found = self.world.own_member(owner, name) if owner is not None else None
        else:
            found = self.world.class_member(counterpart, name)
        return found if found is not None and found.kind is Kind.FUNCTION else None

    def _method(self, cls: Resolution, name: str, function: Function, original: Resolution) -> str:
        theirs = self.world.function_record(original)
        if theirs is None:
            return "upstream's cannot be read"
        details = [self._changed(cls.module, function, original.module, theirs)]
        if name == "__init__" and self._bypasses(cls, function):
            details.append(f"without running `{original.qualname}`")
        return ", ".join(filter(None, details))

    def _bypasses(self, cls: Resolution, function: Function) -> bool:
        """``super(Parent, self).__init__``: the parent's own constructor is stepped over."""
        lines = self.world.plugin.lines(cls.module)[function.line - 1 : function.end_line]
        return any("super(" in line and "super()" not in line and "__init__" in line for line in lines)

    def _changed(self, module: str, own: Function, other: str, theirs: Function) -> str:
        """Parameters that differ, and how many statements do."""
        parts = []
        if not any(p.kind in _OPEN for p in (*own.params, *theirs.params)):
            mine, upstream = [p.name for p in own.params], [p.name for p in theirs.params]
            more = [p for p in mine if p not in upstream and p not in ("self", "cls")]
            less = [p for p in upstream if p not in mine and p not in ("self", "cls")]
            if more:
                parts.append(f"takes {_listed(more)} more")
            if less:
                parts.append(f"lacks {_listed(less)}")
        a, b = self.world.tree(module), self.world.tree(other)
        left = _keys(a, module, own) if a is not None else []
        right = _keys(b, other, theirs) if b is not None else []
        whole = max(len(left), len(right))
        if left == right:
            names = self._other_names(module, own, other, theirs)
            if names:
                parts.append(f"the same statements, with another {_listed(names)} behind them")
        elif left and right:
            matcher = SequenceMatcher(None, right, left, autojunk=False)
            same = sum(block.size for block in matcher.get_matching_blocks())
            if same >= _COPIED * whole:
                parts.append(f"copied body, {whole - same} of {whole} statements differ")
            else:
                parts.append(f"own body of {len(left)} statement{'s' * (len(left) != 1)}")
        parts += self._decorators(a, module, own, b, other, theirs)
        return ", ".join(parts)

    def _other_names(self, module: str, own: Function, other: str, theirs: Function) -> list[str]:
        """Names that mean one thing in the plugin's module and another in upstream's."""
        tree = self.world.tree(module)
        node = function_node(tree, module, own) if tree is not None else None
        names = {n.id for n in walk(node) if isinstance(n, ast.Name)} if node is not None else set()
        bound = {p.name for p in own.params}
        out = []
        for name in sorted(names - bound):
            here = self.world.name(module, own.qualname, name)
            there = self.world.name(other, theirs.qualname, name)
            if not (here.found and there.found) or here == there:
                continue
            if (
                here.kind is Kind.VALUE
                and there.kind is Kind.VALUE
                and self._bound(here) == self._bound(there)
            ):
                continue
            out.append(f"`{name}`")
        return out

    def _bound(self, found: Resolution) -> list[str]:
        """Source of everything that a module binds to a name."""
        tree = self.world.tree(found.module)
        bindings = tree.namespace(found.module).names.get(found.qualname) if tree is not None else None
        return [a.value for a in bindings.assigns] if bindings is not None else []

    def _decorators(
        self, a: Tree | None, module: str, own: Function, b: Tree | None, other: str, theirs: Function
    ) -> list[str]:
        if a is None or b is None:
            return []
        patching = {p.line for p in self.subject.patches if p.module == module}
        here = _decorator_lines(a, module, own, patching)
        there = _decorator_lines(b, other, theirs, set())
        plain = {"staticmethod", "classmethod", "property"}
        lost = sorted((set(theirs.decorators) - set(own.decorators)) & plain)
        gained = sorted((set(own.decorators) - set(theirs.decorators)) & plain)
        out = [f"without @{d}" for d in lost] + [f"with @{d}" for d in gained]
        if not out and here != there and not own.in_class:
            out.append("other decorators")
        return out


def _decorator_lines(tree: Tree, module: str, function: Function, leave_out: set[int]) -> list[str]:
    """Source of the decorators without blanks; those that start on the lines to leave out are the patch itself."""
    node = function_node(tree, module, function)
    decorators = node.decorator_list if node is not None else []
    return [ast.unparse(d) for d in decorators if d.lineno not in leave_out]


def _keys(tree: Tree, module: str, function: Function) -> list[str]:
    return [s.key for s in statements(tree, module, function)]


def _methods(world: World, cls: Resolution) -> dict[str, Function]:
    tree = world.tree(cls.module)
    return tree.namespace(cls.module).methods.get(cls.qualname, {}) if tree is not None else {}


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"

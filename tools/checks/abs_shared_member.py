"""A member used on every registered class of a kind, that some of them lack.

Classes registered under one decorator are used in place of each other: the caller holds one of them and does
not know which. A method or flag that the plugin gave to one of its classes, and that code reads on whatever
it holds, fails for the others.

Example: ``config.fa_quant_layers()`` is called on the active quantization config; the plugin's int8 config
has it, its compressed config does not: AttributeError with the second kind of checkpoint.

Cannot see: which of the classes a call site is ever given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tools.checks._callers import callers_of
from tools.checks.base import Context, Result
from tools.code.records import Call
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Level, Severity

ID = "ABS002"
TITLE = "A member used on every registered class is missing on some"
SEVERITY = Severity.WARNING

_ASKS = re.compile(r"\b(hasattr|isinstance|getattr|callable)\(")


def run(context: Context) -> Iterable[Result]:
    """Findings for registered classes of the plugin."""
    for decorator, classes in sorted(_registered(context).items()):
        if len(classes) < 2:
            continue
        names = sorted({n for cls in classes for n in _own_methods(context, cls)})
        for name in names:
            having = [c for c in classes if context.world.class_member(c, name) is not None]
            lacking = [c for c in classes if c not in having and _readable(context, c)]
            site = _site(context, name, having) if lacking else None
            if site is not None:
                yield from _findings(context, decorator, name, classes, lacking, having, site)


def _registered(context: Context) -> dict[str, list[Resolution]]:
    out: dict[str, list[Resolution]] = defaultdict(list)
    for module, record in context.plugin.classes():
        for decorator in record.decorators:
            callee = decorator.partition("(")[0].rpartition(".")[2]
            if callee.startswith("register") and callee != "register_oot" and not record.in_function:
                out[callee].append(Resolution(Kind.CLASS, module, record.qualname))
    return out


def _own_methods(context: Context, cls: Resolution) -> Iterator[str]:
    """Public methods that the plugin's class brings and upstream's classes do not have."""
    upstream = [c for c in context.world.mro(cls).classes if context.world.tree(c.module) is context.upstream]
    for name in context.plugin.namespace(cls.module).methods.get(cls.qualname, {}):
        if not name.startswith("_") and all(context.world.own_member(c, name) is None for c in upstream):
            yield name


def _readable(context: Context, cls: Resolution) -> bool:
    return all(
        c.kind is Kind.CLASS or c.id in ("abc:ABC", "torch.nn:Module") for c in context.world.mro(cls).classes
    )


def _site(context: Context, name: str, having: list[Resolution]) -> tuple[Tree, str, Call] | None:
    """A call on an object that may be any of the classes, with nothing that asks first."""
    owners = {c.id for c in having}
    for tree in (context.plugin, context.upstream):
        for module, call in tree.calls_by_name.get(name, ()):
            if "." not in call.callee or call.callee.startswith("super()") or _asks(tree, module, call):
                continue
            if _elsewhere(context, name, owners):
                return None
            callers = callers_of(context)
            cls = callers.enclosing(module, call.scope)[0]
            if (
                cls is not None
                and call.callee.partition(".")[0] in ("self", "cls")
                and call.callee.count(".") == 1
            ):
                continue
            known = callers.receiver(module, call)
            if known is None or not any(c.id in owners for c in context.world.mro(known.ref).classes):
                return tree, module, call
    return None


def _elsewhere(context: Context, name: str, owners: set[str]) -> bool:
    """Do other classes have a method of that name?"""
    for tree in (context.plugin, context.upstream):
        for module, record in tree.modules.items():
            for function in record.functions:
                owner, _, last = function.qualname.rpartition(".")
                if last == name and f"{module}:{owner}" not in owners:
                    return True
    return False


def _asks(tree: Tree, module: str, call: Call) -> bool:
    function = tree.namespace(module).functions.get(call.scope)
    first = function.line if function is not None else max(1, call.line - 3)
    return any(_ASKS.search(line) for line in tree.lines(module)[first - 1 : call.line])


def _findings(
    context: Context,
    decorator: str,
    name: str,
    classes: list[Resolution],
    lacking: list[Resolution],
    having: list[Resolution],
    site: tuple[Tree, str, Call],
) -> Iterator[Result]:
    tree, module, call = site
    for cls in lacking:
        record = context.world.class_record(cls)
        yield context.finding(
            ID,
            module=cls.module,
            line=record.line if record is not None else 1,
            symbol=cls.qualname,
            key=name,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            level=Level.SOURCE,
            message=(
                f"`{tree.paths[module]}:{call.line}` calls `{name}` on whichever class of `@{decorator}` is"
                f" active; it is missing on {len(lacking)} of {len(classes)}, this one among them"
            ),
            trigger=f"`{call.scope or module}` with a `{cls.qualname}`",
            consequence=f"AttributeError: `{cls.qualname}` has no `{name}`",
            suggestion=f"give `{cls.qualname}` the method, as `{having[0].qualname}` has it",
            evidence=[context.cite(tree, module, call.line), context.cite_definition(having[0])],
            cause=f"{name} used on every @{decorator}",
        )

"""A class of the plugin is abstract in the target.

A plugin class derives from an abstract upstream class that asks for methods the plugin does not have. Nothing
happens at import: Python refuses when the class is constructed, often first when a model is loaded.

Example: upstream splits ``forward`` into ``forward_mha`` and ``forward_mqa``, both abstract; the plugin's
``MyImpl`` still has ``forward`` alone: ``TypeError: Can't instantiate abstract class MyImpl``.

Cannot see: classes with a base outside both packages that might supply the method.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.checks._classes import Classes, classes_of
from tools.checks.base import Context, Result
from tools.code.records import Function
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Level, Severity

ID = "ABS001"
TITLE = "A class of the plugin lacks abstract methods"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Findings for plugin classes that upstream or the plugin constructs."""
    classes = classes_of(context)
    for seat in classes.seats:
        if seat.inherits:
            yield from _judge(context, classes, seat.cls)


def is_abstract(function: Function) -> bool:
    """True for ``@abstractmethod`` and its like."""
    return any(d.partition("(")[0].rpartition(".")[2].startswith("abstract") for d in function.decorators)


def _judge(context: Context, classes: Classes, cls: Resolution) -> Iterator[Result]:
    missing = _missing(context, cls)
    if not missing:
        return
    if any(context.world.tree(owner.module) is context.plugin for owner, _ in missing):
        return  # Meant to be abstract: the plugin itself asks for more.
    used = classes.is_used(cls)
    if not used and (cls.id in classes.parents or context.before is None or _missing(context.before, cls)):
        return  # Never constructed as it is, before the upgrade either.
    record = context.world.class_record(cls)
    line = record.line if record is not None else 1
    names = [f.qualname.rpartition(".")[2] for _, f in missing]
    listed = ", ".join(f"`{name}`" for name in names)
    where = context.version(context.role)
    owner = missing[0][0]
    yield context.finding(
        ID,
        module=cls.module,
        line=line,
        symbol=cls.qualname,
        key=",".join(sorted(names)),
        severity=Severity.ERROR if used else Severity.WARNING,
        certainty=Certainty.CERTAIN if used else Certainty.LIKELY,
        level=Level.SIGNATURE,
        message=(
            f"`{cls.qualname}` is abstract against {where}: `{owner.qualname}` asks for {listed}, which the"
            f" class and its other bases do not define"
        ),
        trigger=used or f"constructing `{cls.qualname}`; no place that does was found",
        consequence=f"TypeError: Can't instantiate abstract class {cls.qualname}; importing it shows nothing",
        suggestion=f"implement {listed} as {where} means them",
        evidence=[
            context.cite(context.upstream, o.module, f.first_line, min(f.end_line, f.first_line + 12))
            for o, f in missing[:4]
        ],
        cause=f"{owner.module}:{owner.qualname} abstract {','.join(sorted(names))}",
    )


def _missing(context: Context, cls: Resolution) -> list[tuple[Resolution, Function]]:
    """(owner, abstract method) that nothing on the MRO implements."""
    world = context.world
    mro = world.mro(cls).classes
    enforced = False
    for owner in mro:
        record = world.class_record(owner) if owner.kind is Kind.CLASS else None
        if record is not None:
            enforced = enforced or any(b.rpartition(".")[2] in ("ABC", "Protocol") for b in record.bases)
            enforced = enforced or any(k == "metaclass" and "ABCMeta" in v for k, v in record.keywords)
        elif owner.id not in ("abc:ABC", "torch.nn:Module", "torch.nn.modules.module:Module"):
            return []
    if not enforced:
        return []
    decided: set[str] = set()
    out: list[tuple[Resolution, Function]] = []
    for owner in mro:
        tree = world.tree(owner.module) if owner.kind is Kind.CLASS else None
        if tree is None:
            continue
        space = tree.namespace(owner.module)
        record = space.classes.get(owner.qualname)
        methods = space.methods.get(owner.qualname, {})
        for name, function in methods.items():
            if name not in decided:
                decided.add(name)
                if is_abstract(function):
                    out.append((owner, function))
        if record is not None:
            decided.update(a.name for a in record.assigns if a.value)
        inner = f"{owner.qualname}."
        decided.update(n.removeprefix(inner) for n in space.classes if n.startswith(inner))
    return out

"""An inherited constructor newly selects a backend that may have no answer for this platform.

Upstream moves the choice of a kernel backend into the constructor of a quantization or layer method. The
function that chooses goes through the backends it knows, asks ``current_platform`` and raises when none fits:
a plugin class that inherits the constructor, or calls it, raises while the model is built.

Example: ``WNA16MoEMethod.__init__`` calls ``select_wna16_moe_backend(config)`` in the target, whose last line
is ``raise NotImplementedError``. No W4A16 model loads on a platform that none of the backends knows.

Cannot see: whether one of the backends accepts the plugin's platform after all; hence 'possible'.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from tools.checks._platforms import facts
from tools.checks._reads import reads
from tools.checks._source import IN_TREE, Facts, dead, effects, function_node, guarded_nodes, self_name
from tools.checks._state import Method, Run, constants, construction, find, node_of
from tools.checks._uses import entries
from tools.checks.base import Context, Result
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "INI002"
TITLE = "Inherited constructor selects a backend that may not exist here"
SEVERITY = Severity.WARNING
_RAISED = frozenset({"NotImplementedError", "ValueError", "RuntimeError"})


@dataclass(frozen=True, slots=True)
class Selection:
    """A call in a constructor, of a function that can fail on a platform it does not know."""

    method: Method
    line: int
    function: Resolution
    stored: tuple[str, ...]
    """Attributes that take the result."""


def run(context: Context) -> Iterable[Result]:
    platform = facts(context)
    for module, record in context.plugin.classes():
        cls = Resolution(Kind.CLASS, module, record.qualname)
        if record.in_function or not context.world.mro(cls).classes[1:]:
            continue
        start = find(context.world, cls, "__init__")
        if start is None:
            continue
        done = construction(context.world, cls, start)
        for selection in _selections(context, done, platform):
            yield _finding(context, cls, record.line, done, selection, platform)


def _selections(context: Context, done: Run, platform: Facts) -> Iterator[Selection]:
    world = context.world
    for method in done.methods.values():
        node = node_of(world, method) if world.tree(method.owner.module) is context.upstream else None
        if node is None:
            continue
        receiver = self_name(node)
        for child in effects(node):
            if not isinstance(child, ast.Assign) or not isinstance(child.value, ast.Call):
                continue
            stored = tuple(
                n.attr for target in child.targets for n in ast.walk(target) if isinstance(n, ast.Attribute)
            )
            name = dotted(child.value.func)
            if not stored or name.split(".")[0] in ("?", "torch", receiver):
                continue
            found = world.name(method.owner.module, method.function.qualname, name)
            if found.kind is not Kind.FUNCTION or not _can_fail(context, found):
                continue
            if any(c is child and not dead(guards, platform) for c, guards in guarded_nodes(node)):
                yield Selection(method, child.lineno, found, stored)


def _can_fail(context: Context, found: Resolution) -> bool:
    """Raises at its end or in a branch, and asks the platform or goes through candidates to get there.

    A function that the plugin replaces is the plugin's business.
    """
    if (
        found.id.replace(":", ".") in context.patched
        or context.world.tree(found.module) is not context.upstream
    ):
        return False
    function = context.world.function_record(found)
    node = function_node(context.upstream, found.module, function) if function is not None else None
    if function is None or node is None or not _raises(node.body[-1]):
        return False
    asks = any(
        isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute) and c.func.attr in IN_TREE
        for c in effects(node)
    )
    return asks or ("backend" in function.qualname and any(isinstance(c, ast.For) for c in effects(node)))


def _raises(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.Raise) and stmt.exc is not None:
        exc = stmt.exc.func if isinstance(stmt.exc, ast.Call) else stmt.exc
        return dotted(exc) in _RAISED
    return isinstance(stmt, ast.If) and any(_raises(part[-1]) for part in (stmt.body, stmt.orelse) if part)


def _finding(
    context: Context, cls: Resolution, line: int, done: Run, selection: Selection, platform: Facts
) -> Result:
    world = context.world
    owner = selection.method.owner
    needed = sorted(
        attr
        for attr, writes in done.writes.items()
        if any(
            world.tree(m.owner.module) is context.upstream and m.owner.id == owner.id for m, _, _ in writes
        )
    )
    readers = _readers(context, cls, done, selection, platform)
    consumed = "; ".join(f"{attr} in {where}" for attr, where in readers) or "nowhere in this class"
    return context.finding(
        ID,
        module=cls.module,
        line=line,
        symbol=cls.qualname,
        key=selection.function.qualname,
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,
        message=(
            f"{cls.qualname} runs {owner.qualname}.__init__, which calls {selection.function.qualname}(): it "
            f"raises when no backend knows the platform"
        ),
        trigger=f"constructing a {cls.qualname}",
        consequence=(
            f"NotImplementedError or ValueError while the model is built. A constructor of its own must set "
            f"{', '.join(needed)}"
        ),
        suggestion=(
            f"Check that {selection.function.qualname}() has an answer here, or set what it would give. Its result "
            f"is read: {consumed}. Storing None is safe only if none of these is reached."
        ),
        evidence=[
            context.cite(context.upstream, owner.module, selection.line),
            context.cite_definition(selection.function),
        ],
        cause=f"{owner.id}.__init__ calls {selection.function.qualname}",
    )


def _readers(
    context: Context, cls: Resolution, done: Run, selection: Selection, platform: Facts
) -> list[tuple[str, str]]:
    """Attribute that takes the result -> the methods that read it."""
    about = replace(platform, known=constants(done))
    found, _ = reads(context.world, cls, entries(context, cls), about)
    out: dict[str, str] = {}
    for read in found:
        if read.attr in selection.stored:
            place = f"{read.method.function.qualname} ({read.method.owner.module}:{read.line})"
            out.setdefault(read.attr, place)
    return sorted(out.items())

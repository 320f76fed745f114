"""A predicate that the original answers and the copy leaves to a base class.

A plugin class copied from an upstream class, and derived from the same abstract base, does not follow when
the original begins to answer a question for which the base has a default. Selection then sees the default: a
backend is refused, a feature is off, and nothing in the plugin was touched.

Example: ``AttentionBackend.supports_batch_invariance`` returns False, ``FlashAttentionBackend`` returns True,
the plugin's copy of it derives from ``AttentionBackend`` and says nothing: no backend is valid in that mode.

A method the original gained in this very upgrade is reported by DRF003.

Cannot see: answers that are computed. Whether the copy could say what the original says is for a person.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._copies import Copy, copies
from tools.checks._source import constant_returned, function_node
from tools.checks._uses import outside_calls
from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "PLT002"
TITLE = "Predicate that the original answers and its copy does not"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    for pair in copies(context):
        for name, (default, answer) in sorted(_differences(context, pair).items()):
            yield _finding(context, pair, name, default, answer)


def _differences(context: Context, pair: Copy) -> dict[str, tuple[Resolution, Resolution]]:
    """Name -> (what the copy finds, what the original defines), where both give back a constant."""
    world = context.world
    shared = {c.id for c in world.mro(pair.cls).classes}
    gained = _gained(context, pair)
    out = {}
    for owner in world.mro(pair.original).classes:
        if owner.id in shared or world.tree(owner.module) is not context.upstream:
            continue
        for name in context.upstream.namespace(owner.module).methods.get(owner.qualname, {}):
            if name.startswith("__") or name in out or name in gained:
                continue
            default = world.class_member(pair.cls, name)
            answer = world.class_member(pair.original, name)
            if (
                default is None
                or answer is None
                or default.id == answer.id
                or world.tree(default.module) is not context.upstream
            ):
                continue
            values = _constant(context, default), _constant(context, answer)
            if None not in values and values[0] != values[1] and outside_calls(context.upstream, name):
                out[name] = (default, answer)
    return out


def _gained(context: Context, pair: Copy) -> set[str]:
    """Methods that the original has only in the target: DRF003 reports these."""
    if context.before is None:
        return set()
    then = context.before.upstream.namespace(pair.original.module)
    now = context.upstream.namespace(pair.original.module).methods.get(pair.original.qualname, {})
    if pair.original.qualname not in then.classes:
        return set()
    return now.keys() - then.methods.get(pair.original.qualname, {}).keys()


def _constant(context: Context, method: Resolution) -> str | None:
    """Source of the constant a method returns, or ``NotImplementedError`` where it raises that."""
    function = context.world.function_record(method) if method.kind is Kind.FUNCTION else None
    tree = context.world.tree(method.module)
    if function is None or tree is None or function.end_line - function.line > 12:
        return None
    node = function_node(tree, method.module, function)
    found = constant_returned(node) if node is not None else None
    return ast.unparse(found) if found is not None else None


def _finding(context: Context, pair: Copy, name: str, default: Resolution, answer: Resolution) -> Result:
    record = context.world.class_record(pair.cls)
    assert record is not None
    says, ours = _constant(context, answer), _constant(context, default)
    calls = outside_calls(context.upstream, name)[:2]
    where = ", ".join(f"{module}:{call.line}" for module, call in calls)
    return context.finding(
        ID,
        module=pair.cls.module,
        line=record.line,
        symbol=pair.cls.qualname,
        key=name,
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=(
            f"{pair.cls.qualname} leaves {name}() to {default.qualname.rpartition('.')[0]}, which says "
            f"{ours}; {pair.original.qualname}, which it mirrors, says {says}"
        ),
        trigger=f"{where} asks",
        consequence=f"{name}() is {ours} for this class: it is refused, or treated unlike the original",
        suggestion=f"Define {name}() in {pair.cls.qualname}; say {says} only if the copy really can.",
        evidence=[
            context.cite_definition(answer),
            context.cite_definition(default),
            *(context.cite(context.upstream, module, call.line) for module, call in calls),
        ],
        cause=f"{default.id} answered by originals",
        silent=True,
    )

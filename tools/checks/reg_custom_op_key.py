"""A custom op is registered under a name that upstream never looks up.

Upstream looks a replacement up by the ``__name__`` of the class that is being constructed, not by the name that
``CustomOp.register`` gave it. A key that is no class name is stored and never found: nothing is raised, and the
in-tree class runs instead, which on an out-of-tree platform means its native forward or NotImplementedError.

Example: ``@CustomOp.register_oot(name="sparse_indexer")`` while the class is called ``SparseIndexer``; or the
class was renamed upstream and the key still is its old name.

Cannot see: keys that are computed, and classes that a component outside both packages constructs.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from tools.checks.base import Context, Result
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity
from tools.registry.lookups import Lookups, lookups_of
from tools.registry.sites import CUSTOM_OP, Registration, registrations

ID = "REG001"
TITLE = "Custom op key that matches no upstream class"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    """Judges every ``register_oot`` whose key can be read."""
    tables = lookups_of(context)
    for item in registrations(context):
        if item.kind != CUSTOM_OP:
            continue
        if not item.key:
            yield context.unresolved(
                ID, module=item.module, line=item.line, symbol=item.symbol, reason="the key is computed"
            )
        elif item.named and not tables.op_classes(item.key) and not _own_class(context, tables, item.key):
            yield _finding(context, tables, item)


def _own_class(context: Context, tables: Lookups, name: str) -> bool:
    """A class of the plugin is called so and looks replacements up as well."""
    return any(
        cls.qualname == name and tables.is_op(Resolution(Kind.CLASS, module, cls.qualname))
        for module, cls in context.plugin.classes()
    )


def _finding(context: Context, tables: Lookups, item: Registration) -> Result:
    where = context.version(context.role)
    in_tree = tables.op_of_name(item.key)
    meant = in_tree.qualname if in_tree is not None else ""
    if not meant and context.before is not None:
        old = lookups_of(context.before).op_classes(item.key)
        moved = [c for c in old if context.world.path(c.module).found]
        names = [c.qualname for m in moved for c in context.upstream.modules[m.module].classes]
        meant = next(iter(get_close_matches(item.key, names, 1, 0.6)), "")
    raises = in_tree is not None and _native_raises(context, in_tree)
    evidence = [context.cite_definition(in_tree) if in_tree is not None else None, _lookup_site(context)]
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=item.key,
        severity=Severity.ERROR if raises else Severity.WARNING,
        certainty=Certainty.CERTAIN,
        message=f"no custom op class of {where} is called {item.key!r}, so this replacement is never looked up"
        + (f"; {meant!r} is" if meant else ""),
        trigger="any model that constructs the layer",
        consequence=f"{meant}.forward_native raises NotImplementedError"
        if raises
        else "the in-tree class is used instead of the plugin's, and nothing is logged",
        suggestion=f"Register it under {meant!r}, the name of the class."
        if meant
        else "Remove the registration, or find the class that took over and register on that.",
        evidence=evidence,
        cause=f"custom op {item.key}",
        silent=not raises,
    )


def _native_raises(context: Context, cls: Resolution) -> bool:
    found = context.world.class_member(cls, "forward_native")
    record = context.world.function_record(found) if found is not None else None
    if record is None or found is None:
        return False
    if record.raises_not_implemented:
        return True
    last = context.upstream.lines(found.module)[record.line - 1 : record.end_line]
    tail = [text.split("#")[0].strip() for text in last if text.strip()]
    raised = [i for i, text in enumerate(tail) if text.startswith("raise NotImplementedError")]
    return bool(raised) and not any(text.startswith("return") for text in tail[raised[-1] :])


def _lookup_site(context: Context) -> str | None:
    module = f"{context.upstream.package}.model_executor.custom_op"
    return context.cite_definition(Resolution(Kind.FUNCTION, module, "CustomOp.__new__"))

"""An attribute that only a type checker can tell to be missing.

ATT001 and ATT002 judge what a plain reading can type. Where code elsewhere stores an attribute of the same name
they hold back; a row of the type checker decides then, when the object is of an upstream class or of a plugin
class with upstream bases.

Example: ``self.gemm1_clamp_limit`` is read by an experts class of the plugin; the target keeps it in its quant
config only. The first forward raises ``AttributeError``.

Cannot see: objects that neither reading can type; attributes of classes with bases that are not installed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._attributes import Presence, descendants, family, presence
from tools.checks._guards import guarded, never_runs_at, tested
from tools.checks._typed import cite_row, quoted, rows, upstream_symbol
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.typecheck import Diagnostic
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Level, Severity

ID = "ATT004"
TITLE = "Missing attribute, by the type checker"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for row, scope in rows(context, "missing-attribute"):
        names = quoted(row.message)
        if len(names) != 2 or not row.message.startswith("Object of type"):
            continue
        owner, attribute = names
        cls = _class(context, scope, row, owner)
        if cls is None or _excused(context, row, scope, cls, attribute):
            continue
        yield _report(context, row, scope, cls, attribute)


def _class(context: Context, scope: Scope, row: Diagnostic, owner: str) -> Resolution | None:
    if owner.startswith("Self@"):
        cls = scope.cls
        if cls is None:
            return None
        bases = context.world.mro(cls).classes[1:]
        return cls if any(context.world.tree(b.module) is context.upstream for b in bases) else None
    found = upstream_symbol(context, row.module, owner)
    return found if found is not None and found.kind is Kind.CLASS else None


def _excused(context: Context, row: Diagnostic, scope: Scope, cls: Resolution, attribute: str) -> bool:
    found = family(context, cls)
    if found is None or attribute in found.names or found.opaque:
        return True
    if cls == scope.cls:
        if presence(context, cls, attribute) is Presence.ABSENT:
            return True  # ATT002 reports it
    elif _typed_plainly(context, scope, row.line, attribute):
        return True  # ATT001 has judged it
    if attribute in context.plugin.attr_stores and not _had(context, cls, attribute):
        return True  # the plugin stores it from outside, perhaps on this very object
    for child in descendants(context, cls):
        inherited = family(context, child)
        if inherited is None or attribute in inherited.names or inherited.opaque:
            return not _had(context, cls, attribute)
    if never_runs_at(context, scope, row.line):
        return True
    line = context.plugin.lines(row.module)[row.line - 1]
    if "type: ignore" in line or "pyright: ignore" in line:
        return True
    if guarded(context, row.module, row.line, "AttributeError", "Exception"):
        return True
    return tested(scope, "self", attribute)


def _typed_plainly(context: Context, scope: Scope, line: int, attribute: str) -> bool:
    """True when our own reading knows the type of what the attribute is read from."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and node.lineno <= line <= (node.end_lineno or node.lineno)
        and context.inference.of(node.value, scope) is not None
        for node in scope.nodes
    )


def _had(context: Context, cls: Resolution, attribute: str) -> bool:
    """True when base had it; annotations may promise less than callers pass, so this is what makes it sure."""
    return context.before is not None and presence(context.before, cls, attribute) is Presence.PRESENT


def _report(context: Context, row: Diagnostic, scope: Scope, cls: Resolution, attribute: str) -> Result:
    own = context.world.tree(cls.module) is context.plugin
    known = attribute in context.upstream.attributes or attribute in context.plugin.attributes
    doubtful = known and cls != scope.cls and not _had(context, cls, attribute)
    where = "" if own else f" in {context.version(context.role)}"
    return context.finding(
        ID,
        module=row.module,
        line=row.line,
        symbol=scope.qualname,
        key=f"{cls.id}.{attribute}",
        severity=Severity.WARNING if doubtful else Severity.ERROR,
        certainty=Certainty.POSSIBLE if doubtful else Certainty.LIKELY,
        message=f"`{cls.qualname}` has no attribute `{attribute}`{where}",
        trigger=f"running `{scope.qualname}`",
        consequence=f"AttributeError: '{cls.qualname}' object has no attribute '{attribute}', unless other code "
        "has stored it on this very object",
        suggestion=f"find what replaced `{attribute}` where upstream read it, and read that",
        evidence=[cite_row(context, row), context.cite_definition(cls)],
        level=Level.SIGNATURE,
        cause=f"{cls.id} lost {attribute}",
    )

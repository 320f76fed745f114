"""A patched function that raises NotImplementedError after doing its work.

A template's last line, ``raise NotImplementedError(...)``, was left at the end of a function that the plugin
puts in place of upstream's. Every call does its work and then raises.

Example: ``_update_nested`` walks a config and ends with ``raise NotImplementedError("complete the patch")``; any
nested override stops the engine.

Cannot see: templates that raise something else, or that raise through a helper.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.checks.pat_common import applied
from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.code.world import Kind
from tools.compare.patches import Patch
from tools.findings import Attribution, Certainty, Severity

ID = "PAT007"
TITLE = "Patched function ends in a template's NotImplementedError"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for patch in context.patches:
        new = patch.replacement
        if new is None or new.kind is not Kind.FUNCTION or new.module not in context.plugin.paths:
            continue
        scope = next((s for s in context.inference.scopes(new.module) if s.qualname == new.qualname), None)
        if scope is None or isinstance(scope.node, ast.Module):
            continue
        line = _raised_at_end(scope)
        if line is not None and not _original_raises(context, patch):
            yield _report(context, patch, scope, line)


def _raised_at_end(scope: Scope) -> int | None:
    body = [s for s in scope.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if len(body) < 2 or not isinstance(body[-1], ast.Raise) or body[-1].exc is None:
        return None
    raised = body[-1].exc
    if dotted(raised.func if isinstance(raised, ast.Call) else raised) != "NotImplementedError":
        return None
    # A function that returns on other paths says so of the cases it does not handle.
    if any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in scope.nodes):
        return None
    return body[-1].lineno


def _original_raises(context: Context, patch: Patch) -> bool:
    old = context.world.path(patch.target)
    tree = context.world.tree(old.module)
    record = context.world.function_record(old) if old.kind is Kind.FUNCTION else None
    if record is None or tree is None:
        return False
    return any(
        "raise NotImplementedError" in x for x in tree.lines(old.module)[record.line : record.end_line]
    )


def _report(context: Context, patch: Patch, scope: Scope, line: int) -> Result:
    runs = applied(context, scope.module)
    return context.finding(
        ID,
        module=scope.module,
        line=line,
        symbol=scope.qualname,
        key=patch.target,
        severity=Severity.ERROR if runs else Severity.NOTE,
        certainty=Certainty.CERTAIN,
        message=f"`{scope.qualname}` replaces `{patch.target}` and always ends in NotImplementedError",
        trigger=f"calling `{patch.target}`",
        consequence="NotImplementedError after the function has done its work",
        suggestion="remove the template's last line, and return what upstream's function returns",
        evidence=[context.cite_definition(context.world.path(patch.target))],
        attribution=Attribution.EXISTING,
        cause=f"{patch.target} template",
    )

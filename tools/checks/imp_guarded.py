"""A failing import that an ``except`` swallows, so that a feature turns itself off.

The import stands in a ``try`` whose handler catches the failure. Nothing is raised: the handler sets a flag or a
placeholder, and a feature is silently absent although everything it needs is installed. When the target has the
thing under another name, this is a fault that nobody is told of.

Example: ``try: from vllm_metax.patch.old.cuda import Lib`` with ``except ModuleNotFoundError: available = False``;
the module moved inside the plugin, and sleep mode is off for everyone.

Cannot see: components outside the two packages; for those a guarded import is the right thing to do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._imports import BrokenImport, broken_imports, handler_of
from tools.checks._successors import went
from tools.checks.base import Context, Result
from tools.findings import Certainty, Decision, Severity

ID = "IMP003"
TITLE = "Failing import swallowed by an except: a feature turns itself off"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for broken in broken_imports(context):
        if broken.swallowed_by is not None and not broken.typing_only and not broken.fallback:
            yield _report(context, broken)


def _report(context: Context, broken: BrokenImport) -> Result:
    module, line = broken.module, broken.imported.line
    replacement = went(context, broken.source, broken.name)
    effect = _effect(context, module, line)
    what = f"`{broken.name}` of `{broken.source}`" if broken.name else f"`{broken.source}`"
    where = "in the plugin" if broken.internal else f"in {context.version(context.role)}"
    # A fallback for a thing that exists nowhere any more is a leftover; the rest is a feature lost.
    leftover = not broken.internal and replacement.removed
    severity = Severity.NOTE if leftover else Severity.ERROR
    message = f"{what} does not exist {where}, and `except {broken.swallowed_by}` hides it"
    if replacement.text:
        message += f"; {replacement.text}"
    handler = handler_of(context, module, line)
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol=broken.symbol,
        key=f"{broken.source}:{broken.name}",
        severity=severity,
        certainty=Certainty.CERTAIN,
        message=message,
        trigger="every start: the handler always runs",
        consequence=f"nothing is raised; {effect}",
        suggestion=replacement.suggestion
        if not leftover
        else "drop the attempt and keep what the handler does, or port the feature to what replaced it",
        evidence=[
            context.cite(context.plugin, module, handler[1].lineno, handler[1].end_lineno)
            if handler
            else None,
            context.cite_absence(context.upstream, broken.source),
            *replacement.evidence,
        ],
        decision=Decision.UPDATE if not leftover else Decision.REMOVE,
        cause=broken.cause,
        silent=True,
    )


def _effect(context: Context, module: str, line: int) -> str:
    """What the handler does, and who looks at it."""
    found = handler_of(context, module, line)
    if found is None:
        return "what the handler does takes effect"
    effects: list[str] = []
    names: list[str] = []
    for stmt in found[1].body:
        if isinstance(stmt, ast.Assign):
            for target in stmt.targets:
                effects.append(f"`{ast.unparse(target)} = {ast.unparse(stmt.value)}`")
                if isinstance(target, ast.Name):
                    names.append(target.id)
        elif isinstance(stmt, ast.Pass):
            effects.append("the failure is passed over")
        elif isinstance(stmt, ast.Raise):
            effects.append("another exception is raised")
        elif isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call):
            effects.append(f"`{ast.unparse(stmt.value)[:80]}`")
    # Names the body would have set and the handler sets otherwise switch the feature.
    readers = sorted({reader for name in names for reader in _readers(context, module, name)})
    text = "the handler always takes effect: " + (", ".join(effects[:4]) or "it runs instead")
    if len(effects) > 4:
        text += f" and {len(effects) - 4} more"
    if readers:
        text += f"; read by {', '.join(f'`{r}`' for r in readers[:4])}"
    return text


def _readers(context: Context, module: str, name: str) -> Iterable[str]:
    """Functions of the module that read one of its names."""
    for scope in context.inference.scopes(module):
        if scope.qualname and name not in scope.names:
            for node in scope.nodes:
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                    yield scope.qualname
                    break

"""A name that nothing binds: an import lost when a file was copied again.

Files are brought up to date by copying upstream's and editing them again; now and then the edit uses a name whose
import did not come along. The line raises ``NameError`` when it runs.

Example: a patched wrapper reads ``envs.VLLM_NCCL_SO_PATH`` and the file no longer imports ``envs``. The first use
of the communicator raises ``NameError: name 'envs' is not defined``.

Cannot see: names bound by ``exec``, star imports of components that are not installed, or from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._guards import guarded
from tools.checks._typed import cite_row, quoted, rows
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.world import Kind
from tools.findings import Attribution, Certainty, Severity

ID = "NAM001"
TITLE = "Name that nothing binds"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for row, scope in rows(context, "unresolved-reference"):
        names = quoted(row.message)
        if not names or not names[0].isidentifier():
            continue
        name = names[0]
        homes = _homes(context, name)
        # Only names that upstream has: a slip in the plugin's own code is not an upgrade's business.
        if not homes or guarded(context, row.module, row.line, "NameError", "Exception"):
            continue
        if not _evaluated(context, scope, row.line, name):
            continue
        yield context.finding(
            ID,
            module=row.module,
            line=row.line,
            symbol=scope.qualname,
            key=name,
            severity=Severity.ERROR,
            certainty=Certainty.LIKELY,
            message=f"nothing binds `{name}` here; upstream has it in {', '.join(f'`{h}`' for h in homes[:3])}",
            trigger=f"running `{scope.qualname}`" if scope.qualname else f"importing `{row.module}`",
            consequence=f"NameError: name '{name}' is not defined",
            suggestion=f"import it: `from {homes[0]} import {name}`",
            evidence=[cite_row(context, row)],
            attribution=Attribution.REGRESSION,
            cause=f"{name} not imported",
        )


def _homes(context: Context, name: str) -> list[str]:
    """Upstream modules that define ``name``, or the module of that name."""
    homes = [m for m in context.upstream.defined.get(name, ()) if context.world.member(m, name).found]
    package = context.upstream.package
    if context.world.module(f"{package}.{name}").kind is Kind.MODULE:
        homes.insert(0, package)
    return homes


def _evaluated(context: Context, scope: Scope, line: int, name: str) -> bool:
    """True when running the code at ``line`` looks ``name`` up; annotations in quotes or postponed do not."""
    if any(_is(node, line, name) for node in scope.nodes if not isinstance(node, ast.AnnAssign)):
        return not any(
            _is(inner, line, name)
            for node in scope.nodes
            if isinstance(node, ast.AnnAssign)
            for inner in ast.walk(node.annotation)
        )
    tree = context.plugin.syntax(scope.module)
    postponed = any(
        isinstance(s, ast.ImportFrom)
        and s.module == "__future__"
        and any(a.name == "annotations" for a in s.names)
        for s in tree.body
    )
    if postponed or isinstance(scope.node, ast.Module):
        return False
    arguments = scope.node.args
    annotations = [a.annotation for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    annotations.append(scope.node.returns)
    return any(_is(inner, line, name) for a in annotations if a is not None for inner in ast.walk(a))


def _is(node: ast.AST, line: int, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and node.lineno == line

"""Upstream reads a native op while a module is imported.

``torch.ops._C.name`` looks the op up when the line runs. At module level it runs during import: before the
plugin has loaded its own library, and for an op the vendor's build may not have. Every import behind it fails.

Example: a module gains ``QUANT_OPS = {k: torch.ops._C.scaled_fp4_quant.default}``; the plugin imports something
that imports it: AttributeError: '_OpNamespace' '_C' object has no attribute 'scaled_fp4_quant'.

Cannot see: which ops the build has. Lines under ``if``, and in ``try`` with a handler, are taken as guarded.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tools.checks._reach import first_imports
from tools.checks.base import Context, Result
from tools.code.tree import Tree
from tools.findings import Certainty, Severity

ID = "DEP001"
TITLE = "Native op read during import"
SEVERITY = Severity.WARNING
_OP = re.compile(r"torch\.ops\.(_\w+)\.(\w+)")


def run(context: Context) -> Iterable[Result]:
    if context.before is None:
        return
    before = context.before.upstream
    hits = _new_reads(before, context.upstream)
    reached = first_imports(context) if hits else {}
    for module, ops in sorted(hits.items()):
        if module not in reached:
            continue
        importer, number, chain = reached[module]
        names = ", ".join(sorted(ops))
        yield context.finding(
            ID,
            module=importer,
            line=number,
            symbol="",
            key=module,
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,
            message=(
                f"importing {chain} runs {module}, which reads ops new there in {context.version('target')}: {names}"
            ),
            trigger=f"importing {importer}",
            consequence="AttributeError during import when the build lacks one of them, or registers it later",
            suggestion=f"Make sure that {names} are registered before this import, or import it later.",
            evidence=[context.cite(context.upstream, module, line) for line in sorted(ops.values())[:6]],
            cause=f"{module} reads ops at import",
        )


def _new_reads(base: Tree, target: Tree) -> dict[str, dict[str, int]]:
    """Module -> op -> line, of ops that no module of base reads at import."""
    changed = [m for m in sorted(target.paths) if _differs(base, target, m)]
    found = {m: ops for m in changed if (ops := _read(target, m))}
    if not found:
        return {}
    gone = [m for m in sorted(base.paths) if m not in target.paths or _differs(base, target, m)]
    old = {op for m in gone for op in _read(base, m)}
    new = {m: {op: line for op, line in ops.items() if op not in old} for m, ops in found.items()}
    return {m: ops for m, ops in new.items() if ops}


def _differs(base: Tree, target: Tree, module: str) -> bool:
    path = base.paths.get(module)
    return path is None or base.snapshot.blob(path) != target.snapshot.blob(target.paths[module])


def _read(tree: Tree, module: str) -> dict[str, int]:
    """Op -> line of reads outside of functions, ``if`` and ``try``."""
    record = tree.modules[module]
    if not any(i.bound == "torch" for i in record.imports):
        return {}
    if b"torch.ops._" not in tree.snapshot.read(tree.paths[module]):
        return {}
    inside = [(f.first_line, f.end_line) for f in record.functions]
    lines = [
        number
        for number, text in enumerate(tree.lines(module), 1)
        if "torch.ops._" in text and not any(first <= number <= last for first, last in inside)
    ]
    if not lines:
        return {}
    plain = [s for s in tree.syntax(module).body if not isinstance(s, ast.If | ast.Try)]
    return {
        f"{found[1]}.{found[2]}": number
        for number in reversed(lines)
        if any(s.lineno <= number <= (s.end_lineno or s.lineno) for s in plain)
        and not tree.lines(module)[number - 1].lstrip().startswith("#")
        for found in _OP.finditer(tree.lines(module)[number - 1])
    }

"""Upstream reads a native op while a module is imported.

``torch.ops._C.name`` looks the op up when the line runs. At module level it runs during import: before the
plugin has loaded its own library, and for an op the vendor's build may not have. Every import behind it fails.

Example: a module gains ``QUANT_OPS = {k: torch.ops._C.scaled_fp4_quant.default}``; the plugin imports something
that imports it: AttributeError: '_OpNamespace' '_C' object has no attribute 'scaled_fp4_quant'.

Cannot see: which ops the build has. Lines under ``if``, and in ``try`` with a handler, are taken as guarded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
    changed = [
        module
        for module in sorted(context.upstream.paths)
        if _differs(context.before.upstream, context.upstream, module)
    ]
    old = {op for m in changed for op, _ in _read(context.before.upstream, m)}
    hits = [(m, op, line) for m in changed for op, line in _read(context.upstream, m) if op not in old]
    if not hits:
        return
    reached = first_imports(context)
    for module, op, line in hits:
        place = reached.get(module)
        if place is None:
            continue
        importer, number, chain = place
        yield context.finding(
            ID,
            module=importer,
            line=number,
            symbol="",
            key=op,
            severity=Severity.WARNING,
            certainty=Certainty.POSSIBLE,
            message=f"importing {chain} reads torch.ops.{op} at {module}:{line}, new in {context.version('target')}",
            trigger=f"importing {importer}",
            consequence=f"AttributeError during import when the build has no op {op}, or registers it later",
            suggestion=f"Make sure that {op} is registered before this import, or import it later.",
            evidence=[context.cite(context.upstream, module, line)],
            cause=f"{module} reads {op} at import",
        )


def _differs(base: Tree, target: Tree, module: str) -> bool:
    path = base.paths.get(module)
    return path is None or base.snapshot.blob(path) != target.snapshot.blob(target.paths[module])


def _read(tree: Tree, module: str) -> Iterator[tuple[str, int]]:
    """(op, line) of unguarded reads outside of functions."""
    if module not in tree.paths or b"torch.ops." not in tree.snapshot.read(tree.paths[module]):
        return
    record = tree.modules[module]
    inside = [(f.first_line, f.end_line) for f in record.functions]
    guarded = {a.name for a in record.assigns if a.guard}
    guarded |= {a.name for c in record.classes for a in c.assigns if a.guard or c.guard}
    for number, text in enumerate(tree.lines(module), 1):
        for found in _OP.finditer(text):
            if any(first <= number <= last for first, last in inside) or text.lstrip().startswith("#"):
                continue
            starts = [a for a in record.assigns if a.line <= number]
            if starts and starts[-1].name in guarded:
                continue
            if text[:1].isspace() and not starts and not record.classes:
                continue
            yield f"{found[1]}.{found[2]}", number

"""A copied call passes zero points without the guard for symmetric quantization.

Symmetric checkpoints carry zero points that mean nothing. Upstream passes them on only ``if not is_sym``; a copy
taken from a version without that guard, or that lost it, hands them to the kernel, which subtracts them from every
weight. Nothing is raised; the numbers are wrong.

Example: upstream has ``w1_zp=layer.w13_qzeros if not self.is_sym else None``; the copy has
``w1_zp=layer.w13_qzeros``.

Cannot see: guards written in another function, or kernels that ignore zero points for symmetric types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.checks.drf_common import counterparts_of
from tools.code.records import Function
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.compare.counterparts import Counterpart
from tools.findings import Certainty, Severity

ID = "DRF004"
TITLE = "Copy without the guard for symmetric quantization"
SEVERITY = Severity.WARNING

_GUARDED = re.compile(
    r"(?P<value>[\w.]*(?:zeros|zp|zero_points?)\w*)\s+if\s+(?:not\s+(?P<flag>[\w.]*sym(?:metric)?)\b|"
    r"(?P<has>[\w.]*has_zp)\b)"
)
_BLOCK = re.compile(r"^\s*if\s+(?:not\s+[\w.]*sym(?:metric)?\b|[\w.]*has_zp\b)[^:]*:")
_FLAG = re.compile(r"\b[\w.]*(?:sym(?:metric)?|has_zp)\b")
_ZEROS = re.compile(r"[\w.]*(?:qzeros|zero_points?)\b")


def run(context: Context) -> Iterable[Result]:
    counterparts = counterparts_of(context)
    if counterparts is None:
        return
    quick: dict[str, bool] = {}
    for row in counterparts.rows:
        module = row.symbol.module
        if module not in quick:
            quick[module] = any("zeros" in x or "zero_point" in x for x in context.plugin.lines(module))
        if quick[module] and row.symbol.kind is Kind.FUNCTION:
            yield from _function(context, row)


def _function(context: Context, row: Counterpart) -> Iterator[Result]:
    own = context.world.function_record(row.symbol)
    if own is None:
        return
    mine = _text(context.plugin, row.symbol, own)
    if not _ZEROS.search(mine) or _FLAG.search(mine):
        return
    assert context.before is not None
    for role, found in ((context, row.target), (context.before, row.base)):
        record = role.world.function_record(found) if found is not None else None
        if found is None or record is None or found.module not in role.upstream.paths:
            continue
        theirs = _text(role.upstream, found, record)
        values = {m["value"].rpartition(".")[2] for m in _GUARDED.finditer(" ".join(theirs.split()))}
        values |= _in_blocks(theirs)
        passed = sorted(v for v in values if re.search(rf"\b{v}\b", mine))
        if passed:
            yield _report(context, role, row, own, found, record, passed[0])
            return


def _text(tree: Tree, symbol: Resolution, record: Function) -> str:
    lines = tree.lines(symbol.module)[record.line - 1 : record.end_line]
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))


def _in_blocks(text: str) -> set[str]:
    """Zero points read below ``if not is_sym:``."""
    out: set[str] = set()
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if _BLOCK.match(line):
            indent = len(line) - len(line.lstrip())
            for inner in lines[index + 1 :]:
                if inner.strip() and len(inner) - len(inner.lstrip()) <= indent:
                    break
                out.update(v.rpartition(".")[2] for v in _ZEROS.findall(inner))
    return out


def _report(
    context: Context,
    role: Context,
    row: Counterpart,
    own: Function,
    found: Resolution,
    record: Function,
    value: str,
) -> Result:
    lines = context.plugin.lines(row.symbol.module)
    line = next(n for n in range(own.line, own.end_line + 1) if re.search(rf"\b{value}\b", lines[n - 1]))
    return context.finding(
        ID,
        module=row.symbol.module,
        line=line,
        symbol=row.symbol.qualname,
        key=f"{found.id}:{value}",
        severity=Severity.WARNING,
        certainty=Certainty.POSSIBLE,
        message=f"`{row.symbol.qualname}` passes `{value}` on unconditionally; `{found.id}` in "
        f"{context.version(role.role)} does so only for quantization that is not symmetric",
        trigger="a symmetric checkpoint that stores zero points",
        consequence="meaningless zero points are subtracted from the weights: wrong output, no error",
        suggestion="pass zero points only for asymmetric quantization, as upstream does",
        evidence=[role.cite(role.upstream, found.module, record.line, record.end_line)],
        cause=f"{found.id} symmetric guard",
        silent=True,
    )

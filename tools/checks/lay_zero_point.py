"""The branch for asymmetric weights does not subtract the zero point.

Packed integers of a symmetric checkpoint have a fixed offset (8 for four bits), those of an asymmetric one a zero
point for each group. Code that handles both has a branch each. A branch that loads the zero points and does not use
them, or that scales without subtracting where its sibling does subtract, gives numbers that are off by a multiple of
the scale. Such a branch is often hidden: as long as an earlier step refuses asymmetric checkpoints nothing runs it.

Example: ``if has_zp: zp = unpack(zeros); w = q * scale`` beside ``else: w = (q - 8) * scale``.

Cannot see: kernels that are given the zero points as an argument, whatever they do with them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tools.checks.base import Context, Result
from tools.code.functions import walk
from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.findings import Attribution, Certainty, Severity

ID = "LAY006"
TITLE = "Asymmetric branch without its subtraction"
SEVERITY = Severity.WARNING
_FLAG = re.compile(r"(?<![a-z])(has_zp|has_zero_points?|use_zp|is_asym\w*|asym\w*)(?![a-z])", re.IGNORECASE)
_SYMMETRIC = re.compile(r"(?<![a-z])(is_sym|sym|symmetric|is_symmetric)(?![a-z])", re.IGNORECASE)
_ZERO = re.compile(r"(?<![a-z])(b_)?(zp|zps|zeros?|qzeros|zero_points?)(?![a-z])", re.IGNORECASE)


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for branch in scope.all(ast.If):
                arm = _asymmetric(branch)
                if arm is not None:
                    yield from _judged(context, scope, branch, *arm)


def _asymmetric(node: ast.If) -> tuple[list[ast.stmt], list[ast.stmt]] | None:
    """(statements for asymmetric weights, those for symmetric ones) of an ``if`` that asks which they are."""
    test = node.test
    negative = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    name = dotted(test.operand if isinstance(test, ast.UnaryOp) else test).rpartition(".")[2]
    if "?" in name:
        return None
    asks_zero, asks_symmetry = bool(_FLAG.fullmatch(name)), bool(_SYMMETRIC.fullmatch(name))
    if not (asks_zero or asks_symmetry):
        return None
    return (node.body, node.orelse) if asks_zero is not negative else (node.orelse, node.body)


def _judged(
    context: Context, scope: Scope, branch: ast.If, arm: list[ast.stmt], sibling: list[ast.stmt]
) -> Iterator[Result]:
    if not arm:
        return
    loaded = {
        target.id: stmt.lineno
        for stmt in arm
        if isinstance(stmt, ast.Assign)
        for target in stmt.targets
        if isinstance(target, ast.Name)
        and _ZERO.search(target.id)
        and not isinstance(stmt.value, ast.Constant)
    }
    for name, line in sorted(loaded.items()):
        if not _used(scope, name):
            yield _finding(
                context,
                scope,
                line,
                key=f"unused {name}",
                message=f"the branch for asymmetric weights loads `{name}`, and nothing uses it",
                certainty=Certainty.LIKELY,
            )
            return
    ours, theirs = _scaled(arm), _scaled(sibling)
    for target in sorted(ours.keys() & theirs.keys()):
        value, other = ours[target], theirs[target]
        if _subtracts(other.value) and not _subtracts(value.value) and not _mentions_zero(arm):
            yield _finding(
                context,
                scope,
                value.lineno,
                key=f"no subtraction {target}",
                message=(
                    f"`{target}` is scaled without a subtraction for asymmetric weights; "
                    f"for symmetric ones line {other.lineno} subtracts"
                ),
                certainty=Certainty.LIKELY,
            )


def _scaled(body: list[ast.stmt]) -> dict[str, ast.Assign]:
    """Names that are assigned a product, by the last assignment."""
    out: dict[str, ast.Assign] = {}
    for stmt in body:
        if isinstance(stmt, ast.Assign) and len(stmt.targets) == 1:
            product = any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) for n in walk(stmt.value))
            if product:
                out[dotted(stmt.targets[0])] = stmt
    return out


def _subtracts(value: ast.expr) -> bool:
    return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) for n in walk(value))


def _mentions_zero(body: list[ast.stmt]) -> bool:
    """Whether zero points are subtracted or handed on anywhere in the branch."""
    for stmt in body:
        for node in walk(stmt):
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Sub):
                return True
            if isinstance(node, ast.Call):
                names = [dotted(a) for a in (*node.args, *(k.value for k in node.keywords))]
                if any(_ZERO.search(n) for n in names):
                    return True
    return False


def _used(scope: Scope, name: str) -> bool:
    """Whether a name is read for anything but to make itself."""
    own: set[int] = set()
    for stmt in scope.all(ast.Assign):
        if any(isinstance(t, ast.Name) and t.id == name for t in stmt.targets):
            own |= {id(n) for n in walk(stmt.value)}
    loads = [
        n
        for n in walk(scope.node)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
    ]
    return any(id(n) not in own for n in loads)


def _finding(
    context: Context, scope: Scope, line: int, *, key: str, message: str, certainty: Certainty
) -> Result:
    return context.finding(
        ID,
        module=scope.module,
        line=line,
        symbol=scope.qualname,
        key=key,
        severity=Severity.WARNING,
        certainty=certainty,
        message=message,
        trigger=f"asymmetric weights in {scope.qualname or 'the module'}",
        consequence="every weight is off by its zero point times its scale: wrong numbers",
        suggestion="subtract the zero point before scaling, as the symmetric branch subtracts its offset",
        evidence=[],
        cause=f"{scope.module}:{scope.qualname} does not subtract zero points",
        silent=True,
        attribution=Attribution.EXISTING,
    )

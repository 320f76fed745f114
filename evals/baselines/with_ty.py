"""ty, the type checker that the product itself uses as a second reader, on its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from evals.baselines.places import symbols_at
from evals.causes import TY, family_of_rule
from evals.records import Row
from tools.code.typecheck import Diagnostic, diagnose
from tools.review import Trees


def ty_target(trees: Trees, cache: Path) -> list[Row]:
    """ty on the plugin with target in sight."""
    return [_of_ty(trees, d) for d in diagnose(trees.plugin, trees.target, cache)]


def ty_difference(trees: Trees, cache: Path) -> list[Row]:
    """What ty says of target and did not say of base; alike whatever the line, as often as it is new."""
    before = Counter((d.rule, d.module, d.message) for d in diagnose(trees.plugin, trees.base, cache))
    rows = []
    for row in diagnose(trees.plugin, trees.target, cache):
        key = (row.rule, row.module, row.message)
        if before[key]:
            before[key] -= 1
        else:
            rows.append(_of_ty(trees, row))
    return rows


def _of_ty(trees: Trees, row: Diagnostic) -> Row:
    family = family_of_rule(row.rule, row.message, TY)
    if "has no member" in row.message:  # an attribute of a module
        family = "IMP"
    return Row(
        path=trees.plugin.paths[row.module],
        line=row.line,
        symbols=symbols_at(trees.plugin, row.module, row.line, row.message),
        family=family,
        message=f"{row.rule}: {row.message}",
    )

"""Other tools on the same inputs, each mapped to rows of (file, line, symbols, family)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evals.baselines.places import ToolMissing
from evals.baselines.with_griffe import griffe_joined
from evals.baselines.with_mypy import mypy_target
from evals.baselines.with_pyright import pyright_target
from evals.baselines.with_ty import ty_difference, ty_target
from evals.records import Row
from tools.review import Trees

__all__ = ["BASELINES", "SLOW", "ToolMissing"]

BASELINES: dict[str, Callable[[Trees, Path], list[Row]]] = {
    "ty": ty_target,
    "ty-diff": ty_difference,
    "pyright": pyright_target,
    "mypy": mypy_target,
    "griffe": griffe_joined,
}
SLOW = frozenset({"pyright", "mypy", "griffe"})
"""Those that take longer than the review: run only when asked for, and kept apart from its record."""

"""The lines that a commit changes inside one symbol, told apart by what they mean for a copy of it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from textwrap import dedent

from tools.code.syntax import parse
from tools.history.symbols import Span

_SHORTEST = 4
"""Characters. Shorter lines (``)``, ``],``) are shared by everything."""
_ELSEWHERE = re.compile(
    r"rocm|(?<![a-z])xpu|(?<![a-z])tpu|is_cpu|aiter|(?<![a-z])cpu_|_cpu\b|hpu|gfx9|blackwell|sm100|sm_100|sm120|trtllm",
    re.IGNORECASE,
)
"""Words of statements that serve another device."""
_GUARD = re.compile(
    r"^(?:el)?if\b(?!.*\bnot\b).*(?:is_rocm|is_xpu|is_tpu|is_cpu\b|is_cpu\(|is_hpu|aiter|is_device_capability_family\(100)"
)


class Difference:
    """One symbol before and after a commit. Lines stand without indentation; blank and comment lines are left out."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        self._old, self._new = list(old), list(new)

    @classmethod
    def of(cls, old: Sequence[str], was: Span | None, new: Sequence[str], now: Span | None) -> Difference:
        """From the lines of both files and where the symbol stands in them."""
        return cls(
            old[was.first - 1 : was.last] if was is not None else (),
            new[now.first - 1 : now.last] if now is not None else (),
        )

    @staticmethod
    def told(lines: Iterable[str]) -> Counter[str]:
        """Lines that say something, and how often."""
        return Counter(t for raw in lines if len(t := _told(raw)) >= _SHORTEST and t[0] != "#")

    @cached_property
    def before(self) -> Counter[str]:
        """All of the old symbol."""
        return self.told(self._old)

    @cached_property
    def after(self) -> Counter[str]:
        """All of the new one."""
        return self.told(self._new)

    @cached_property
    def added(self) -> Counter[str]:
        """What the commit brings."""
        return self.after - self.before

    @cached_property
    def removed(self) -> Counter[str]:
        """What it takes out."""
        return self.before - self.after

    @cached_property
    def only_comments(self) -> bool:
        """True when both versions are the same code."""
        one, two = _dump(self._old), _dump(self._new)
        return one is not None and one == two

    @cached_property
    def elsewhere(self) -> bool:
        """True when every changed line names another device, or stands under a condition for one."""
        changed = [(self._old, self.removed), (self._new, self.added)]
        return any(c for _, c in changed) and all(_serves_others(lines, c) for lines, c in changed)


def _told(raw: str) -> str:
    """A line as it is compared: a comment behind code says nothing."""
    line = raw.strip()
    if "  #" in line:
        line = line.partition("  #")[0].rstrip()
    return line


def _serves_others(lines: Sequence[str], changed: Counter[str]) -> bool:
    for index, raw in enumerate(lines):
        line = _told(raw)
        if line not in changed or _ELSEWHERE.search(line):
            continue
        if not _guarded(lines, index):
            return False
    return True


def _guarded(lines: Sequence[str], index: int) -> bool:
    """Whether an enclosing condition asks for another device."""
    indent = len(lines[index]) - len(lines[index].lstrip())
    for raw in reversed(lines[:index]):
        text = raw.strip()
        depth = len(raw) - len(raw.lstrip())
        if not text or depth >= indent:
            continue
        if _GUARD.search(text):
            return True
        indent = depth
    return False


def _dump(lines: Sequence[str]) -> str | None:
    """The syntax of a symbol without docstrings; None for what does not parse alone."""
    try:
        tree = parse(dedent("\n".join(lines)).encode("utf-8", "surrogatepass"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)

"""Who calls a method by its name, and where an attribute is stored from outside."""

from __future__ import annotations

import re

from tools.checks.base import Context
from tools.code.records import Call
from tools.code.tree import Tree

_OWN = frozenset({"self", "cls", "super()"})
ELSEWHERE = frozenset({"cuda", "hip", "rocm", "xpu", "cpu", "tpu", "hpu"})
"""Last words of methods that upstream calls on its own platforms only (``forward_cuda``)."""


def outside_calls(tree: Tree, name: str) -> tuple[tuple[str, Call], ...]:
    """Calls ``x.name(…)`` where x is not the object itself."""
    return tuple(
        (module, call)
        for module, call in tree.calls_by_name.get(name, ())
        if "." in call.callee and call.callee.rpartition(".")[0] not in _OWN
    )


def is_entry(context: Context, name: str) -> bool:
    """True for methods that somebody else than the object calls, as far as names tell."""
    if name.rpartition("_")[2] in ELSEWHERE or name == "__init__":
        return False
    if name in ("forward", "forward_oot", "__call__"):
        return True
    return any(
        "." in call.callee and call.callee.rpartition(".")[0] not in _OWN
        for tree in (context.upstream, context.plugin)
        for _, call in tree.calls_by_name.get(name, ())
    )


def stored_outside(context: Context, name: str) -> tuple[str, int] | None:
    """(module, line) of ``x.name = …`` where x is not the object itself, in either package."""
    pattern = re.compile(rf"(\w[\w.\[\]]*)\.{re.escape(name)}\s*(?::[^=]+)?=(?!=)")
    registered = re.compile(rf"""(?:setattr|register_\w+)\(\s*\w[\w.]*,\s*["']{re.escape(name)}["']""")
    for tree in (context.plugin, context.upstream):
        for module in sorted(tree.modules):
            if name not in tree.modules[module].attr_stores:
                continue
            for number, line in enumerate(tree.lines(module), 1):
                if name not in line:
                    continue
                found = pattern.search(line)
                if (
                    found and found[1] not in _OWN and not line.lstrip().startswith("#")
                ) or registered.search(line):
                    return module, number
    return None

"""Who calls a method by its name, and where an attribute is stored from outside."""

from __future__ import annotations

import ast
import re

from tools.checks._source import Facts, conditions, function_node, guarded_nodes, loops_apart
from tools.checks.base import Context
from tools.code.records import Call
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution

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


def entries(context: Context, cls: Resolution) -> list[str]:
    """Methods of ``cls`` that somebody else than the object calls, as far as names tell."""
    world = context.world
    names = {
        name
        for owner in world.mro(cls).classes
        if owner.kind is Kind.CLASS and (tree := world.tree(owner.module)) is not None
        for name in tree.namespace(owner.module).methods.get(owner.qualname, {})
    }
    out = {name for name in names if is_entry(context, name)}
    forward = world.definer(cls, "forward")
    if forward is not None and world.own_member(forward, "dispatch_forward") is not None:
        out.add("forward_oot")
    return sorted(out)


def is_entry(context: Context, name: str) -> bool:
    """True for methods that somebody else than the object calls.

    The variants of ``forward`` are chosen by the object: only ``forward`` itself is called from outside.
    """
    if name in ("forward", "__call__"):
        return True
    if name.startswith(("_", "forward_")) or name.rpartition("_")[2] in ELSEWHERE:
        return False
    return any(
        "." in call.callee and call.callee.rpartition(".")[0] not in _OWN
        for tree in (context.upstream, context.plugin)
        for _, call in tree.calls_by_name.get(name, ())
    )


def called_plainly(context: Context, name: str, platform: Facts) -> bool:
    """True when somebody calls ``x.name()`` in a function that always comes to it."""
    if name in ("forward", "forward_oot", "__call__"):
        return True
    for tree in (context.plugin, context.upstream):
        for module, call in outside_calls(tree, name):
            function = tree.namespace(module).functions.get(call.scope)
            node = function_node(tree, module, function) if function is not None else None
            for child, guards in guarded_nodes(node) if node is not None else ():
                if isinstance(child, ast.Call) and child.lineno == call.line:
                    if not conditions(loops_apart(guards), platform):
                        return True
                    break
    return False


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

"""Which upstream modules the plugin's modules import, directly or through others, when they are imported."""

from __future__ import annotations

from collections import deque

from tools.checks.base import Context
from tools.code.records import guarded_by, typing_only
from tools.code.tree import Tree


def first_imports(context: Context) -> dict[str, tuple[str, int, str]]:
    """Upstream module -> (plugin module, line, the upstream module imported there) by the shortest way."""
    found: dict[str, tuple[str, int, str]] = {}
    queue: deque[tuple[str, tuple[str, int, str]]] = deque()
    for module in sorted(context.plugin.modules):
        for target, line in _imported(context.plugin, context.upstream, module):
            queue.append((target, (module, line, target)))
    while queue:
        module, place = queue.popleft()
        if module in found:
            continue
        found[module] = place
        for target, _ in _imported(context.upstream, context.upstream, module):
            if target not in found:
                queue.append((target, place))
    return found


def _imported(tree: Tree, upstream: Tree, module: str) -> list[tuple[str, int]]:
    """Upstream modules that importing ``module`` runs, with the line, packages on the way included."""
    out = []
    for item in tree.modules[module].imports if module in tree.modules else ():
        if item.scope or typing_only(item.guard) or guarded_by(item.guard, "ImportError", "Exception"):
            continue
        source = tree.absolute(module, item)
        if source != upstream.package and not source.startswith(upstream.package + "."):
            continue
        names = [source, f"{source}.{item.name}"] if item.name not in ("", ".", "*") else [source]
        parts = source.split(".")
        names += [".".join(parts[:n]) for n in range(1, len(parts))]
        out += [(name, item.line) for name in names if name in upstream.paths]
    return out

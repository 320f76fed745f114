"""What became of a module of the plugin that something still imports: its earlier state is not at hand."""

from __future__ import annotations

from tools.code.tree import Tree
from tools.compare.moves import where_went


def successors(plugin: Tree, module: str) -> list[str]:
    """Modules that may have taken the place of ``module``: those of its last name, or where its parts went.

    One element is an answer; several or none are not.
    """
    key = ("successors", module, "")
    found = plugin.derived.get(key)
    if not isinstance(found, list):
        last = module.rpartition(".")[2]
        found = [m for m in plugin.paths if m.rpartition(".")[2] == last] or _voted(plugin, module)
        plugin.derived[key] = found
    return found


def _voted(plugin: Tree, package: str) -> list[str]:
    """Where other imports from below a vanished package lead now: the one prefix they agree on."""
    prefixes: set[str] = set()
    for owner in plugin.modules:
        for imported in plugin.modules[owner].imports:
            source = plugin.absolute(owner, imported)
            if not source.startswith(package + ".") or source in plugin:
                continue
            found = where_went(plugin, plugin, source, imported.name)
            rest = source[len(package) :]
            if found.found and found.module.endswith(rest):
                prefixes.add(found.module[: -len(rest)])
    return sorted(prefixes)

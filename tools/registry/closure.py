"""What importing one module imports with it, in both packages, as far as module-level imports say."""

from __future__ import annotations

from collections.abc import Iterable

from tools.code.tree import Tree
from tools.code.world import Kind, World

Origin = tuple[str, int]
"""(importing module, line); ('', 0) for the start."""


def imported_with(world: World, starts: Iterable[str], *, inside: Tree | None = None) -> dict[str, Origin]:
    """Modules that unconditional module-level imports bring in, with who imports each; ``inside`` one tree."""
    found: dict[str, Origin] = {}
    queue: list[str] = []

    def add(module: str, origin: Origin) -> None:
        tree = world.tree(module)
        if tree is None or (inside is not None and tree is not inside):
            return
        name = ""
        for part in module.split("."):
            name = f"{name}.{part}" if name else part
            if name in tree.modules and name not in found:
                found[name] = origin
                queue.append(name)

    for start in starts:
        add(start, ("", 0))
    for module in queue:
        tree = world.tree(module)
        assert tree is not None
        for imported in tree.modules[module].imports:
            if imported.scope or imported.guard:
                continue
            source = tree.absolute(module, imported)
            add(source, (module, imported.line))
            if imported.name not in ("", ".", "*"):
                add(f"{source}.{imported.name}", (module, imported.line))
    return found


def way(found: dict[str, Origin], module: str) -> list[Origin]:
    """From the start to ``module``: the import statements on the way."""
    out: list[Origin] = []
    while module in found and found[module][0]:
        out.append(found[module])
        module = found[module][0]
    return out[::-1]


def platform_access(world: World, module: str) -> int | None:
    """Line of upstream ``module`` that resolves the platform while it is imported; None without one.

    That is importing ``current_platform`` by name, or calling a function at module level that does so.
    """
    tree, platforms = world.upstream, f"{world.upstream.package}.platforms"
    record = tree.modules[module]

    def names_platform(imports: Iterable[object]) -> bool:
        return any(
            getattr(i, "name", "") == "current_platform" and tree.absolute(owner, i) == platforms  # type: ignore[arg-type]
            for i in imports
        )

    owner = module
    for imported in record.imports:
        if not imported.scope and not imported.guard and names_platform([imported]):
            return imported.line
    for call in tree.calls(module):
        if call.scope or "?" in call.callee or "." in call.callee:
            continue
        found = world.member(module, call.callee)
        if found.kind is Kind.FUNCTION and world.tree(found.module) is tree:
            owner = found.module
            if names_platform(tree.namespace(found.module).local_imports.get(found.qualname, ())):
                return call.line
            owner = module
    return None

"""How upstream treats an error in a plugin, read from its own source.

Three places matter: loading an entry point, calling it, and importing the class that a platform plugin names.
Where upstream's tree does not hold them, what all known releases do is assumed.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from tools.code.syntax import dotted
from tools.code.tree import Tree
from tools.registry.entry_points import GENERAL_GROUP, PLATFORM_GROUP


@dataclass(frozen=True, slots=True)
class Place:
    """One of the three: whether an error is caught there, whether it is logged, and where it stands."""

    caught: bool
    logged: bool
    module: str = ""
    line: int = 1


@dataclass(frozen=True, slots=True)
class Loader:
    """What upstream does with errors of plugins."""

    load: Place
    call: Place
    platform_call: Place
    platform_class: Place

    def place(self, stage: str, kind: str) -> Place:
        """The place for a stage (``load``, ``call``, ``class``) of an entry point of group ``kind``."""
        if stage == "load":
            return self.load
        if stage == "class":
            return self.platform_class
        return self.platform_call if kind == PLATFORM_GROUP else self.call

    def survives(self, stage: str, kind: str) -> bool:
        """True when upstream goes on."""
        return self.place(stage, kind).caught

    def effect(self, stage: str, kind: str) -> str:
        """What a user sees."""
        place = self.place(stage, kind)
        if not place.caught:
            return "the process ends with a traceback when it loads the plugin"
        trace = "a traceback in the log and nothing else" if place.logged else "no traceback"
        if kind == PLATFORM_GROUP:
            return f"the platform falls back to a built-in one or to UnspecifiedPlatform, with {trace}"
        return f"the entry point is skipped, with {trace}"


def read_loader(upstream: Tree) -> Loader:
    """The loader of ``upstream``."""
    plugins, platforms = f"{upstream.package}.plugins", f"{upstream.package}.platforms"
    return Loader(
        load=_place(upstream, plugins, "load_plugins_by_group", {"load"}) or Place(True, True),
        call=_place(upstream, plugins, f"load_{GENERAL_GROUP}", {"func", "plugin"}) or Place(False, False),
        platform_call=_place(upstream, platforms, "resolve_current_platform_cls_qualname", {"func", "plugin"})
        or Place(True, False),
        platform_class=_place(upstream, platforms, "__getattr__", {"resolve_obj_by_qualname"})
        or Place(False, False),
    )


def _place(upstream: Tree, module: str, function: str, callees: set[str]) -> Place | None:
    """Whether the first call of one of ``callees`` in ``function`` stands in a ``try`` that catches all."""
    record = upstream.modules.get(module)
    if record is None or record.error or function not in upstream.namespace(module).functions:
        return None
    for node in upstream.syntax(module).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return _search(node.body, module, callees, None)
    return None


def _search(
    body: list[ast.stmt], module: str, callees: set[str], handler: ast.ExceptHandler | None
) -> Place | None:
    for stmt in body:
        inner: list[tuple[list[ast.stmt], ast.ExceptHandler | None]] = []
        if isinstance(stmt, ast.Try):
            inner.append((stmt.body, next((h for h in stmt.handlers if _catches_all(h)), handler)))
            inner += [(block, handler) for block in (stmt.orelse, stmt.finalbody)]
        elif isinstance(getattr(stmt, "body", None), list):
            inner += [(stmt.body, handler), (getattr(stmt, "orelse", []), handler)]  # type: ignore[attr-defined]
        if not inner:
            for node in ast.walk(stmt):
                if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in callees:
                    logged = handler is not None and any(
                        isinstance(n, ast.Call) and dotted(n.func).rpartition(".")[2] == "exception"
                        for n in ast.walk(handler)
                    )
                    return Place(handler is not None, logged, module, node.lineno)
        for block, around in inner:
            found = _search(block, module, callees, around)
            if found is not None:
                return found
    return None


def _catches_all(handler: ast.ExceptHandler) -> bool:
    name = dotted(handler.type) if handler.type is not None else "BaseException"
    reraises = any(isinstance(n, ast.Raise) for n in ast.walk(handler))
    return name in ("Exception", "BaseException") and not reraises

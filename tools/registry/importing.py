"""Imports that are no import statement: by string, in loops over names, and module paths in texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tools.code.records import Import
from tools.code.syntax import dotted
from tools.code.tree import Tree

_IMPORTERS = {"import_module", "__import__"}
_OBJECT_IMPORTERS = {"resolve_obj_by_qualname", "import_from_string", "import_string"}


def imported_strings(call: ast.Call) -> Iterator[str]:
    """Module names that ``call`` imports by a string in its first argument."""
    callee = dotted(call.func).rpartition(".")[2]
    argument = call.args[0] if call.args else None
    if not isinstance(argument, ast.Constant) or not isinstance(argument.value, str):
        return
    if callee in _IMPORTERS and not argument.value.startswith("."):
        yield argument.value
    elif callee in _OBJECT_IMPORTERS:
        yield re.split(r"[.:](?=[^.:]*$)", argument.value)[0]


def literal_strings(node: ast.expr) -> list[str]:
    """Elements of a literal list or tuple of strings."""
    elements = node.elts if isinstance(node, ast.List | ast.Tuple | ast.Set) else []
    return [e.value for e in elements if isinstance(e, ast.Constant) and isinstance(e.value, str)]


def loop_imports(tree: Tree, module: str, loop: ast.For | ast.AsyncFor) -> list[str]:
    """Modules that a loop imports by names it iterates over: literal names, or a package's own folder."""
    imports = [
        call
        for stmt in loop.body
        for call in ast.walk(stmt)
        if isinstance(call, ast.Call) and dotted(call.func).rpartition(".")[2] in _IMPORTERS
    ]
    if not imports:
        return []
    package = module if tree.is_package(module) else module.rpartition(".")[0]
    if isinstance(loop.iter, ast.Call):
        walker = dotted(loop.iter.func).rpartition(".")[2]
        if walker not in ("iter_modules", "walk_packages"):
            return []
        deep = walker == "walk_packages"
        children = [m for m in tree.modules if m.startswith(package + ".")]
        return sorted(m for m in children if deep or "." not in m[len(package) + 1 :])
    items: tuple[str, ...] = tuple(literal_strings(loop.iter))
    if isinstance(loop.iter, ast.Name):
        bindings = tree.namespace(module).names.get(loop.iter.id)
        items = bindings.assigns[-1].items if bindings is not None and bindings.assigns else ()
    out = []
    for item in items:
        for name in (item, f"{package}.{item.lstrip('.')}"):
            if name in tree:
                out.append(name)
                break
    return out


def quoted_paths(tree: Tree, module: str, package: str) -> list[tuple[str, int]]:
    """(dotted path, line) of texts in ``module`` that begin with the name of ``package``."""
    content = tree.snapshot.read(tree.paths[module])
    needle = package.encode() + b"."
    if b'"' + needle not in content and b"'" + needle not in content:
        return []
    pattern = re.compile(rb"[\"']" + re.escape(needle) + rb"[\w.:]*")
    return [
        (match.group()[1:].decode(), content.count(b"\n", 0, match.start()) + 1)
        for match in pattern.finditer(content)
    ]


def absolute(tree: Tree, module: str, stmt: ast.ImportFrom) -> str:
    """The module that ``from … import`` names when it stands in ``module``; '' when it climbs too far."""
    if not stmt.level:
        return stmt.module or ""
    return tree.absolute(module, Import(stmt.module or "", "", "", stmt.level, stmt.lineno, "", ""))


def first_binding(tree: Tree, module: str, name: str) -> int | None:
    """First line of ``module`` that binds ``name``; None where that cannot be told."""
    space = tree.namespace(module)
    bindings = space.names.get(name)
    if bindings is None or space.stars or tree.modules[module].getattr_names is not None:
        return None
    lines = [f.line for f in bindings.functions] + [c.line for c in bindings.classes]
    return min(lines + [a.line for a in bindings.assigns] + [i.line for i in bindings.imports])

"""Import statements of the plugin with what each leads to; the IMP checks read them from here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tools.checks.base import Context
from tools.code.guards import excluded_by_version, tests, undecided_version
from tools.code.records import Import, guarded_by, typing_only
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution

_SWALLOWS = ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
"""Handlers that catch a failing import. AttributeError and KeyError do not."""


@dataclass(frozen=True, slots=True)
class BrokenImport:
    """An import that fails against the context's upstream."""

    module: str
    """Plugin module that holds it."""
    imported: Import
    source: str
    """Absolute module it imports from."""
    missing: Resolution
    internal: bool
    """The missing thing belongs to the plugin itself."""
    typing_only: bool
    swallowed_by: str | None
    """The exception whose handler catches it, as written."""
    fallback: bool
    """The handler imports the same name from where it is."""
    undecided: bool = False
    """It stands under a test of upstream's version whose outcome cannot be told."""

    @property
    def name(self) -> str:
        """Imported name; '' when the module itself is imported."""
        return "" if self.imported.name in ("", ".", "*") else self.imported.name

    @property
    def symbol(self) -> str:
        """The function it stands in; at module level, the name it would have bound there."""
        return self.imported.scope or self.imported.bound

    @property
    def module_missing(self) -> bool:
        """The module is gone, not only the name."""
        return not self.missing.qualname

    @property
    def cause(self) -> str:
        """Imports broken by one upstream change share it."""
        return f"{self.missing.module} gone" if self.module_missing else f"{self.source} lost names"


def broken_imports(context: Context) -> tuple[BrokenImport, ...]:
    """Every import of the plugin that fails, in order; computed once per context."""
    found = context.shared.get("broken_imports")
    if found is None:
        found = context.shared["broken_imports"] = tuple(_find(context))
    return found  # type: ignore[return-value]


def _find(context: Context) -> Iterator[BrokenImport]:
    plugin, world = context.plugin, context.world
    version, package = context.upstream.snapshot.identity.version, context.profile.upstream_package
    for module in sorted(plugin.modules):
        tries: list[_Try] | None = None
        for imported in plugin.modules[module].imports:
            source = plugin.absolute(module, imported)
            missing = _missing(context, module, imported, source)
            if missing is None or excluded_by_version(imported.guard, version, package):
                continue
            if _probed(context, imported):
                continue
            if tries is None:
                tries = list(_tries(context, module))
            around = [t for t in tries if t.first <= imported.line <= t.last]
            if any(t.in_handler(imported.line) and t.body_works(context, module) for t in around):
                continue  # the handler of an import that works: never run
            caught = guarded_by(imported.guard, *_SWALLOWS)
            yield BrokenImport(
                module=module,
                imported=imported,
                source=source,
                missing=missing,
                internal=world.tree(missing.module) is plugin,
                typing_only=typing_only(imported.guard),
                swallowed_by=caught,
                fallback=caught is not None
                and any(
                    t.handler_serves(context, module, imported.bound)
                    for t in around
                    if not t.in_handler(imported.line)
                ),
                undecided=undecided_version(imported.guard, version, package),
            )


def _probed(context: Context, imported: Import) -> bool:
    """True under ``if find_spec("…")`` or ``if hasattr(…, "name")`` that asks for what is missing."""
    for wanted, test in tests(imported.guard):
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            wanted, test = not wanted, test.operand
        if isinstance(test, ast.Compare) and ast.unparse(test.comparators[0]) == "None":
            wanted, test = wanted is isinstance(test.ops[0], ast.IsNot), test.left
        if not wanted or not isinstance(test, ast.Call) or not test.args:
            continue
        last = test.args[-1]
        asked = last.value if isinstance(last, ast.Constant) and isinstance(last.value, str) else ""
        called = dotted(test.func).rpartition(".")[2]
        if called == "hasattr" and asked == imported.name:
            return True
        tree = context.world.tree(asked) if called == "find_spec" and asked else None
        if tree is not None and not context.world.module(asked).found:
            return True
    return False


def _missing(context: Context, module: str, imported: Import, source: str) -> Resolution | None:
    world = context.world
    if not source:
        return Resolution(Kind.MISSING, "." * imported.level + imported.module)
    tree = world.tree(source)
    if tree is None:
        return None
    if imported.name in ("", ".", "*"):
        found = world.module(source)
        return None if found.found else found
    found = world.member(source, imported.name)
    if found.found:
        return None
    if not world.module(source).found:
        return Resolution(Kind.MISSING, source)
    bindings = tree.namespace(source).names.get(imported.name)
    others = [
        i
        for i in (bindings.imports if bindings is not None else ())
        # ``from . import name`` in a package would pass the name on to itself.
        if not typing_only(i.guard) and (tree.absolute(source, i), i.name) != (source, imported.name)
    ]
    if others:
        return None  # passed on from elsewhere: broken there, if anywhere, and reported there
    if f"{source}.{imported.name}" in context.patched:
        return None  # put there by the plugin itself
    return Resolution(Kind.MISSING, source, imported.name)


@dataclass(frozen=True, slots=True)
class _Try:
    node: ast.Try

    @property
    def first(self) -> int:
        return self.node.lineno

    @property
    def last(self) -> int:
        return self.node.end_lineno or self.node.lineno

    def in_handler(self, line: int) -> bool:
        return any(h.lineno <= line <= (h.end_lineno or h.lineno) for h in self.node.handlers)

    def body_works(self, context: Context, module: str) -> bool:
        """True when every import in the body resolves inside the two packages."""
        record = context.plugin.modules[module]
        end = self.node.body[-1].end_lineno or self.node.lineno
        inside = [i for i in record.imports if self.node.lineno <= i.line <= end]
        if not inside:
            return False
        for imported in inside:
            source = context.plugin.absolute(module, imported)
            if context.world.tree(source) is None or _missing(context, module, imported, source) is not None:
                return False
        return True

    def handler_serves(self, context: Context, module: str, bound: str) -> bool:
        """True when a handler imports ``bound`` from where it exists."""
        spans = [(h.lineno, h.end_lineno or h.lineno) for h in self.node.handlers]
        return any(
            imported.bound == bound
            and any(first <= imported.line <= last for first, last in spans)
            and _missing(context, module, imported, context.plugin.absolute(module, imported)) is None
            for imported in context.plugin.modules[module].imports
        )


def handler_of(context: Context, module: str, line: int) -> tuple[ast.Try, ast.ExceptHandler] | None:
    """The innermost ``try`` around ``line`` whose handler catches a failing import, and that handler."""
    best: tuple[ast.Try, ast.ExceptHandler] | None = None
    for found in _tries(context, module):
        end = found.node.body[-1].end_lineno or found.first
        if not found.first <= line <= end:
            continue
        for handler in found.node.handlers:
            names = (
                [dotted(e) for e in handler.type.elts]
                if isinstance(handler.type, ast.Tuple)
                else [dotted(handler.type)]
                if handler.type is not None
                else ["BaseException"]
            )
            if any(n.rpartition(".")[2] in _SWALLOWS for n in names):
                best = (found.node, handler)
    return best


def _tries(context: Context, module: str) -> Iterator[_Try]:
    if context.plugin.modules[module].error:
        return
    for scope in context.inference.scopes(module):
        for node in scope.all(ast.Try):
            yield _Try(node)

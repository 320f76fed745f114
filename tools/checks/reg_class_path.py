"""A class path or ``module:Class`` text leads to nothing.

Backends, models, workers and platforms are named by text and imported when they are first used, so a renamed
class, a moved module or a stray dot passes every start-up check and raises with the first request that needs it.
Re-copying a file from upstream is enough: the class gets upstream's name back, the text keeps the old one.

Example: ``register_backend(…, class_path="acme.attention.mla.AcmeMLABackend")`` while the class there is called
``MLABackend``: AttributeError for every MLA model.

Cannot see: texts that are put together from parts, and modules that only a build makes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.world import Kind
from tools.findings import Certainty, Severity
from tools.registry.importing import quoted_paths
from tools.registry.outcomes import How, Reached
from tools.registry.sites import ATTENTION, MODEL, Registration, registrations
from tools.registry.startup import startup_of

ID = "REG004"
TITLE = "Class path that leads to nothing"
SEVERITY = Severity.ERROR

_CLASS_PATH = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*(?:[.:][A-Z]\w*)\.?")


def run(context: Context) -> Iterable[Result]:
    """Registered texts first, then every other text that has the form of a class path."""
    told: set[tuple[str, str]] = set()
    for item in registrations(context):
        if item.path and item.kind in (MODEL, ATTENTION):
            told.add((item.module, item.path))
            problem = _problem(context, item.path, colon=item.kind == MODEL)
            if problem is not None:
                yield _registered(context, item, problem)
    for module in sorted(context.plugin.paths):
        if context.plugin.modules[module].error:
            continue
        lines = _lines(context, module)
        for scope in context.inference.scopes(module) if lines else ():
            if _covers(scope, lines):
                for text, line in _texts(scope):
                    tree = context.world.tree(text.replace(":", "."))
                    if (module, text) in told or tree is None:
                        continue
                    problem = _problem(context, text, colon=":" in text)
                    if problem is not None:
                        told.add((module, text))
                        yield _named(context, scope, text, line, problem)


def _lines(context: Context, module: str) -> set[int]:
    """Lines that hold a text beginning with the name of either package."""
    trees = (context.plugin, context.upstream)
    return {n for tree in trees for _, n in quoted_paths(context.plugin, module, tree.package)}


def _covers(scope: Scope, lines: set[int]) -> bool:
    node = scope.node
    if isinstance(node, ast.Module):
        return True
    return any(node.lineno <= line <= (node.end_lineno or line) for line in lines)


def _texts(scope: Scope) -> Iterator[tuple[str, int]]:
    """Texts used as values: not docstrings, not compared with, no arguments of a patch decorator."""
    skipped: set[int] = set()
    texts: list[ast.Constant] = []
    for node in scope.nodes:
        if type(node) is ast.Constant:
            if isinstance(node.value, str) and _CLASS_PATH.fullmatch(node.value):
                texts.append(node)
        elif isinstance(node, ast.Compare | ast.JoinedStr | ast.BinOp):
            skipped |= {id(n) for n in ast.walk(node)}
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            skipped |= {id(n) for d in node.decorator_list for n in ast.walk(d)}
    for text in texts:
        if id(text) not in skipped:
            yield str(text.value), text.lineno


def _problem(context: Context, text: str, *, colon: bool) -> tuple[str, str, str] | None:
    """(what is wrong, exception, what to do) of a class path; None when it leads to something."""
    module, separator, name = text.rpartition(":" if colon else ".")
    if colon and not separator:
        return "has no colon", "ValueError: expected a string in the format `<module>:<class>`", ""
    if not colon and ":" in text:
        return "has a colon", f"AttributeError: no attribute '{name}'", text.replace(":", ".")
    if not name:
        fixed = text.rstrip(".:")
        return f"ends in {separator!r}", f"ModuleNotFoundError: No module named '{module}'", fixed
    tree = context.world.tree(module)
    if tree is None:
        return None
    top = context.world.module(module)
    if top.kind is Kind.MISSING:
        # ``module.Outer.Inner`` would be found as an attribute, but is imported as a module.
        where = context.plugin if tree is context.plugin else context.upstream
        known = where.defined.get(name, ())
        fixed = f"{known[0]}{separator}{name}" if len(known) == 1 else ""
        return f"names no module: {module} does not exist", f"ModuleNotFoundError: {module!r}", fixed
    found = context.world.member(module, name)
    if found.kind is not Kind.MISSING or f"{module}.{name}" in context.patched:
        return None
    classes = [c.qualname for c in tree.modules[module].classes] if module in tree.modules else []
    close = [c for c in classes if c.endswith(name) or name.endswith(c)] or get_close_matches(
        name, classes, 1
    )
    elsewhere = tree.defined.get(name, ())
    fixed = f"{module}{separator}{close[0]}" if close else ""
    if not fixed and len(elsewhere) == 1:
        fixed = f"{elsewhere[0]}{separator}{name}"
    return (
        f"names no class: {module} has no {name}",
        f"AttributeError: {module!r} has no attribute {name!r}",
        fixed,
    )


def _registered(context: Context, item: Registration, problem: tuple[str, str, str]) -> Result:
    wrong, exception, fixed = problem
    at_start = exception.startswith("ValueError")
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"{item.kind} {item.key}",
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN,
        message=f"class path {item.path!r} of {item.kind} {item.key} {wrong}",
        trigger="start of every process" if at_start else f"the first use of {item.kind} {item.key}",
        consequence=exception,
        suggestion=f"Write {fixed!r}." if fixed else "Name a class that exists, or remove the registration.",
        evidence=[_cite(context, item.path)],
        cause=f"class path {item.path}",
    )


def _named(context: Context, scope: Scope, text: str, line: int, problem: tuple[str, str, str]) -> Result:
    wrong, exception, fixed = problem
    reached = startup_of(context).reached(scope.module, line)
    return context.finding(
        ID,
        module=scope.module,
        line=line,
        symbol=scope.qualname,
        key=text,
        severity=_severity(context, text, reached),
        certainty=Certainty.LIKELY,
        message=f"class path {text!r} {wrong}",
        trigger="when the text is looked up as a class",
        consequence=exception,
        suggestion=f"Write {fixed!r}." if fixed else "Name a class that exists.",
        evidence=[_cite(context, text)],
        cause=f"class path {text}",
    )


def _severity(context: Context, text: str, reached: Reached) -> Severity:
    """An error only where the text is surely used: upstream's own classes may stand in a dead branch."""
    if reached.how is How.NEVER:
        return Severity.NOTE
    own = context.world.tree(text.replace(":", ".")) is context.plugin
    runs = reached.how is not How.LAZY and (own or not reached.guard)
    return Severity.ERROR if runs else Severity.WARNING


def _cite(context: Context, text: str) -> str | None:
    module = text.replace(":", ".").rstrip(".")
    while module:
        tree = context.world.tree(module)
        if tree is not None and module in tree.paths:
            return context.cite(tree, module, 1)
        module = module.rpartition(".")[0]
    return None

"""A quantization config is registered under a name that cannot select it, or that upstream now owns.

``register_quantization_config`` never complains about a name of its own, but the name must still pass the
platform's list of supported methods, and a name that upstream also lists is refused by some releases and
overridden silently by others. Methods that move in or out of tree change which of these holds.

Example: upstream takes ``w4_block`` in tree; the plugin's own ``w4_block`` then raises at start on releases that
refuse duplicates. Or the plugin registers ``auto_awq`` while its platform lists only ``awq``.

Cannot see: names and lists that are computed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.records import Class
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity
from tools.registry.lookups import lookups_of
from tools.registry.platforms import platform_classes
from tools.registry.sites import QUANTIZATION, Registration, registrations
from tools.registry.startup import startup_of

ID = "REG002"
TITLE = "Quantization method name that cannot select its config"
SEVERITY = Severity.ERROR

_REGISTRAR = "register_quantization_config"
_ADDED = re.compile(r"supported_quantization\.(?:append|extend)\(([^)]*)\)")
_TEXT = re.compile(r"[\"']([^\"']+)[\"']")


def run(context: Context) -> Iterable[Result]:
    """Judges every name that can be read."""
    items = [r for r in registrations(context) if r.kind == QUANTIZATION and r.key]
    known = lookups_of(context).methods
    if not items or not known:
        return
    refuses = _refuses_duplicates(context)
    before = lookups_of(context.before).methods if context.before is not None else None
    supported = _supported(context)
    for item in items:
        if item.key in known and refuses is not None:
            yield _refused(context, item, refuses)
        elif before and item.key in known and item.key not in before:
            yield _taken(context, item)
        elif before and item.key in before and item.key not in known:
            yield _dropped(context, item)
        if supported is not None and item.key in known and item.key not in supported[0]:
            yield _unsupported(context, item, supported[1])


def _refuses_duplicates(context: Context) -> Resolution | None:
    """The registrar, where it raises for a name that is already listed."""
    module = f"{context.upstream.package}.model_executor.layers.quantization"
    record = context.upstream.modules.get(module)
    if record is None or record.error:
        return None
    for node in ast.walk(context.upstream.syntax(module)):
        if isinstance(node, ast.FunctionDef) and node.name == _REGISTRAR:
            for test in ast.walk(node):
                if (
                    isinstance(test, ast.If)
                    and "QUANTIZATION_METHODS" in ast.unparse(test.test)
                    and " not in " not in ast.unparse(test.test)
                    and any(isinstance(s, ast.Raise) for s in test.body)
                ):
                    return Resolution(Kind.FUNCTION, module, _REGISTRAR)
    return None


def _supported(context: Context) -> tuple[frozenset[str], Resolution] | None:
    """Methods that the platform accepts, and the class that lists them; None where that cannot be read."""
    world = context.world
    for path in startup_of(context).class_paths:
        for cls in platform_classes(world, path):
            owner = world.definer(cls, "supported_quantization")
            record = world.class_record(owner) if owner is not None else None
            if owner is None or record is None or world.tree(owner.module) is not context.plugin:
                continue
            listed = next((a for a in record.assigns if a.name == "supported_quantization"), None)
            if listed is None or listed.kind != "list" or not listed.items:
                continue
            return frozenset(listed.items) | _added(context, owner, record), owner
    return None


def _added(context: Context, owner: Resolution, record: Class) -> frozenset[str]:
    """Names that are appended anywhere in the plugin: whether they are at run time is not asked."""
    out: set[str] = set()
    for module in context.plugin.paths:
        content = context.plugin.snapshot.read(context.plugin.paths[module])
        if b"supported_quantization" in content:
            text = "\n".join(context.plugin.lines(module))
            out |= {name for match in _ADDED.finditer(text) for name in _TEXT.findall(match.group(1))}
    return frozenset(out)


def _refused(context: Context, item: Registration, registrar: Resolution) -> Result:
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"refused {item.key}",
        severity=Severity.ERROR,
        certainty=Certainty.LIKELY,
        message=f"{item.key!r} is registered in tree by {context.version(context.role)}, "
        "which refuses a second registration",
        trigger="start of every process",
        consequence=f"ValueError: the quantization method `{item.key}` already exists",
        suggestion="Register only where upstream does not list the name, or remove it from upstream's list first.",
        evidence=[context.cite_definition(registrar, whole=True)],
        cause=f"quantization method {item.key}",
    )


def _taken(context: Context, item: Registration) -> Result:
    counterpart = lookups_of(context).methods[item.key]
    found = context.world.path(counterpart.replace(":", ".")) if counterpart else None
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"taken {item.key}",
        severity=Severity.NOTE,
        certainty=Certainty.CERTAIN,
        message=f"{item.key!r} is registered in tree at {context.version(context.role)}"
        + (f" as {counterpart}" if counterpart else "")
        + "; the plugin's config replaces it",
        trigger="any checkpoint of this method",
        consequence="upstream's own config for the method is never used",
        suggestion="Decide whether the plugin's config is still needed; if so, compare it with upstream's.",
        evidence=[context.cite_definition(found) if found is not None and found.found else None],
        cause=f"quantization method {item.key}",
        silent=True,
    )


def _dropped(context: Context, item: Registration) -> Result:
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"dropped {item.key}",
        severity=Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=f"{context.version(context.role)} no longer lists the quantization method {item.key!r}",
        trigger="a checkpoint that upstream now maps to another method name",
        consequence="the plugin's config is registered but no longer selected for such checkpoints",
        suggestion="Look up which name took over in upstream's list, and register under that one as well.",
        evidence=[],
        cause=f"quantization method {item.key}",
        silent=True,
    )


def _unsupported(context: Context, item: Registration, owner: Resolution) -> Result:
    return context.finding(
        ID,
        module=item.module,
        line=item.line,
        symbol=item.symbol,
        key=f"unsupported {item.key}",
        # Plugins register names they do not support on purpose, to keep upstream from choosing them.
        severity=Severity.NOTE,
        certainty=Certainty.LIKELY,
        message=f"{item.key!r} is registered, but {owner.qualname}.supported_quantization does not hold it",
        trigger=f"a checkpoint quantized with {item.key}",
        consequence=f"ValueError: {item.key} quantization is currently not supported on the platform",
        suggestion=f"Add {item.key!r} to supported_quantization, or drop the registration.",
        evidence=[context.cite_definition(owner)],
        cause=f"quantization method {item.key} unsupported",
    )

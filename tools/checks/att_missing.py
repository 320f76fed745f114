"""An attribute that what it is read from does not have on the target.

Modules lose functions, classes lose methods and fields, enums lose members, ``vllm.envs`` loses variables. Reading
one raises ``AttributeError`` when the line runs; no import fails, so start-up looks healthy.

Example: ``fused_moe_config.disable_inplace`` is read when weights are loaded; the target removed the field. Loading
any MoE model raises ``AttributeError: 'FusedMoEConfig' object has no attribute 'disable_inplace'``.

Cannot see: objects whose type the source does not tell; attributes that subclasses, ``__getattr__`` or code
outside both packages provide.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator

from tools.checks._attributes import Presence, descendants, family, presence
from tools.checks._guards import guarded, never_runs, tested
from tools.checks._successors import went
from tools.checks.base import Context, Result
from tools.code.infer import Form, Scope, Type
from tools.code.syntax import dotted
from tools.code.world import Resolution
from tools.findings import Certainty, Severity

ID = "ATT001"
TITLE = "Attribute that the target does not have"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.all(ast.Attribute):
                if isinstance(node.ctx, ast.Load):
                    yield from _read(context, module, scope, node)


def _read(context: Context, module: str, scope: Scope, node: ast.Attribute) -> Iterator[Result]:
    if node.attr.startswith("__") and node.attr.endswith("__"):
        return
    owner = context.inference.of(node.value, scope)
    if owner is None or owner.form not in (Form.MODULE, Form.CLASS, Form.INSTANCE):
        return
    if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and scope.cls is not None:
        return  # ATT002
    if owner.form is Form.MODULE:
        lost = _module_lost(context, owner.ref, node.attr)
        certainty: Certainty | None = Certainty.CERTAIN if lost else None
    else:
        certainty = _class_lost(context, owner, node.attr)
        if certainty is Certainty.LIKELY:
            certainty = _duck_typed(context, module, owner, node)
    if certainty is None or never_runs(context, scope, node):
        if certainty is None and _unknown(context, owner, node.attr):
            yield context.unresolved(
                ID,
                module=module,
                line=node.lineno,
                symbol=scope.qualname,
                reason="attributes are computed, stored from outside, or come from a base outside both packages",
                subject=f"{owner.ref.id}.{node.attr}",
            )
        return
    text = dotted(node.value)
    if guarded(context, module, node.lineno, "AttributeError", "Exception") or tested(scope, text, node.attr):
        return
    yield _report(context, module, scope, node, owner, certainty)


def _module_lost(context: Context, owner: Resolution, name: str) -> bool:
    found = context.world.member(owner.module, name)
    if found.found or f"{owner.module}.{name}" in context.patched:
        return False
    tree = context.world.tree(owner.module)
    if tree is None or name in tree.attr_stores:
        return False
    # An import that the module passes on and that is broken itself is reported where it stands.
    bindings = tree.namespace(owner.module).names.get(name)
    return bindings is None or not bindings.imports


def _had(context: Context, owner: Type, name: str) -> bool:
    """True when base had it: what bases outside both packages give to subclasses does not matter then."""
    return context.before is not None and presence(context.before, owner.ref, name) is Presence.PRESENT


def _unknown(context: Context, owner: Type, name: str) -> bool:
    if owner.form is Form.MODULE or context.world.tree(owner.ref.module) is not context.upstream:
        return False
    return presence(context, owner.ref, name) is Presence.UNKNOWN


def _class_lost(context: Context, owner: Type, name: str) -> Certainty | None:
    if presence(context, owner.ref, name) is not Presence.ABSENT:
        return None
    if owner.form is Form.INSTANCE and not owner.exact:
        for child in descendants(context, owner.ref):
            found = family(context, child)
            if found is None or name in found.names or (found.opaque and not _had(context, owner, name)):
                return None
    return Certainty.CERTAIN if owner.exact or owner.form is Form.CLASS else Certainty.LIKELY


def _duck_typed(context: Context, module: str, owner: Type, node: ast.Attribute) -> Certainty | None:
    """A parameter's annotation may promise less than callers pass: what other classes have is doubtful.

    Certain enough is what base had and the target has not, and what nothing at all has.
    """
    if _had(context, owner, node.attr):
        return Certainty.LIKELY
    if node.attr not in context.upstream.attributes and node.attr not in context.plugin.attributes:
        return Certainty.LIKELY
    line = context.plugin.lines(module)[node.lineno - 1]
    return None if "type: ignore" in line or "pyright: ignore" in line else Certainty.POSSIBLE


def _report(
    context: Context, module: str, scope: Scope, node: ast.Attribute, owner: Type, certainty: Certainty
) -> Result:
    world = context.world
    own = world.tree(owner.ref.module) is context.plugin
    where = "in the plugin" if own else f"in {context.version(context.role)}"
    if owner.form is Form.MODULE:
        what, raised = (
            f"module `{owner.ref.module}`",
            f"module '{owner.ref.module}' has no attribute '{node.attr}'",
        )
    elif owner.form is Form.CLASS:
        found = family(context, owner.ref)
        noun = "enum" if found is not None and found.is_enum else "class"
        what = f"{noun} `{owner.ref.qualname}`"
        raised = f"type object '{owner.ref.qualname}' has no attribute '{node.attr}'"
    else:
        what = f"`{owner.ref.qualname}`"
        raised = f"'{owner.ref.qualname}' object has no attribute '{node.attr}'"
    hint, suggestion, more = _successor(context, owner, node)
    message = f"{what} has no attribute `{node.attr}` {where}" + (f"; {hint}" if hint else "")
    symbol = scope.qualname
    return context.finding(
        ID,
        module=module,
        line=node.end_lineno or node.lineno,
        symbol=symbol,
        key=f"{owner.ref.id}.{node.attr}",
        severity=Severity.WARNING if certainty is Certainty.POSSIBLE else Severity.ERROR,
        certainty=certainty,
        message=message,
        trigger=f"running `{symbol}`" if symbol else f"importing `{module}`",
        consequence=f"AttributeError: {raised}",
        suggestion=suggestion,
        evidence=[context.cite_definition(owner.ref) if owner.ref.qualname else None, *more],
        cause=f"{owner.ref.id} lost {node.attr}"
        if owner.form is not Form.MODULE
        else f"{owner.ref.module} lost names",
    )


def _successor(context: Context, owner: Type, node: ast.Attribute) -> tuple[str, str, list[str | None]]:
    """(text, suggestion, evidence): what takes the attribute's place."""
    if owner.form is Form.MODULE:
        found = went(context, owner.ref.module, node.attr)
        suggestion = found.suggestion
        return found.text, suggestion, list(found.evidence)
    world = context.world
    earlier = context.before.world.class_member(owner.ref, node.attr) if context.before else None
    evidence = [context.before.cite_definition(earlier) if context.before and earlier else None]
    # One step further: config objects that were split keep their fields in a part.
    for name in sorted(world.instance_attributes(owner.ref)):
        part = context.inference.attribute(Type(Form.INSTANCE, owner.ref), name)
        if part is not None and part.form is Form.INSTANCE and part.ref != owner.ref:
            inner = family(context, part.ref)
            if inner is not None and node.attr in inner.names:
                text = f"`{part.ref.qualname}` has it, as `{dotted(node.value)}.{name}.{node.attr}`"
                return (
                    text,
                    f"read `{dotted(node.value)}.{name}.{node.attr}`",
                    [
                        *evidence,
                        context.cite_definition(part.ref),
                    ],
                )
    close = _close(context, owner, node.attr)
    if close:
        listed = ", ".join(f"`{n}`" for n in close)
        return f"it has {listed}", f"use one of {listed} if it means the same, or drop the use", evidence
    return "", f"drop the use of `{node.attr}`, or take over what upstream does in its place", evidence


def _close(context: Context, owner: Type, name: str) -> list[str]:
    found = family(context, owner.ref)
    public = sorted(n for n in (found.names if found else ()) if not n.startswith("__"))
    return difflib.get_close_matches(name, public, n=3, cutoff=0.72)

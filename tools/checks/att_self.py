"""A method or attribute of ``self`` that nobody defines on the target.

Code copied from a newer or older upstream calls helpers that its own class and the target's bases do not have.
The first call raises ``AttributeError``.

Example: a constructor copied from upstream's main branch calls ``self._init_fp8_state()``; the release that is
installed has no such method yet. Building the layer raises ``AttributeError``.

Cannot see: classes with bases outside both packages (other than well-known ones), classes used as mixins, and
attributes that other code stores on the object.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._attributes import Presence, descendants, family, presence
from tools.checks._guards import guarded, never_runs, tested
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.world import Resolution
from tools.findings import Certainty, Severity

ID = "ATT002"
TITLE = "Attribute of self that neither the class nor its bases define"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for module in context.examined:
        for scope in context.inference.scopes(module):
            if scope.cls is None:
                continue
            seen: set[str] = set()
            for node in scope.all(ast.Attribute):
                if (
                    isinstance(node.ctx, ast.Load)
                    and isinstance(node.value, ast.Name)
                    and node.value.id in ("self", "cls")
                    and node.attr not in seen
                    and not node.attr.startswith("__")
                ):
                    seen.add(node.attr)
                    if _lost(context, module, scope, node):
                        yield _report(context, module, scope, node)


def _lost(context: Context, module: str, scope: Scope, node: ast.Attribute) -> bool:
    cls = scope.cls
    assert cls is not None
    assert isinstance(node.value, ast.Name)
    if presence(context, cls, node.attr) is not Presence.ABSENT:
        return False
    for child in descendants(context, cls):
        found = family(context, child)
        if found is None or node.attr in found.names or found.opaque:
            return False
    if never_runs(context, scope, node) or tested(scope, node.value.id, node.attr):
        return False
    return not guarded(context, module, node.lineno, "AttributeError", "Exception")


def _report(context: Context, module: str, scope: Scope, node: ast.Attribute) -> Result:
    cls = scope.cls
    assert cls is not None
    bases = [c for c in context.world.mro(cls).classes[1:] if c.qualname]
    earlier = _definer_before(context, cls, node.attr)
    upstream_bases = [b for b in bases if context.world.tree(b.module) is context.upstream]
    listed = ", ".join(f"`{b.qualname}`" for b in bases[:4])
    message = f"nothing defines `self.{node.attr}`: not `{cls.qualname}`" + (
        f", nor its bases {listed}" if bases else ""
    )
    if earlier is not None:
        message += f"; in {context.version('base')} `{earlier.qualname}` did"
    return context.finding(
        ID,
        module=module,
        line=node.lineno,
        symbol=scope.qualname,
        key=node.attr,
        severity=Severity.ERROR,
        certainty=Certainty.CERTAIN if earlier is not None else Certainty.LIKELY,
        message=message,
        trigger=f"calling `{scope.qualname}`",
        consequence=f"AttributeError: '{cls.qualname}' object has no attribute '{node.attr}'",
        suggestion=f"define `{node.attr}` in `{cls.qualname}`, or follow what the target's base does instead",
        evidence=[context.cite_definition(b) for b in upstream_bases[:2]],
        cause=f"{upstream_bases[0].id} lost {node.attr}"
        if upstream_bases and earlier
        else f"{cls.id} lacks {node.attr}",
    )


def _definer_before(context: Context, cls: Resolution, name: str) -> Resolution | None:
    if context.before is None:
        return None
    world = context.before.world
    for owner in world.mro(cls).classes:
        if world.own_member(owner, name) is not None:
            return owner
        tree = world.tree(owner.module)
        methods = tree.namespace(owner.module).methods.get(owner.qualname, {}) if tree else {}
        if any(w.attr == name for m in methods.values() for w in m.self_writes):
            return owner
    return None

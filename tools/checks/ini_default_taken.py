"""``getattr`` with a default for a field that the target no longer has.

A default in ``getattr`` covers configurations without the field. When the class loses the field, or it moves
into another structure, the default is taken every time, and a model runs with a value nobody configured.

Example: ``getattr(config, "rope_theta", 1e6)`` where the target's config class keeps it in
``rope_parameters``: every model is computed with 1e6.

Cannot see: objects whose class is in neither package, which is where most model configurations are defined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.infer import Form
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "INI003"
TITLE = "Default that is always taken"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    before = context.before
    if before is None:
        return
    for module in context.examined:
        for scope in context.inference.scopes(module):
            for node in scope.nodes:
                if not (
                    isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 3
                ):
                    continue
                subject, name, default = node.args
                if node.func.id != "getattr" or not isinstance(name, ast.Constant):
                    continue
                # The name handed to getattr counts as narrowed; its declared type still says what it is.
                found = scope.names.get(subject.id) if isinstance(subject, ast.Name) else None
                found = found or context.inference.of(subject, scope)
                if found is None or found.form is not Form.INSTANCE or found.ref.kind is not Kind.CLASS:
                    continue
                attr = str(name.value)
                if context.world.tree(found.ref.module) is not context.upstream or _has(
                    context, found.ref, attr
                ):
                    continue
                old = before.world.member(found.ref.module, found.ref.qualname)
                if old.kind is not Kind.CLASS or not _has(before, old, attr):
                    continue
                yield context.finding(
                    ID,
                    module=module,
                    line=node.lineno,
                    symbol=scope.qualname,
                    key=attr,
                    severity=Severity.WARNING,
                    certainty=Certainty.LIKELY,
                    message=(
                        f"{found.ref.qualname} has no {attr} in {context.version('target')}: "
                        f"the default {ast.unparse(default)} is taken every time"
                    ),
                    trigger=f"{scope.qualname or 'importing the module'}",
                    consequence="the value of the configuration is ignored, without an error",
                    suggestion=f"Read the value where {found.ref.qualname} keeps it now; drop the default.",
                    evidence=[before.cite_definition(old), context.cite_definition(found.ref)],
                    cause=f"{found.ref.id}.{attr} removed",
                    silent=True,
                )


def _has(context: Context, cls: Resolution, attr: str) -> bool:
    members = context.world.instance_attributes(cls)
    return attr in members or "__getattr__" in members

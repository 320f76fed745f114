"""``super()`` that cannot work: outside the MRO, or where there is no receiver.

``super(X, self)`` raises ``TypeError`` when X is not a base of the class, which happens when a class is copied and
its bases change; ``super()`` without arguments in a ``@staticmethod`` always raises ``RuntimeError``.

Example: a quantization method calls ``super(FusedMoEConfig, self).__init__(moe)`` to skip its parent; the class
named is a dataclass and no base. Building the first layer raises ``TypeError: obj must be an instance or subtype``.

Cannot see: classes whose bases cannot be read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._calls import plugin_calls, super_start
from tools.checks.base import Context, Result
from tools.code.syntax import dotted
from tools.findings import Attribution, Certainty, Severity

ID = "CAL002"
TITLE = "super() that raises"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for module, scope, call in plugin_calls(context):
        if not (isinstance(call.func, ast.Name) and call.func.id == "super"):
            continue
        if not isinstance(scope.node, ast.Module):
            decorators = {dotted(d) for d in scope.node.decorator_list}
            if not call.args and scope.cls is not None and "staticmethod" in decorators:
                yield context.finding(
                    ID,
                    module=module,
                    line=call.lineno,
                    symbol=scope.qualname,
                    key="static",
                    severity=Severity.ERROR,
                    message=f"`super()` without arguments in the static method `{scope.qualname}`",
                    trigger=f"calling `{scope.qualname}`",
                    consequence="RuntimeError: super(): no arguments",
                    suggestion="name the base class: `Base.method(...)`, or make it a classmethod",
                    evidence=(),
                    attribution=Attribution.EXISTING,
                )
        start = super_start(context, scope, call) if call.args else None
        if start is None:
            continue
        cls, after = start
        mro = context.world.mro(cls)
        if after in mro.classes or (mro.opaque and context.world.tree(after.module) is None):
            continue
        if any(after in context.world.mro(c).classes for c in mro.classes):
            continue
        yield context.finding(
            ID,
            module=module,
            line=call.lineno,
            symbol=scope.qualname,
            key=after.id,
            severity=Severity.ERROR,
            certainty=Certainty.LIKELY if mro.opaque else Certainty.CERTAIN,
            message=f"`super({after.qualname}, self)`: `{after.qualname}` is no base of `{cls.qualname}`",
            trigger=f"calling `{scope.qualname}`",
            consequence="TypeError: super(type, obj): obj must be an instance or subtype of type",
            suggestion="name the class whose parent is meant; the bases are "
            + ", ".join(f"`{c.qualname}`" for c in mro.classes[1:6]),
            evidence=[context.cite_definition(after), context.cite_definition(cls)],
            cause=f"{after.id} not a base",
        )

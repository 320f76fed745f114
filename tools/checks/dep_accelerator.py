"""Upstream uses names of ``torch.accelerator`` that the plugin's shim does not provide.

Vendors' builds of torch lag behind. A plugin that puts missing functions on ``torch.accelerator`` itself shows
that its torch lacks some; the target may call more of them than the shim covers.

Example: the plugin has ``torch.accelerator.empty_cache = …`` only; the target calls
``torch.accelerator.max_memory_allocated()``: AttributeError in the first profile run.

Cannot see: what the installed torch has. Without a shim in the plugin nothing is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.code.syntax import dotted
from tools.findings import Certainty, Decision, Severity

ID = "DEP002"
TITLE = "Shim that covers part of what upstream calls"
SEVERITY = Severity.NOTE
_NAMESPACE = "torch.accelerator."


def run(context: Context) -> Iterable[Result]:
    shims = _shims(context)
    if not shims:
        return
    used = _used(context)
    lacking = sorted(used.keys() - shims.keys())
    old = set(lacking) if context.before is None else set(lacking) & _used(context.before).keys()
    for age, names in (
        ("old", [n for n in lacking if n in old]),
        ("new", [n for n in lacking if n not in old]),
    ):
        if names:
            yield _finding(context, shims, used, age, names)


def _used(context: Context) -> dict[str, tuple[str, int]]:
    """Names of ``torch.accelerator`` that upstream calls, and where first."""
    used: dict[str, tuple[str, int]] = {}
    for calls in context.upstream.calls_by_name.values():
        for module, call in calls:
            if call.callee.startswith(_NAMESPACE):
                used.setdefault(call.callee.removeprefix(_NAMESPACE), (module, call.line))
    return used


def _finding(
    context: Context,
    shims: dict[str, tuple[str, int]],
    used: dict[str, tuple[str, int]],
    age: str,
    names: list[str],
) -> Result:
    module, line = min(shims.values())
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol="",
        key=age,
        severity=Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        message=(
            f"the plugin provides {', '.join(sorted(shims))} of torch.accelerator; "
            f"{context.version(context.role)} also calls {', '.join(names)}"
        ),
        trigger=", ".join(f"{used[name][0]}:{used[name][1]}" for name in names),
        consequence=f"AttributeError when the vendor's torch has no torch.accelerator.{names[0]}",
        suggestion=f"Check that the vendor's torch has {', '.join(names)}, or add them to the shim.",
        evidence=[context.cite(context.upstream, *used[name]) for name in names],
        decision=Decision.UNDECIDED,
        cause=f"torch.accelerator.{names[0]} called",
    )


def _shims(context: Context) -> dict[str, tuple[str, int]]:
    """Names the plugin stores on ``torch.accelerator``, and where."""
    out: dict[str, tuple[str, int]] = {}
    for module in sorted(context.plugin.modules):
        if "torch" not in context.plugin.namespace(module).names and not any(
            i.module.startswith("torch") for i in context.plugin.modules[module].imports
        ):
            continue
        for scope in context.inference.scopes(module):
            for node in scope.nodes:
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                    name = dotted(node)
                    if name.startswith(_NAMESPACE):
                        out.setdefault(name.removeprefix(_NAMESPACE), (module, node.lineno))
                elif (
                    isinstance(node, ast.Call)
                    and dotted(node.func) == "setattr"
                    and len(node.args) == 3
                    and dotted(node.args[0]) == _NAMESPACE[:-1]
                    and isinstance(node.args[1], ast.Constant)
                ):
                    out.setdefault(str(node.args[1].value), (module, node.lineno))
    return out

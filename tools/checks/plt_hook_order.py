"""What upstream does before and after a hook of the plugin changed places.

The plugin's hook changes the configuration in the middle of upstream's own start. A step that ran before the
hook and now runs after it sees what the hook wrote; one that now runs before no longer does.

Example: ``VllmConfig.__post_init__`` computed compile ranges before ``check_and_update_config`` and computes
them after it in the target: a limit that the plugin's hook sets now takes part.

Cannot see: order inside the steps, and hooks called from more than one place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._platforms import interface, own_platforms
from tools.checks._source import function_node
from tools.checks._uses import outside_calls
from tools.checks.base import Context, Result
from tools.code.records import Call, Function
from tools.code.world import Resolution
from tools.findings import Certainty, Decision, Severity

ID = "PLT005"
TITLE = "Steps around a platform hook changed their order"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    before, base = context.before, interface(context)
    if before is None or base is None:
        return
    seen: set[str] = set()
    for cls in own_platforms(context):
        for owner in context.world.mro(cls).classes:
            if context.world.tree(owner.module) is not context.plugin:
                continue
            own = context.plugin.namespace(owner.module).methods.get(owner.qualname, {})
            for name, hook in sorted(own.items()):
                if f"{owner.id}.{name}" in seen:
                    continue
                seen.add(f"{owner.id}.{name}")
                if context.world.own_member(base, name) is not None:
                    yield from _moved(context, before, owner, hook, name)


def _moved(
    context: Context, before: Context, owner: Resolution, hook: Function, name: str
) -> Iterator[Result]:
    written = _written(context, owner, hook)
    if not written:
        return
    new, old = _caller(context, name), _caller(before, name)
    if new is None or old is None or new[1].scope != old[1].scope:
        return
    first, second = _sides(before, *old), _sides(context, *new)
    for step in sorted((first[0] & second[1]) | (first[1] & second[0])):
        later = step in second[1]
        module, call = new
        function = context.upstream.namespace(module).functions.get(
            f"{call.scope.rpartition('.')[0]}.{step.partition('.')[2]}"
        )
        node = function_node(context.upstream, module, function) if function is not None else None
        shared = written & {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)} if node else set()
        yield context.finding(
            ID,
            module=owner.module,
            line=hook.line,
            symbol=hook.qualname,
            key=step,
            severity=Severity.WARNING if shared else Severity.NOTE,
            certainty=Certainty.LIKELY if shared else Certainty.POSSIBLE,
            message=(
                f"{call.scope} calls {step}() {'after' if later else 'before'} {name}() now, "
                f"and called it {'before' if later else 'after'} it"
            ),
            trigger=f"{module}:{call.line}",
            consequence=(
                f"what the hook writes ({', '.join(sorted(shared or written))}) is now "
                f"{'seen by' if later else 'hidden from'} {step}()"
            ),
            suggestion=f"Check that {hook.qualname} still sets what it means to with the new order.",
            evidence=[
                context.cite(context.upstream, module, call.line),
                before.cite(before.upstream, old[0], old[1].line),
            ],
            decision=Decision.UNDECIDED,
            cause=f"{call.scope} moved {step}",
            silent=True,
        )


def _written(context: Context, owner: Resolution, hook: Function) -> set[str]:
    """Attributes that the hook stores on what it is given."""
    node = function_node(context.plugin, owner.module, hook)
    return {
        n.attr
        for n in (ast.walk(node) if node is not None else ())
        if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
    }


def _caller(context: Context, name: str) -> tuple[str, Call] | None:
    platforms = f"{context.profile.upstream_package}.platforms"
    found = [
        (module, call)
        for module, call in outside_calls(context.upstream, name)
        if call.callee.endswith(f"platform.{name}") and not module.startswith(platforms) and call.scope
    ]
    return found[0] if len(found) == 1 else None


def _sides(context: Context, module: str, hook: Call) -> tuple[set[str], set[str]]:
    """Steps on self that the caller takes only before, and only after, the hook."""
    steps = [
        c for c in context.upstream.calls(module) if c.scope == hook.scope and c.callee.startswith("self.")
    ]
    steps = [c for c in steps if c.callee.count(".") == 1]
    earlier = {c.callee for c in steps if c.line < hook.line}
    later = {c.callee for c in steps if c.line > hook.line}
    return earlier - later, later - earlier

"""An entry is put into an upstream table under a key that upstream renamed.

Assigning to a dictionary never fails. When the key that the plugin replaces is called otherwise in target, the
entry is a new one that nothing looks up, and upstream's own stays in force.

Example: ``CONVERTORS["old_arch"] = AcmeConvertor`` replaces an entry in base; target calls it ``new_arch``.

Cannot see: keys that are no plain texts, and tables that upstream fills at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from difflib import get_close_matches

from tools.checks.base import Context, Result
from tools.code.tree import Tree
from tools.compare.patches import Patch, PatchKind
from tools.findings import Certainty, Severity

ID = "REG007"
TITLE = "Key of an upstream table that was renamed"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    """Compares the keys of literal tables in base and target."""
    if context.before is None:
        return
    for patch in context.patches:
        if patch.kind is not PatchKind.TABLE:
            continue
        key = _key(context, patch)
        old, new = _keys(context.before.upstream, patch), _keys(context.upstream, patch)
        if key is None or not old or not new or key not in old or key in new:
            continue
        close = get_close_matches(key, sorted(set(new) - set(old)), 1, 0.5)
        bindings = context.upstream.namespace(patch.target_module).names[patch.attribute]
        yield context.finding(
            ID,
            module=patch.module,
            line=patch.line,
            symbol=patch.scope,
            key=f"{patch.target} {key}",
            severity=Severity.WARNING,
            certainty=Certainty.CERTAIN,
            message=f"{patch.target} has no key {key!r} in {context.version(context.role)}"
            + (f"; {close[0]!r} is new there" if close else ""),
            trigger="whatever looks the key up",
            consequence="the plugin's entry is never found and upstream's own is used",
            suggestion=f"Use {close[0]!r}." if close else "Look up which key took over, or remove the entry.",
            evidence=[context.cite(context.upstream, patch.target_module, bindings.assigns[-1].line)],
            cause=f"{patch.target} key {key}",
            silent=True,
        )


def _keys(tree: Tree, patch: Patch) -> tuple[str, ...]:
    bindings = tree.namespace(patch.target_module).names.get(patch.attribute)
    if bindings is None or not bindings.assigns or bindings.assigns[-1].kind != "dict":
        return ()
    return bindings.assigns[-1].items


def _key(context: Context, patch: Patch) -> str | None:
    for scope in context.inference.scopes(patch.module):
        if scope.qualname != patch.scope:
            continue
        for node in scope.nodes:
            if (
                isinstance(node, ast.Subscript)
                and isinstance(node.ctx, ast.Store)
                and node.lineno == patch.line
                and isinstance(node.slice, ast.Constant)
                and isinstance(node.slice.value, str)
            ):
                return node.slice.value
    return None

"""The original's answer about a layout changed, the copy still gives the old one.

Backends state the shape, the order of strides and the block sizes of their caches in small methods. Upstream
changes such an answer together with everything that allocates, slices and transfers the cache. A copy of the
backend in the plugin keeps the old answer: views fail, or blocks of one request land in another.

Example: ``get_kv_cache_shape`` returned ``(2, num_blocks, …)`` in base and returns ``(num_blocks, 2, …)`` in the
target; the plugin's backend still returns the first.

Cannot see: answers that were different already, and kernels that mean another layout than they state.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tools.checks._copies import Copy, copies
from tools.checks._source import function_node
from tools.checks.base import Context, Result
from tools.code.records import Function
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "LAY003"
TITLE = "Copy that states an old layout"
SEVERITY = Severity.WARNING
_LAYOUT = re.compile(r"shape|stride|layout|block_size|page_size")


def run(context: Context) -> Iterable[Result]:
    if context.before is None:
        return
    earlier = {pair.cls.id: pair.original for pair in copies(context.before)}
    for pair in copies(context):
        old = earlier.get(pair.cls.id)
        if old is not None:
            yield from _outdated(context, context.before, pair, old)


def _outdated(context: Context, before: Context, pair: Copy, old: Resolution) -> Iterator[Result]:
    own = context.plugin.namespace(pair.cls.module).methods.get(pair.cls.qualname, {})
    now = context.upstream.namespace(pair.original.module).methods.get(pair.original.qualname, {})
    then = before.upstream.namespace(old.module).methods.get(old.qualname, {})
    for name in sorted(own.keys() & now.keys() & then.keys()):
        if not _LAYOUT.search(name) or now[name].text_hash == then[name].text_hash:
            continue
        ours = _answers(context.plugin, pair.cls.module, own[name])
        new = _answers(context.upstream, pair.original.module, now[name])
        gone = _answers(before.upstream, old.module, then[name]) - new
        kept = sorted(ours & gone)
        if not kept or not new - ours:
            continue
        yield context.finding(
            ID,
            module=pair.cls.module,
            line=own[name].line,
            symbol=own[name].qualname,
            key=name,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=(
                f"{pair.cls.qualname}.{name} returns {kept[0]}, as {pair.original.qualname} did; "
                f"that returns {', '.join(sorted(new - ours))} in {context.version('target')}"
            ),
            trigger=f"whatever allocates, slices or transfers by {name}()",
            consequence="upstream's code takes the tensors apart in the new layout: views fail or values are wrong",
            suggestion=f"Follow {pair.original.module}:{now[name].line}, kernels included, or say why not.",
            evidence=[
                before.cite_definition(
                    Resolution(Kind.FUNCTION, old.module, then[name].qualname), whole=True
                ),
                context.cite_definition(
                    Resolution(Kind.FUNCTION, pair.original.module, now[name].qualname), whole=True
                ),
            ],
            cause=f"{pair.original.id}.{name} changed",
            silent=True,
        )


def _answers(tree: Tree, module: str, function: Function) -> set[str]:
    """What a method returns, as source; names of values assigned before are filled in."""
    node = function_node(tree, module, function)
    found: set[str] = set()
    names: dict[str, set[str]] = {}
    for child in ast.walk(node) if node is not None else ():
        if (
            isinstance(child, ast.Assign)
            and len(child.targets) == 1
            and isinstance(child.targets[0], ast.Name)
        ):
            names.setdefault(child.targets[0].id, set()).add(ast.unparse(child.value))
    for child in ast.walk(node) if node is not None else ():
        if isinstance(child, ast.Return) and child.value is not None:
            text = ast.unparse(child.value)
            found |= names.get(text, {text})
    return found

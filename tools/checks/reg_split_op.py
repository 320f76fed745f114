"""A torch op of the plugin replaces one that upstream lists by name, but its own name is in no list.

Upstream splits the compiled graph at ops whose names it lists (``CompilationConfig._attention_ops``). A plugin that
registers its own version under another name must add that name, or the op ends up inside a captured graph.

Example: upstream lists ``vllm::sparse_indexer``; the plugin registers ``mx_sparse_indexer`` and calls that.

Cannot see: names that are added from a configuration file, and ops that are named after something else.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.checks.base import Context, Result
from tools.findings import Attribution, Certainty, Severity
from tools.registry.outcomes import How
from tools.registry.sites import TORCH_OP, registrations
from tools.registry.startup import startup_of

ID = "REG008"
TITLE = "Replacement op that is missing from upstream's list of split points"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    """Compares the names of the plugin's ops with the names upstream lists."""
    module = f"{context.upstream.package}.config.compilation"
    record = context.upstream.namespace(module).classes.get("CompilationConfig")
    listed = (
        next((a for a in record.assigns if a.name == "_attention_ops"), None) if record is not None else None
    )
    if listed is None:
        return
    for item in registrations(context):
        if item.kind != TORCH_OP or not item.key or item.key in listed.items:
            continue
        name = item.key.rpartition("::")[2]
        # ``mx_sparse_indexer`` for ``sparse_indexer``; variants such as ``…_int8`` are not taken for it.
        original = next((o for o in listed.items if name.endswith("_" + o.rpartition("::")[2])), None)
        if original is None or _mentioned(context, item.key):
            continue
        if startup_of(context).reached(item.module, item.line).how is How.NEVER:
            continue
        yield context.finding(
            ID,
            module=item.module,
            line=item.line,
            symbol=item.symbol,
            key=item.key,
            severity=Severity.WARNING,
            certainty=Certainty.LIKELY,
            message=f"{item.key} takes the place of {original}, at which {context.version(context.role)} splits "
            "compiled graphs, but is not in that list",
            trigger="a compiled run with piecewise graphs of a model that calls the op",
            consequence="the op is compiled and captured as part of a graph instead of running between graphs",
            suggestion=f"Add {item.key!r} to CompilationConfig._attention_ops when the platform is configured.",
            evidence=[context.cite(context.upstream, module, listed.line)],
            cause=f"{item.key} not a split point",
            silent=True,
            attribution=Attribution.EXISTING,
        )


def _mentioned(context: Context, key: str) -> bool:
    needle = key.encode()
    return any(needle in context.plugin.snapshot.read(path) for path in context.plugin.paths.values())

"""An attribute name that upstream had and has nowhere any more.

Where the source does not tell an object's type, a name that existed in base as a field, method or stored attribute
of upstream, and that the target neither defines nor uses anywhere, is still a strong sign: whoever gave the object
that attribute no longer does.

Example: a quantization method takes ``layer`` without a type and reads ``layer.use_dp_chunking``; the target has
that name nowhere. The first forward of a quantized MoE raises ``AttributeError``.

Cannot see: a name that lives on elsewhere in the target with another meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.checks._guards import guarded, never_runs, tested
from tools.checks.base import Context, Result
from tools.code.syntax import dotted
from tools.findings import Certainty, Severity

ID = "ATT003"
TITLE = "Attribute name that vanished from upstream"
SEVERITY = Severity.WARNING


def run(context: Context) -> Iterable[Result]:
    before = context.before
    if before is None:
        return
    # Names the plugin gives to its own objects, by definition or by storing, say nothing about upstream.
    gone = before.upstream.attributes - context.upstream.attributes - context.plugin.attributes
    # What the target still uses, someone has: `empty` was a field of upstream's, and is a function of torch.
    gone -= context.upstream.attr_reads
    gone -= {p.attribute.rpartition(".")[2] for p in context.patches}
    for module in context.examined:
        for scope in context.inference.scopes(module):
            seen: set[tuple[str, str]] = set()
            for node in scope.nodes:
                if not (
                    isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in gone
                ):
                    continue
                owner = dotted(node.value)
                if (owner, node.attr) in seen or tested(scope, owner, node.attr):
                    continue
                seen.add((owner, node.attr))
                if guarded(context, module, node.lineno, "AttributeError", "Exception"):
                    continue
                if context.inference.of(node.value, scope) is not None or never_runs(context, scope, node):
                    continue  # typed: ATT001 decides
                yield _report(context, module, scope.qualname, node, owner)


def _report(context: Context, module: str, symbol: str, node: ast.Attribute, owner: str) -> Result:
    before = context.before
    assert before is not None
    definitions = _definitions(before, node.attr)
    places = ", ".join(f"`{place}`" for place, _ in definitions[:3])
    cited = [evidence for _, evidence in definitions[:2]]
    return context.finding(
        ID,
        module=module,
        line=node.lineno,
        symbol=symbol,
        key=f"{owner}.{node.attr}",
        severity=Severity.ERROR if definitions else Severity.WARNING,
        certainty=Certainty.LIKELY,
        message=f"`{owner}.{node.attr}`: nothing in {context.version('target')} has an attribute `{node.attr}` any more"
        + (f" (in {context.version('base')}: {places})" if places else ""),
        trigger=f"running `{symbol}`" if symbol else f"importing `{module}`",
        consequence=f"AttributeError: no attribute '{node.attr}', unless code outside both packages provides it",
        suggestion=f"find what replaced `{node.attr}` where upstream read it, and read that",
        evidence=cited,
        cause=f"{node.attr} removed",
    )


def _definitions(before: Context, name: str) -> list[tuple[str, str]]:
    """(symbol, evidence) of classes in base that had the attribute."""
    out: list[tuple[str, str]] = []
    tree = before.upstream
    for module in sorted(tree.modules):
        record = tree.modules[module]
        for cls in record.classes:
            out += [
                (f"{cls.qualname}.{name}", before.cite(tree, module, a.line))
                for a in cls.assigns
                if a.name == name
            ]
        for function in record.functions:
            if function.qualname.rpartition(".")[2] == name:
                out.append((function.qualname, before.cite(tree, module, function.line)))
            for write in function.self_writes:
                if write.attr == name:
                    out.append(
                        (
                            f"{function.qualname.rpartition('.')[0]}.{name}",
                            before.cite(tree, module, write.line),
                        )
                    )
                    break
        if len(out) >= 3:
            break
    return out

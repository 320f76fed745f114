"""A call of a registered torch op that does not bind, or an op whose fake does not match it.

Ops registered with ``direct_register_custom_op`` take the parameters of the function registered. They are called
as ``torch.ops.<library>.<name>(...)``, where no type checker looks. A fake implementation with other parameters
breaks under ``torch.compile`` only.

Example: upstream's ``gdn_attention_core`` gained ``fast_kernel``; the plugin calls
``torch.ops.vllm.gdn_attention_core`` with five arguments. The first forward raises
``RuntimeError: missing value for argument``.

Cannot see: ops that compiled code registers, and libraries chosen at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tools.checks._calls import arguments, plugin_calls
from tools.checks.base import Context, Result
from tools.code.infer import Scope
from tools.code.records import Function
from tools.code.signature import bind, render
from tools.code.syntax import dotted
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution
from tools.findings import Certainty, Severity

ID = "CAL003"
TITLE = "torch op called with arguments it does not take"
SEVERITY = Severity.ERROR
_REGISTER = "direct_register_custom_op"


@dataclass(frozen=True, slots=True)
class _Op:
    name: str
    module: str
    line: int
    function: Resolution
    record: Function
    fake: Resolution | None


def run(context: Context) -> Iterable[Result]:
    called = {name.split(".")[-1] for _, _, name, _ in _op_calls(context)}
    own = list(_ops(context, context.plugin, None))
    ops: dict[str, list[_Op]] = {}
    for op in (*_ops(context, context.upstream, called), *own):
        ops.setdefault(op.name, []).append(op)
    yield from _calls(context, ops)
    for op in own:
        yield from _fake(context, op)


def _op_calls(context: Context) -> Iterator[tuple[str, Scope, str, ast.Call]]:
    """Calls of ``torch.ops.<library>.<name>``."""
    for module, scope, call in plugin_calls(context):
        name = dotted(call.func)
        if name.startswith("torch.ops.") and name.count(".") == 3:
            yield module, scope, name, call


def _ops(context: Context, tree: Tree, wanted: set[str] | None) -> Iterator[_Op]:
    """Ops that ``tree`` registers; with ``wanted``, only modules that spell one of those names are parsed."""
    for module in sorted({module for module, _ in tree.calls_by_name.get(_REGISTER, ())}):
        if tree.modules[module].error:
            continue
        if wanted is not None:
            text = "\n".join(tree.lines(module))
            if not any(f'"{name}"' in text for name in wanted):
                continue
        yield from _read(context, tree, module)


def _read(context: Context, tree: Tree, module: str) -> Iterator[_Op]:
    for node in ast.walk(tree.syntax(module)):
        if not (isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == _REGISTER):
            continue
        values = {k.arg: k.value for k in node.keywords}
        positional = dict(zip(("op_name", "op_func", "mutates_args", "fake_impl"), node.args, strict=False))
        values = {**positional, **values}  # type: ignore[dict-item]
        name = values.get("op_name")
        function = _function(context, module, values.get("op_func"))
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and function is not None:
            record = context.world.function_record(function)
            if record is not None:
                fake = _function(context, module, values.get("fake_impl"))
                yield _Op(name.value, module, node.lineno, function, record, fake)


def _function(context: Context, module: str, node: ast.expr | None) -> Resolution | None:
    if node is None or "?" in (name := dotted(node)):
        return None
    found = context.world.name(module, "", name)
    return found if found.kind is Kind.FUNCTION else None


def _calls(context: Context, ops: dict[str, list[_Op]]) -> Iterator[Result]:
    for module, scope, name, call in _op_calls(context):
        op_name = name.split(".")[-1]
        found = ops.get(op_name, [])
        if len(found) != 1:
            continue  # several registrations of one name: which one holds is a question of order
        op = found[0]
        problems = bind(op.record.params, arguments(call))
        if not problems:
            continue
        detail = "; ".join(
            f"{p.misfit} `{p.name}`" if p.name else f"{p.misfit}: {p.detail}" for p in problems
        )
        yield context.finding(
            ID,
            module=module,
            line=call.lineno,
            symbol=scope.qualname,
            key=op_name,
            severity=Severity.ERROR,
            message=f"`{name}` is registered from `{op.function.id}{render(op.record.params)}`: {detail}",
            trigger=f"calling `{scope.qualname}`",
            consequence="RuntimeError when the op is called: the arguments do not match its schema",
            suggestion="pass the arguments of the function registered (cited)",
            evidence=[context.cite_definition(op.function)],
            cause=f"{op.function.id} signature",
        )


def _fake(context: Context, op: _Op) -> Iterator[Result]:
    record = context.world.function_record(op.fake) if op.fake is not None else None
    if record is None or op.fake is None:
        return
    real = [p.name for p in op.record.params]
    fake = [p.name for p in record.params]
    if len(real) == len(fake) or any(p.kind in (2, 4) for p in (*op.record.params, *record.params)):
        return
    differing = sorted(set(real) ^ set(fake))
    # The dispatcher leaves trailing arguments out where they equal their default.
    optional = all(p.default is not None for p in (*op.record.params, *record.params) if p.name in differing)
    yield context.finding(
        ID,
        module=op.module,
        line=op.line,
        symbol="",
        key=f"fake:{op.name}",
        severity=Severity.NOTE if optional else Severity.ERROR,
        certainty=Certainty.POSSIBLE if optional else Certainty.LIKELY,
        message=f"op `{op.name}`: `{op.function.qualname}` takes {len(real)} arguments, its fake "
        f"`{op.fake.qualname}` {len(fake)} (differing: {', '.join(f'`{n}`' for n in differing[:6])})",
        trigger=f"calling the op `{op.name}` with what one side takes and the other does not",
        consequence="TypeError or RuntimeError: arguments do not match the schema taken from the function",
        suggestion="give both the same parameters",
        evidence=[context.cite_definition(op.function), context.cite_definition(op.fake)],
        cause=f"{op.function.id} fake",
    )

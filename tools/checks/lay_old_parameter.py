"""Something goes on reading a parameter of the layer that was deleted, converted under another name, or replaced.

Conversion after loading ends with new tensors. They reach the kernel only through the names that the quant config
and ``apply`` read. Three ways to miss it: the old name is deleted and still read; the converted tensor is stored
under a new name that nobody reads, while the old one is; or the quant config is built first, and holds the old
tensors when the layer gets new ones.

Example: ``create_weights`` ends with ``self.moe_quant_config = self.get_fused_moe_quant_config(layer)``, and
``process_weights_after_loading`` assigns ``layer.w13_weight_scale = Parameter(transposed)``: the kernel is given
the scales as they were before.

Cannot see: tensors that are converted in place, readers in other classes, and helpers that copy into the old one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tools.checks._lifecycle import ALLOCATE, CONFIG, CONVERT, EXECUTE, Touch, access, methods_of_plugin, own
from tools.checks._state import Method, find, node_of
from tools.checks.base import Context, Result
from tools.code.functions import walk
from tools.code.syntax import dotted
from tools.code.world import Resolution
from tools.findings import Attribution, Certainty, Severity

ID = "LAY004"
TITLE = "Old parameter read after its replacement"
SEVERITY = Severity.ERROR


def run(context: Context) -> Iterable[Result]:
    for cls in methods_of_plugin(context):
        yield from _deleted(context, cls)
        yield from _renamed(context, cls)
        yield from _built_first(context, cls)


def _deleted(context: Context, cls: Resolution) -> Iterator[Result]:
    converted = access(context, cls, CONVERT)
    if not (own(context, cls, CONVERT) or own(context, cls, EXECUTE)):
        return
    running = access(context, cls, EXECUTE)
    for gone in converted.deletes:
        again = [t for t in converted.stores if t.attr == gone.attr and t.entry > gone.entry]
        if gone.guarded or again or gone.attr in running.tested or gone.attr in running.stored:
            continue
        read = next((t for t in running.reads if t.attr == gone.attr and not t.guarded), None)
        if read is not None:
            yield _finding(
                context,
                cls,
                CONVERT,
                gone,
                read,
                key=f"deleted {gone.attr}",
                severity=Severity.ERROR,
                message=f"`layer.{gone.attr}` is deleted after loading, and `{EXECUTE}` reads it",
                consequence=f"AttributeError: the layer has no attribute '{gone.attr}'",
                suggestion="read what the conversion left on the layer instead",
                silent=False,
            )


def _renamed(context: Context, cls: Resolution) -> Iterator[Result]:
    if not own(context, cls, CONVERT):
        return
    converted = access(context, cls, CONVERT)
    method = find(context.world, cls, CONVERT)
    node = node_of(context.world, method) if method is not None else None
    if node is None:
        return
    made = _made_of(node)
    readers = [(name, access(context, cls, name)) for name in (CONFIG, EXECUTE)]
    read = {t.attr for _, found in readers for t in found.reads} | {a for _, f in readers for a in f.tested}
    for store in converted.stores:
        if store.value is None or store.attr in read or _read_anywhere(context, store.attr):
            continue
        sources = _sources(store.value, made) - {store.attr}
        old = sorted(
            s for s in sources if s not in converted.stored and not _deleted_there(converted.deletes, s)
        )
        for name, found in readers:
            touch = next((t for t in found.reads if t.attr in old), None)
            if len(old) == 1 and touch is not None and _related(store.attr, old[0]):
                yield _finding(
                    context,
                    cls,
                    CONVERT,
                    store,
                    touch,
                    key=f"renamed {store.attr}",
                    severity=Severity.WARNING,
                    message=(
                        f"`layer.{old[0]}` is converted and stored as `layer.{store.attr}`, which nothing reads; "
                        f"`{name}` reads `layer.{old[0]}`"
                    ),
                    consequence="the kernel is given the tensor in the layout of the checkpoint: wrong numbers",
                    suggestion=f"read `layer.{store.attr}` in `{name}`, or store the result as `layer.{old[0]}`",
                    silent=True,
                )
                break


def _deleted_there(deletes: list[Touch], attr: str) -> bool:
    return any(t.attr == attr for t in deletes)


def _related(new: str, old: str) -> bool:
    """Whether a name says that it is another form of the same tensor."""
    words_new, words_old = set(new.split("_")), set(old.split("_"))
    return len(words_new & words_old) * 2 >= len(words_old)


def _made_of(node: ast.AST) -> dict[str, set[str]]:
    """Local name -> attributes of the layer that it was made of."""
    made: dict[str, set[str]] = {}
    for child in sorted(
        (n for n in walk(node) if isinstance(n, ast.Assign)), key=lambda n: (n.lineno, n.col_offset)
    ):
        sources = _sources(child.value, made)
        for target in child.targets:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Name):
                    made[part.id] = sources
    return made


def _sources(value: ast.expr, made: dict[str, set[str]]) -> set[str]:
    out: set[str] = set()
    for node in walk(value):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "layer":
            out.add(node.attr)
        elif isinstance(node, ast.Name) and node.id in made:
            out |= made[node.id]
    return out


def _read_anywhere(context: Context, attr: str) -> bool:
    """Whether any code of the plugin reads an attribute of this name, or names it in a string."""
    known: dict[str, bool] = context.shared.setdefault("attributes read", {})  # type: ignore[assignment]
    if attr not in known:
        known[attr] = any(
            (isinstance(n, ast.Attribute) and n.attr == attr and isinstance(n.ctx, ast.Load))
            for module in context.plugin.modules
            if any(attr in line for line in context.plugin.lines(module))
            for scope in context.inference.scopes(module)
            for n in scope.nodes
        )
    return known[attr]


def _built_first(context: Context, cls: Resolution) -> Iterator[Result]:
    """``self.x = self.get_fused_moe_quant_config(layer)`` before the layer gets the tensors that it reads."""
    world = context.world
    convert, config = find(world, cls, CONVERT), find(world, cls, CONFIG)
    if convert is None or config is None or not (own(context, cls, CONVERT) or own(context, cls, CONFIG)):
        return
    reads = {t.attr: t for t in reversed(access(context, cls, CONFIG).reads)}
    built_late = _builds(context, convert)
    replaced = [t for t in access(context, cls, CONVERT).stores if t.attr in reads and t.plain]
    early = find(world, cls, ALLOCATE)
    for method, built in (
        *((early, b) for b in (_builds(context, early) if early is not None else ()) if not built_late),
        *((convert, b) for b in built_late),
    ):
        if method is None or world.tree(method.owner.module) is not context.plugin:
            continue
        after = [t for t in replaced if method is early or t.entry > built.lineno]
        later = [b for b in built_late if method is convert and b.lineno > built.lineno]
        if not after or later:
            continue
        names = sorted({t.attr for t in after})
        yield _finding(
            context,
            cls,
            method.function.qualname.rpartition(".")[2],
            Touch(names[0], method.owner.module, built.lineno, False),
            after[0],
            key="built first",
            severity=Severity.WARNING,
            message=(
                f"the quant config is built by `{method.function.qualname}` from "
                f"{', '.join(f'`layer.{n}`' for n in names)}, which `{CONVERT}` replaces afterwards"
            ),
            consequence="the config goes on holding the tensors from before the conversion: wrong numbers",
            suggestion=f"build it at the end of `{CONVERT}`",
            silent=True,
        )


def _builds(context: Context, method: Method | None) -> list[ast.Assign]:
    node = node_of(context.world, method) if method is not None else None
    return [
        n
        for n in (walk(node) if node is not None else ())
        if isinstance(n, ast.Assign)
        and isinstance(n.value, ast.Call)
        and dotted(n.value.func) == f"self.{CONFIG}"
        and dotted(n.targets[0]).startswith("self.")
    ]


def _finding(
    context: Context,
    cls: Resolution,
    step: str,
    at: Touch,
    other: Touch,
    *,
    key: str,
    severity: Severity,
    message: str,
    consequence: str,
    suggestion: str,
    silent: bool,
) -> Result:
    method = find(context.world, cls, step)
    inside = method is not None and context.world.tree(at.module) is context.plugin
    module = at.module if inside else cls.module
    record = context.world.class_record(cls)
    line = at.line if inside else record.line if record is not None else 1
    tree = context.world.tree(other.module)
    return context.finding(
        ID,
        module=module,
        line=line,
        symbol=method.function.qualname if method is not None and inside else cls.qualname,
        key=key,
        severity=severity,
        certainty=Certainty.LIKELY,
        message=message,
        trigger=f"loading weights into a layer of `{cls.qualname}` and executing it",
        consequence=consequence,
        suggestion=suggestion,
        evidence=[context.cite(tree, other.module, other.line)] if tree is not None else [],
        cause=f"{cls.id} {key}",
        silent=silent,
        attribution=Attribution.EXISTING,
    )

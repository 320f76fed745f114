"""What the methods of a quantization method do to the layer they are given: store, read, delete.

Methods are followed through ``super()``, helpers on self, and functions that the layer is handed to, as they run
on an instance of the class at hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.checks._source import guarded_nodes, self_name
from tools.checks._state import Method, called_method, find, node_of
from tools.checks.base import Context
from tools.code.functions import function_node
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution

ALLOCATE = "create_weights"
CONVERT = "process_weights_after_loading"
CONFIG = "get_fused_moe_quant_config"
EXECUTE = "apply"
_BY_NAME = frozenset({"register_parameter", "register_buffer", "add_module", "register_module"})
_GIVEN = frozenset({"replace_parameter", "setattr", "set_weight"})
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Touch:
    """One place where an attribute of the layer is touched."""

    attr: str
    module: str
    line: int
    guarded: bool
    value: ast.expr | None = None
    """What is stored, where that is an expression."""
    plain: bool = True
    """Stored by assignment or registration, not by a helper that may copy in place."""
    entry: int = 0
    """The line of the method itself through which it is reached."""


@dataclass(slots=True)
class Access:
    """Everything one method does, helpers included."""

    stores: list[Touch] = field(default_factory=list)
    reads: list[Touch] = field(default_factory=list)
    deletes: list[Touch] = field(default_factory=list)
    tested: set[str] = field(default_factory=set)
    anything: bool = False
    """Names are computed, or the layer is handed to something that cannot be read."""

    @property
    def stored(self) -> set[str]:
        """Names that are stored."""
        return {t.attr for t in self.stores}


def access(context: Context, cls: Resolution, name: str, after: Resolution | None = None) -> Access:
    """What ``name`` does to its layer on an instance of ``cls``; with ``after``, the one that super() finds."""
    key = f"lifecycle {context.role} {cls.id} {name} {after.id if after else ''}"
    found = context.shared.get(key)
    if not isinstance(found, Access):
        found = Access()
        method = find(context.world, cls, name, after)
        if method is not None:
            _follow(context, cls, method, "layer", found, 0, False, 0, set())
        context.shared[key] = found
    return found


def own(context: Context, cls: Resolution, name: str) -> bool:
    """True when the plugin's class, or a base of it in the plugin, defines ``name``."""
    owner = context.world.definer(cls, name)
    return owner is not None and context.world.tree(owner.module) is context.plugin


def methods_of_plugin(context: Context) -> Iterator[Resolution]:
    """Plugin classes with a life cycle of their own, in the order of files."""
    for module, record in context.plugin.classes():
        if record.in_function:
            continue
        cls = Resolution(Kind.CLASS, module, record.qualname)
        names = context.plugin.namespace(module).methods.get(record.qualname, {})
        if names.keys() & {ALLOCATE, CONVERT, CONFIG, EXECUTE}:
            yield cls


def _follow(
    context: Context,
    cls: Resolution,
    method: Method,
    layer: str,
    out: Access,
    depth: int,
    guarded: bool,
    entry: int,
    seen: set[tuple[str, str]],
) -> None:
    node = node_of(context.world, method)
    if node is None or method.key in seen:
        return
    seen.add(method.key)
    receiver = self_name(node)
    module = method.owner.module
    if layer not in [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]:
        return
    for child, inner in _touches(node, layer, module, out, guarded, entry):
        reached = called_method(context.world, cls, method, child, receiver) if receiver else None
        at = entry or child.lineno
        if reached is not None and depth < _DEPTH:
            name = _parameter(reached, child, layer)
            if name:
                _follow(context, cls, reached, name, out, depth + 1, inner, at, seen)
        elif reached is None:
            _function(context, method, child, layer, out, depth, inner, at)


def _touches(
    node: FunctionNode, layer: str, module: str, out: Access, outer: bool, entry: int
) -> Iterator[tuple[ast.Call, bool]]:
    """Records what ``node`` does itself; yields calls that the layer is handed to."""
    for child, guards in guarded_nodes(node):
        guarded = outer or any(not g.soft for g in guards)
        line = getattr(child, "lineno", node.lineno)
        at = entry or line
        if isinstance(child, ast.Attribute) and isinstance(child.value, ast.Name) and child.value.id == layer:
            if isinstance(child.ctx, ast.Load):
                out.reads.append(Touch(child.attr, module, line, guarded, entry=at))
            elif isinstance(child.ctx, ast.Del):
                out.deletes.append(Touch(child.attr, module, line, guarded, entry=at))
        elif isinstance(child, ast.Assign | ast.AnnAssign) and child.value is not None:
            for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                    name = dotted(part)
                    if name.startswith(f"{layer}.") and name.count(".") == 1:
                        out.stores.append(
                            Touch(name[len(layer) + 1 :], module, line, guarded, child.value, entry=at)
                        )
                    elif name.startswith(f"{layer}.") and name.endswith(".data") and name.count(".") == 2:
                        inner = name.split(".")[1]
                        out.stores.append(
                            Touch(inner, module, line, guarded, child.value, plain=False, entry=at)
                        )
        elif isinstance(child, ast.Delete):
            continue
        elif isinstance(child, ast.Call):
            yield from _call(child, layer, module, out, guarded, at)


def _call(
    call: ast.Call, layer: str, module: str, out: Access, guarded: bool, at: int
) -> Iterator[tuple[ast.Call, bool]]:
    name = dotted(call.func)
    last = name.rpartition(".")[2]
    first = dotted(call.args[0]) if call.args else ""
    if last in _BY_NAME and name == f"{layer}.{last}":
        given = call.args[0] if call.args else next((k.value for k in call.keywords if k.arg == "name"), None)
        value = call.args[1] if len(call.args) > 1 else None
        _named(out, given, Touch("", module, call.lineno, guarded, value, entry=at))
    elif last in _GIVEN and first == layer and len(call.args) > 1:
        value = call.args[2] if len(call.args) > 2 else None
        _named(
            out,
            call.args[1],
            Touch("", module, call.lineno, guarded, value, plain=last == "setattr", entry=at),
        )
    elif last in ("hasattr", "getattr") and first == layer and len(call.args) > 1:
        if isinstance(call.args[1], ast.Constant):
            out.tested.add(str(call.args[1].value))
    elif last == "delattr" and first == layer and len(call.args) == 2:
        if isinstance(call.args[1], ast.Constant):
            touch = Touch(str(call.args[1].value), module, call.lineno, guarded, entry=at)
            out.deletes.append(touch)
    elif any(dotted(a) == layer for a in (*call.args, *(k.value for k in call.keywords))):
        yield call, guarded


def _named(out: Access, name: ast.expr | None, touch: Touch) -> None:
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        out.stores.append(
            Touch(name.value, touch.module, touch.line, touch.guarded, touch.value, touch.plain, touch.entry)
        )
    else:
        out.anything = True


def _parameter(method: Method, call: ast.Call, layer: str) -> str:
    """What ``method`` calls the layer it is given."""
    params = [p.name for p in method.function.params]
    if "staticmethod" not in method.function.decorators and not (
        call.args and dotted(call.func).endswith("__init__") and "super" not in dotted(call.func)
    ):
        params = params[1:]
    for param, value in zip(params, call.args, strict=False):
        if dotted(value) == layer:
            return param
    return next((k.arg for k in call.keywords if k.arg and dotted(k.value) == layer), "")


def _function(
    context: Context,
    method: Method,
    call: ast.Call,
    layer: str,
    out: Access,
    depth: int,
    guarded: bool,
    at: int,
) -> None:
    """A function of either package that the layer is handed to."""
    name = dotted(call.func)
    if "?" in name or name.split(".")[-1] in ("isinstance", "set_weight_attrs", "id", "type", "cast", "list"):
        return
    found = context.world.name(method.owner.module, method.function.qualname, name)
    function = context.world.function_record(found) if found.kind is Kind.FUNCTION else None
    tree = context.world.tree(found.module)
    if function is None or tree is None or depth >= _DEPTH:
        # Objects that are constructed with the layer, and methods of unknown objects, may store on it.
        out.anything = out.anything or not name.startswith(("logger.", "torch."))
        return
    node = function_node(tree, found.module, function)
    params = [p.name for p in function.params]
    places = [p for p, a in zip(params, call.args, strict=False) if dotted(a) == layer]
    places += [k.arg for k in call.keywords if k.arg and dotted(k.value) == layer]
    if node is not None and places:
        for _ in _touches(node, places[0], found.module, out, guarded, at):
            pass

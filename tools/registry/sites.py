"""Every place where the plugin registers something with upstream, read from decorators and calls.

Recognised by the name of the registering function where it is upstream's (or is gone from upstream), so that
a registration whose registrar moved is still seen.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tools.code.infer import Scope
from tools.code.syntax import dotted
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.compare.patches import Patch, PatchKind
from tools.registry.subject import Subject

QUANTIZATION = "quantization config"
CUSTOM_OP = "custom op"
IN_TREE_OP = "custom op class"
TORCH_OP = "torch op"
LINEAR_KERNEL = "linear kernel"
ATTENTION = "attention backend"
MODEL = "model"

_REGISTRARS = {
    "register_quantization_config": QUANTIZATION,
    "register_oot": CUSTOM_OP,
    "register": IN_TREE_OP,
    "direct_register_custom_op": TORCH_OP,
    "custom_op": TORCH_OP,
    "register_linear_kernel": LINEAR_KERNEL,
    "register_backend": ATTENTION,
    "register_mla_prefill_backend": ATTENTION,
    "register_model": MODEL,
}


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration. ``key`` is '' where it cannot be read.

    ``value`` is the class or function registered, or for class paths the path as it is written.
    """

    kind: str
    key: str
    module: str
    line: int
    symbol: str
    """Scope in which it stands; for decorators, the definition."""
    value: Resolution | None = None
    path: str = ""
    """A class path given as text."""
    registrar: str = ""
    """Dotted name of the registering function, as the source spells it."""
    owner: Resolution | None = None
    """Custom ops: the upstream class on which ``register_oot`` is called. Backends: the enum."""
    named: bool = False
    """Custom ops: the key was given by name, not taken from ``owner``."""
    listed: tuple[Resolution, ...] = ()
    """Tables: the classes put in for out-of-tree platforms."""
    whole: bool = False
    """Tables: the assignment replaces the table with all its keys."""

    @property
    def classes(self) -> tuple[Resolution, ...]:
        """The classes registered, as far as they could be read."""
        found = (self.value, *self.listed) if self.value is not None else self.listed
        return tuple(c for c in found if c.kind is Kind.CLASS)

    @property
    def label(self) -> str:
        """For lists shown to people."""
        return f"{self.kind} {self.key or '(unread)'}"


def registrations(subject: Subject) -> tuple[Registration, ...]:
    """All of them, by module and line; computed once for a subject."""
    found = subject.shared.get("registrations")
    if not isinstance(found, tuple):
        found = subject.shared["registrations"] = tuple(
            sorted(_find(subject), key=lambda r: (r.module, r.line, r.kind, r.key))
        )
    return found


def _find(subject: Subject) -> Iterator[Registration]:
    plugin = subject.plugin
    wanted = {
        (module, call.scope) for name in _REGISTRARS for module, call in plugin.calls_by_name.get(name, ())
    }
    wanted |= {
        (module, cls.qualname.rpartition(".")[0])
        for module, cls in plugin.classes()
        if any(d.partition("(")[0].rpartition(".")[2] in _REGISTRARS for d in cls.decorators)
    }
    for module in sorted({module for module, _ in wanted}):
        for scope in subject.inference.scopes(module):
            if not scope.qualname or (module, scope.qualname) in wanted:
                yield from _in_scope(subject.world, scope)
    for patch in subject.patches:
        table = patch.attribute.rpartition(".")[2]
        is_kernel_table = table.startswith("_POSSIBLE") and "KERNELS" in table
        if is_kernel_table and patch.kind in (PatchKind.TABLE, PatchKind.ASSIGNMENT):
            owner = Resolution(Kind.VALUE, patch.target_module, patch.attribute)
            listed, whole = _listed(subject.world, plugin, patch)
            yield Registration(
                LINEAR_KERNEL,
                table,
                patch.module,
                patch.line,
                patch.scope,
                owner=owner,
                registrar=patch.target,
                listed=listed,
                whole=whole,
            )


def _listed(world: World, plugin: Tree, patch: Patch) -> tuple[tuple[Resolution, ...], bool]:
    """Classes that a statement puts into a table for out-of-tree platforms; whether it replaces the table."""
    for node in ast.walk(plugin.syntax(patch.module)):
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) or node.lineno != patch.line:
            continue
        if isinstance(node.value, ast.Dict):
            pairs = zip(node.value.keys, node.value.values, strict=True)
            values = [v for k, v in pairs if k is not None and dotted(k).rpartition(".")[2] == "OOT"]
        else:
            values = [node.value]
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        named = [n for v in values for n in ast.walk(v) if isinstance(n, ast.Name | ast.Attribute)]
        found = [world.name(patch.module, patch.scope, dotted(n)) for n in named if "?" not in dotted(n)]
        classes = tuple(dict.fromkeys(f for f in found if f.kind is Kind.CLASS))
        own = tuple(c for c in classes if world.tree(c.module) is plugin) or classes
        return own, isinstance(target, ast.Attribute | ast.Name)
    return (), False


def _in_scope(world: World, scope: Scope) -> Iterator[Registration]:
    seen: set[int] = set()
    calls: list[ast.Call] = []
    for node in scope.nodes:
        kind = type(node)
        if kind is ast.Call:
            assert isinstance(node, ast.Call)
            calls.append(node)
        elif kind is ast.ClassDef or kind is ast.FunctionDef or kind is ast.AsyncFunctionDef:
            assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            qualname = f"{scope.qualname}.{node.name}" if scope.qualname else node.name
            value = Resolution(Kind.CLASS if kind is ast.ClassDef else Kind.FUNCTION, scope.module, qualname)
            for decorator in node.decorator_list:
                seen.add(id(decorator))
                yield from _decorator(world, scope, decorator, value)
    for call in calls:
        if isinstance(call.func, ast.Call) and id(call) not in seen:
            # ``register("key")(Class)``: a decorator by another spelling.
            seen.add(id(call.func))
            replaced = _resolve(world, scope, call.args[0]) if call.args else None
            yield from _decorator(world, scope, call.func, replaced, symbol=scope.qualname)
    for call in calls:
        if id(call) not in seen and not isinstance(call.func, ast.Call):
            yield from _call(world, scope, call)


def _kind(world: World, scope: Scope, name: str) -> str | None:
    """What a call of ``name`` registers; None when it is a function of the plugin's own."""
    if "?" in name:
        return None
    kind = _REGISTRARS.get(name.rpartition(".")[2])
    if kind is None:
        return None
    found = world.name(scope.module, scope.qualname, name)
    if world.tree(found.module) is world.plugin and found.kind is not Kind.MISSING:
        # ``register_oot`` found on a base class of the plugin's own class would lie upstream.
        return None
    if kind is IN_TREE_OP:
        owner = world.name(scope.module, scope.qualname, name.rpartition(".")[0])
        known = owner.qualname in ("CustomOp", "PluggableLayer") and owner.kind is not Kind.EXTERNAL
        return kind if known else None
    if name.rpartition(".")[2] == "custom_op" and not found.id.startswith("torch"):
        return None
    if kind is MODEL and name.rpartition(".")[0].rpartition(".")[2] != "ModelRegistry":
        return None
    if kind is CUSTOM_OP and "." not in name:
        return None
    local = name.partition(".")[0] in scope.names
    return None if local else kind


def _constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _text(world: World, scope: Scope, node: ast.expr | None) -> str:
    """A text, written there or in a constant of a module of the plugin."""
    direct = _constant(node)
    if direct is not None:
        return direct
    if node is None or "?" in (name := dotted(node)) or name.partition(".")[0] in scope.names:
        return ""
    found = world.name(scope.module, scope.qualname, name)
    tree = world.tree(found.module)
    if found.kind is not Kind.VALUE or tree is None or "." in found.qualname:
        return ""
    bindings = tree.namespace(found.module).names.get(found.qualname)
    if bindings is None or len(bindings.assigns) != 1 or bindings.assigns[0].kind != "str":
        return ""
    try:
        value = ast.literal_eval(bindings.assigns[0].value)
    except (SyntaxError, ValueError):
        return ""
    return value if isinstance(value, str) else ""


def _resolve(world: World, scope: Scope, node: ast.expr | None) -> Resolution | None:
    if node is None or "?" in (name := dotted(node)) or name.partition(".")[0] in scope.names:
        return None
    return world.name(scope.module, scope.qualname, name)


def _decorator(
    world: World, scope: Scope, decorator: ast.expr, value: Resolution | None, symbol: str | None = None
) -> Iterator[Registration]:
    call = decorator if isinstance(decorator, ast.Call) else None
    name = dotted(call.func if call is not None else decorator)
    kind = _kind(world, scope, name)
    if kind is None or (call is None and kind is not CUSTOM_OP):
        return
    where = symbol if symbol is not None else (value.qualname if value else scope.qualname)
    yield from _make(world, scope, name, kind, call, value, decorator.lineno, where)


def _call(world: World, scope: Scope, call: ast.Call) -> Iterator[Registration]:
    name = dotted(call.func)
    kind = _kind(world, scope, name)
    if kind is None:
        return
    keywords = {k.arg: k.value for k in call.keywords}
    value: ast.expr | None = None
    if kind is CUSTOM_OP:
        value = call.args[0] if call.args else keywords.get("_decorated_op_cls")
        value = value or keywords.get("_decorated_layer_cls")
        if value is None:
            return
    elif kind is TORCH_OP:
        if name.rpartition(".")[2] == "custom_op":
            return
        value = keywords.get("op_func") or (call.args[1] if len(call.args) > 1 else None)
    elif kind is LINEAR_KERNEL:
        value = keywords.get("kernel_class") or (call.args[0] if call.args else None)
    elif kind is MODEL:
        value = keywords.get("model_cls") or (call.args[1] if len(call.args) > 1 else None)
    elif kind is ATTENTION:
        value = keywords.get("class_path") or (call.args[1] if len(call.args) > 1 else None)
        if value is None:
            return
    else:
        return
    found = _resolve(world, scope, value)
    path = _text(world, scope, value) if kind in (MODEL, ATTENTION) else ""
    yield from _make(world, scope, name, kind, call, found, call.lineno, scope.qualname, path)


def _make(
    world: World,
    scope: Scope,
    name: str,
    kind: str,
    call: ast.Call | None,
    value: Resolution | None,
    line: int,
    symbol: str,
    path: str = "",
) -> Iterator[Registration]:
    keywords = {k.arg: k.value for k in call.keywords} if call is not None else {}
    arguments = call.args if call is not None else []
    owner: Resolution | None = None
    named = False
    first = arguments[0] if arguments else None
    if kind is CUSTOM_OP:
        owner = world.name(scope.module, scope.qualname, name.rpartition(".")[0])
        given = keywords.get("name") or (arguments[1] if len(arguments) > 1 else None)
        named = given is not None
        key = _text(world, scope, given) if named else owner.qualname.rpartition(".")[2]
    elif kind is ATTENTION:
        node = first or keywords.get("backend")
        member = dotted(node) if node is not None else "?"
        key = ".".join(member.split(".")[-2:]) if "?" not in member and "." in member else ""
        if key:
            owner = world.name(scope.module, scope.qualname, member.rpartition(".")[0])
    elif kind is LINEAR_KERNEL:
        kernel = keywords.get("kernel_type") or (arguments[2] if len(arguments) > 2 else None)
        platform = keywords.get("platform") or (arguments[1] if len(arguments) > 1 else None)
        # One table holds a list for each platform: every class in it is a key of its own.
        of = dotted(platform).rpartition(".")[2] if platform is not None else "?"
        name_of = value.qualname if value is not None else "?"
        key = f"{_text(world, scope, kernel) or 'mp'} {of} {name_of}"
    elif kind is TORCH_OP:
        key = _text(world, scope, keywords.get("op_name") or first)
        library = keywords.get("target_lib")
        if library is not None:
            key = f"{dotted(library)}::{key}" if key else ""
        elif key and "::" not in key:
            key = f"{world.profile.upstream_package}::{key}"
    elif kind is MODEL:
        key = _text(world, scope, keywords.get("model_arch") or first)
    else:
        key = _text(world, scope, keywords.get("quantization") or keywords.get("name") or first)
    yield Registration(kind, key, scope.module, line, symbol, value, path, name, owner, named)

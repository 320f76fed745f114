"""What an expression may hold, in the code of either package: classes, functions, instances, outside components.

Where :class:`tools.code.infer.Inference` answers only what is certain, this lists what is possible: every value
a name is bound to, everything a factory returns, whatever an ``if`` chooses from. A dispatch chain needs both
branches. Types of parameters come from their annotations, attributes from the methods that really run.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tools.code.functions import function_node, walk
from tools.code.infer import annotation_names
from tools.code.shapes import FunctionNode
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution, World

_DEPTH = 14
COMPUTE = re.compile(
    r"^torch\.(ops\.\w+\.\w+|_scaled_mm|matmul|mm|bmm|addmm|einsum|baddbmm|_int_mm|"
    r"nn\.functional\.(linear|embedding|scaled_dot_product_attention|silu|gelu))"
)
"""Functions of torch that compute; the others arrange."""
_QUOTED = re.compile(r"""["']((?:\w+\.)+\w+)["']""")


class Form(StrEnum):
    """How a value relates to its ``ref``."""

    CLASS = "class"
    INSTANCE = "instance"
    FUNCTION = "function"
    MODULE = "module"
    OUTSIDE = "outside"


@dataclass(frozen=True, slots=True)
class Value:
    """``receiver`` is the class through which a method was found; ``bound`` are parameters known to be classes."""

    form: Form
    ref: Resolution
    receiver: Resolution | None = None
    bound: tuple[tuple[str, Resolution], ...] = ()

    @property
    def frame(self) -> Frame:
        """Of a function: its body with what is known of its names."""
        return Frame(self.ref, self.receiver, self.bound)


@dataclass(frozen=True, slots=True)
class Frame:
    """One function as it is called: on which class, with which classes as arguments."""

    function: Resolution
    receiver: Resolution | None = None
    bound: tuple[tuple[str, Resolution], ...] = ()


@dataclass(slots=True)
class Body:
    """Syntax of a function and what it binds."""

    node: FunctionNode
    receiver: str
    locals: dict[str, list[tuple[ast.expr, int | None]]]
    """Name -> values; the number is the place in a tuple that is taken apart, -1 an element of a sequence."""
    annotations: dict[str, str]
    calls: tuple[ast.Call, ...]


def outside(name: str) -> Value:
    """A thing of neither package, by its dotted name."""
    return Value(Form.OUTSIDE, Resolution(Kind.EXTERNAL, name))


class Values:
    """Over one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._bodies: dict[str, Body | None] = {}
        self._memo: dict[tuple[Frame, int, int], tuple[Value, ...]] = {}
        self._stored: dict[tuple[str, str], tuple[Value, ...]] = {}
        self._returned: dict[tuple[Frame, int | None], tuple[Value, ...]] = {}

    # ---- functions ----

    def body(self, function: Resolution) -> Body | None:
        """The body of a function of either package; None for what is not there or does not parse alone."""
        if function.id not in self._bodies:
            self._bodies[function.id] = self._read(function)
        return self._bodies[function.id]

    def _read(self, function: Resolution) -> Body | None:
        tree, record = self.world.tree(function.module), self.world.function_record(function)
        node = function_node(tree, function.module, record) if tree is not None and record else None
        if node is None or record is None:
            return None
        arguments = [*node.args.posonlyargs, *node.args.args]
        static = any(dotted(d) == "staticmethod" for d in node.decorator_list)
        receiver = arguments[0].arg if record.in_class and arguments and not static else ""
        bound: dict[str, list[tuple[ast.expr, int | None]]] = {}
        calls: list[ast.Call] = []
        for child in walk(node):
            if isinstance(child, ast.Call):
                if not _idle(child.func):
                    calls.append(child)
            elif isinstance(child, ast.Assign):
                for target in child.targets:
                    _bind(bound, target, child.value)
            elif isinstance(child, ast.AnnAssign | ast.NamedExpr):
                if child.value is not None:
                    _bind(bound, child.target, child.value)
            elif isinstance(child, ast.For) and isinstance(child.target, ast.Name):
                bound.setdefault(child.target.id, []).append((child.iter, -1))
        annotations = {
            a.arg: ast.unparse(a.annotation)
            for a in (*arguments, *node.args.kwonlyargs)
            if a.annotation is not None
        }
        calls.sort(key=lambda c: (c.lineno, c.col_offset))
        return Body(node, receiver, bound, annotations, tuple(calls))

    def method(self, cls: Resolution, name: str, after: Resolution | None = None) -> Value | None:
        """The method that ``name`` finds on an instance of ``cls``."""
        if after is not None:
            after = next((c for c in self.world.mro(cls).classes if c.id == after.id), after)
        owner = self.world.definer(cls, name, after=after)
        member = self.world.own_member(owner, name) if owner is not None else None
        if member is None or member.kind is not Kind.FUNCTION:
            return None
        return Value(Form.FUNCTION, member, cls)

    # ---- expressions ----

    def of(self, node: ast.expr, frame: Frame, depth: int = 0) -> tuple[Value, ...]:
        """Everything ``node`` may hold where it stands in ``frame``; () when nothing is known."""
        if depth > _DEPTH:
            return ()
        key = (frame, node.lineno, (node.col_offset << 12) + (node.end_col_offset or 0))
        if key not in self._memo:
            self._memo[key] = ()  # what refers to itself is unknown
            self._memo[key] = _unique(self._of(node, frame, depth + 1))
        return self._memo[key]

    def _of(self, node: ast.expr, frame: Frame, depth: int) -> Iterable[Value]:
        if isinstance(node, ast.Name):
            return self._name(node.id, frame, depth)
        if isinstance(node, ast.Attribute):
            return [
                v for owner in self.of(node.value, frame, depth) for v in self.attribute(owner, node.attr)
            ]
        if isinstance(node, ast.Call):
            return self._called(node, frame, depth)
        if isinstance(node, ast.IfExp):
            return [*self.of(node.body, frame, depth), *self.of(node.orelse, frame, depth)]
        if isinstance(node, ast.BoolOp | ast.List | ast.Tuple | ast.Set):
            parts = node.values if isinstance(node, ast.BoolOp) else node.elts
            return [v for part in parts for v in self.of(part, frame, depth)]
        if isinstance(node, ast.Dict):
            return [v for part in node.values for v in self.of(part, frame, depth)]
        if isinstance(node, ast.Subscript | ast.Starred | ast.Await):
            return self.of(node.value, frame, depth)
        return ()

    def _name(self, name: str, frame: Frame, depth: int) -> Iterable[Value]:
        body = self.body(frame.function)
        if body is not None:
            known = dict(frame.bound)
            if name in known:
                return [Value(Form.CLASS, known[name])]
            if name == body.receiver and frame.receiver is not None:
                record = self.world.function_record(frame.function)
                by_class = record is not None and "classmethod" in record.decorators
                return [Value(Form.CLASS if by_class else Form.INSTANCE, frame.receiver)]
            if name in body.locals:
                return [v for e, index in body.locals[name] for v in self._part(e, index, frame, depth)]
            if name in body.annotations:
                return self._annotated(frame.function, body.annotations[name])
        return self.named(self.world.name(frame.function.module, frame.function.qualname, name))

    def named(self, found: Resolution) -> list[Value]:
        """What a name that resolves to ``found`` may hold."""
        return [*self._resolved(found), *self._imported_instead(found)]

    def spelled(self, module: str, scope: str, name: str) -> list[Value]:
        """What dotted ``name`` may hold in ``scope``; names outside are kept whole."""
        head, _, rest = name.partition(".")
        found = self.world.name(module, scope, head)
        if rest and found.kind in (Kind.EXTERNAL, Kind.GENERATED):
            return [outside(f"{found.id.replace(':', '.')}.{rest}")]
        return self.named(self.world.name(module, scope, name) if rest else found)

    def _imported_instead(self, found: Resolution) -> list[Value]:
        """``if available: from library import f`` with ``else: def f``: the definition is only one of two."""
        tree = self.world.tree(found.module)
        if tree is None or found.kind not in (Kind.FUNCTION, Kind.CLASS) or "." in found.qualname:
            return []
        bindings = tree.namespace(found.module).names.get(found.qualname)
        sources = [(tree.absolute(found.module, i), i.name) for i in (bindings.imports if bindings else ())]
        return [outside(f"{s}.{n}") for s, n in sources if n not in ("", ".") and self.world.tree(s) is None]

    def _part(self, node: ast.expr, index: int | None, frame: Frame, depth: int) -> Iterable[Value]:
        if index is None or index < 0:
            return self.of(node, frame, depth)
        if isinstance(node, ast.Tuple):
            return self.of(node.elts[index], frame, depth) if index < len(node.elts) else ()
        if isinstance(node, ast.Call):
            out: list[Value] = []
            for callee in self.of(node.func, frame, depth):
                if callee.form is Form.FUNCTION:
                    out += self.returned(self.with_arguments(callee, node, frame, depth).frame, index, depth)
            return out
        return ()

    def _annotated(self, function: Resolution, text: str) -> list[Value]:
        names = annotation_names(text)
        inner = re.fullmatch(r"[\"']?(?:type|Type)\[([\w.\"' |]+)\][\"']?", text)
        if inner is not None:
            names = annotation_names(inner[1])
        out = []
        for name in names:
            found = self.world.name(function.module, function.qualname, name)
            if found.kind is Kind.CLASS:
                out.append(Value(Form.CLASS if inner is not None else Form.INSTANCE, found))
        return out

    def _resolved(self, found: Resolution, depth: int = 0) -> list[Value]:
        forms = {Kind.CLASS: Form.CLASS, Kind.FUNCTION: Form.FUNCTION, Kind.MODULE: Form.MODULE}
        if found.kind in forms:
            return [Value(forms[found.kind], found)]
        if found.kind in (Kind.EXTERNAL, Kind.GENERATED):
            return [outside(found.id.replace(":", "."))]
        return self._constant(found, depth) if found.kind is Kind.VALUE and depth < 3 else []

    def _constant(self, found: Resolution, depth: int) -> list[Value]:
        """What a name of a module is bound to: an object constructed there, or a module imported by string."""
        tree = self.world.tree(found.module)
        owner, _, name = found.qualname.rpartition(".")
        if tree is None or owner:
            return []
        space = tree.namespace(found.module)
        bindings = space.names.get(name)
        out: list[Value] = []
        for assign in bindings.assigns if bindings is not None else ():
            callee = assign.kind[5:] if assign.kind.startswith("call:") else ""
            if callee.rpartition(".")[2] == "import_module":
                for path in self._imported_paths(found.module, assign.line, assign.value):
                    out += self._resolved(self.world.module(path))
            elif callee and "?" not in callee:
                for value in self._resolved(self.world.name(found.module, "", callee), depth + 1):
                    if value.form is Form.CLASS:
                        out.append(Value(Form.INSTANCE, value.ref))
                    elif value.form is Form.OUTSIDE and _constructs(value.ref.module):
                        out.append(value)
            elif assign.alias:
                out += self._resolved(self.world.name(found.module, "", assign.alias), depth + 1)
        return out

    def _imported_paths(self, module: str, line: int, text: str) -> list[str]:
        """Module names in ``import_module(…)``, or in the names that are handed to it."""
        tree = self.world.tree(module)
        assert tree is not None
        found = _QUOTED.findall(text)
        if not found:
            names = set(re.findall(r"\w+", text.partition("(")[2]))
            for stmt in tree.syntax(module).body:
                if isinstance(stmt, ast.Assign) and any(dotted(t) in names for t in stmt.targets):
                    found += _QUOTED.findall(ast.unparse(stmt.value))
        return [path for path in found if self.world.tree(path) is not None]

    def attribute(self, owner: Value, name: str) -> list[Value]:
        """What ``owner.name`` may hold."""
        if owner.form is Form.OUTSIDE:
            return [outside(f"{owner.ref.module}.{name}")]
        if owner.form is Form.MODULE:
            return self.named(self.world.member(owner.ref.module, name))
        if owner.form not in (Form.CLASS, Form.INSTANCE):
            return []
        method = self.method(owner.ref, name)
        if method is not None:
            record = self.world.function_record(method.ref)
            if record is not None and any(
                d.rpartition(".")[2] in ("property", "cached_property") for d in record.decorators
            ):
                return list(self.returned(method.frame, None, 1))
            return [method]
        return list(self.stored(owner.ref, name))

    def stored(self, cls: Resolution, name: str) -> tuple[Value, ...]:
        """What methods that run on a ``cls`` put into ``self.name``."""
        key = (cls.id, name)
        if key in self._stored:
            return self._stored[key]
        self._stored[key] = ()
        seen: set[str] = set()
        out: list[Value] = []
        for owner in self.world.mro(cls).classes:
            tree = self.world.tree(owner.module) if owner.kind is Kind.CLASS else None
            if tree is None:
                continue
            methods = tree.namespace(owner.module).methods.get(owner.qualname, {})
            for method, function in methods.items():
                if method not in seen and any(w.attr == name for w in function.self_writes):
                    where = Resolution(Kind.FUNCTION, owner.module, function.qualname)
                    out += self._writes(Frame(where, cls), name)
            seen |= methods.keys()
            if out:
                break
        self._stored[key] = _unique(out)
        return self._stored[key]

    def _writes(self, frame: Frame, name: str) -> list[Value]:
        body = self.body(frame.function)
        out: list[Value] = []
        for node in walk(body.node) if body is not None else ():
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or body is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                wanted = f"{body.receiver}.{name}"
                if dotted(target) == wanted:
                    out += self.of(node.value, frame, 1)
                elif isinstance(target, ast.Tuple):
                    for index, element in enumerate(target.elts):
                        if dotted(element) == wanted:
                            out += self._part(node.value, index, frame, 1)
        return out

    # ---- calls ----

    def callees(self, call: ast.Call, frame: Frame) -> tuple[Value, ...]:
        """What ``call`` may run."""
        func = call.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call):
            inner = func.value
            if isinstance(inner.func, ast.Name) and inner.func.id == "super" and frame.receiver is not None:
                after = self._above(inner, frame)
                found = self.method(frame.receiver, func.attr, after) if after is not None else None
                return (found,) if found is not None else ()
        return tuple(self.with_arguments(v, call, frame, 0) for v in self.of(func, frame))

    def _above(self, call: ast.Call, frame: Frame) -> Resolution | None:
        if call.args:
            found = self.world.name(frame.function.module, frame.function.qualname, dotted(call.args[0]))
            return found if found.kind is Kind.CLASS else None
        owner = frame.function.qualname.rpartition(".")[0]
        return Resolution(Kind.CLASS, frame.function.module, owner) if owner else None

    def with_arguments(self, callee: Value, call: ast.Call, frame: Frame, depth: int) -> Value:
        """``callee`` with the classes that are handed to it as arguments."""
        if callee.form is not Form.FUNCTION:
            return callee
        record = self.world.function_record(callee.ref)
        if record is None:
            return callee
        params = list(record.params)
        if record.in_class and params and "staticmethod" not in record.decorators:
            params = params[1:]
        pairs = [(p.name, a) for p, a in zip(params, call.args, strict=False)]
        pairs += [(k.arg, k.value) for k in call.keywords if k.arg is not None]
        bound = []
        for name, argument in pairs:
            if isinstance(argument, ast.Name | ast.Attribute) and argument is not call.func:
                values = self.of(argument, frame, depth + 1)
                if len(values) == 1 and values[0].form is Form.CLASS:
                    bound.append((name, values[0].ref))
        return Value(callee.form, callee.ref, callee.receiver, tuple(bound)) if bound else callee

    def _called(self, node: ast.Call, frame: Frame, depth: int) -> list[Value]:
        if dotted(node.func) in ("cast", "typing.cast") and len(node.args) == 2:
            return list(self.of(node.args[1], frame, depth))
        out: list[Value] = []
        for callee in self.callees(node, frame):
            if callee.form is Form.CLASS:
                out.append(Value(Form.INSTANCE, callee.ref))
            elif callee.form is Form.OUTSIDE:
                # An object of a class outside is known by its class; what a function outside gives is not.
                out += [callee] if _constructs(callee.ref.module) else []
            elif callee.form is Form.FUNCTION:
                if (
                    callee.ref.qualname.rpartition(".")[2] in ("from_config", "from_pretrained")
                    and callee.receiver
                ):
                    out.append(Value(Form.INSTANCE, callee.receiver))
                else:
                    out += self.returned(callee.frame, None, depth)
        return out

    def returned(self, frame: Frame, index: int | None, depth: int) -> tuple[Value, ...]:
        """What a function may give back; of a tuple, the element at ``index``."""
        key = (frame, index)
        if key in self._returned or depth > _DEPTH:
            return self._returned.get(key, ())
        self._returned[key] = ()
        body = self.body(frame.function)
        out: list[Value] = []
        for node in walk(body.node) if body is not None else ():
            if isinstance(node, ast.Return) and node.value is not None:
                out += self._part(node.value, index, frame, depth + 1)
        record = self.world.function_record(frame.function)
        if not out and index is None and record is not None and record.returns:
            out += self._annotated(frame.function, record.returns)
        self._returned[key] = _unique(out)
        return self._returned[key]


def _bind(bound: dict[str, list[tuple[ast.expr, int | None]]], target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Name):
        bound.setdefault(target.id, []).append((value, None))
    elif isinstance(target, ast.Tuple | ast.List):
        for index, element in enumerate(target.elts):
            if isinstance(element, ast.Name):
                bound.setdefault(element.id, []).append((value, index))


_BUILTINS = frozenset(dir(builtins)) - {"super"}
_IDLE_HEADS = frozenset(
    {"logger", "logging", "warnings", "os", "math", "json", "re", "np", "time", "field", "cast"}
)
_TENSOR = (
    "view reshape to size numel dim contiguous transpose permute t unsqueeze squeeze expand flatten float half",
    "bfloat16 int item tolist clone detach copy_ fill_ zero_ zeros empty ones full arange tensor stack cat pad",
    "is_contiguous stride unbind chunk narrow repeat masked_fill masked_fill_ new_empty new_zeros amax max min",
    "sum mean abs add_ mul_ div_ sub_ clamp clamp_ round any all numpy cpu cuda record_stream element_size type",
)
_OTHERS = (
    "append extend insert pop get items keys values update add remove join split format startswith endswith",
    "strip replace lower upper index count sort setdefault debug info warning info_once debug_once warning_once",
    "is_cuda is_rocm is_xpu is_cpu is_cuda_alike get_device_capability has_device_capability",
)
IDLE = frozenset(" ".join(_TENSOR + _OTHERS).split())
"""Names of tensor, container and logging methods: calls of them never lead to another definition here."""


def _idle(func: ast.expr) -> bool:
    """Whether a call can be passed over unseen: there are ten of these for one that matters."""
    if isinstance(func, ast.Name):
        return func.id in _BUILTINS
    if not isinstance(func, ast.Attribute):
        return False
    if func.attr in IDLE and not (isinstance(func.value, ast.Name) and func.value.id in ("self", "cls")):
        return True
    name = dotted(func)
    if name.startswith("torch."):
        return not COMPUTE.match(name)
    return name.partition(".")[0] in _IDLE_HEADS


def _constructs(name: str) -> bool:
    """Whether a dotted name outside is that of a class, by its spelling."""
    return name.rpartition(".")[2][:1].isupper() and not name.startswith("torch.")


def _unique(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(values))

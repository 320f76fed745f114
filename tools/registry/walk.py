"""Follows calls through both packages until a component outside them: native ops, kernels, libraries.

Every call of a function is resolved to what it may run; what leads nowhere outside is left out, what is
reached twice is shown once. Oracles (functions that select a backend) are shown with every class they may
select, tables of linear kernels with what the plugin put into them, and ops with what implements them.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from tools.code.functions import walk
from tools.code.records import Call
from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.registry.effective import rivals
from tools.registry.lookups import lookups_of
from tools.registry.sites import CUSTOM_OP, LINEAR_KERNEL, TORCH_OP, Registration, registrations
from tools.registry.subject import Subject
from tools.registry.values import COMPUTE, IDLE, Form, Frame, Value, Values

_BUILTINS = frozenset(dir(builtins))
_DEPTH = 12
"""Longest chain of calls below a method."""
_ORACLE = re.compile(r"^_?(select_\w*backend|backend_to_kernel_cls|choose_\w*kernel|init_\w*_kernel)$")
_PREPARE = re.compile(r"PrepareAndFinalize|PrepareFinalize")
_LIBRARIES = (
    "numpy transformers compressed_tensors pydantic regex packaging msgspec cloudpickle PIL tqdm safetensors",
    "huggingface_hub typing_extensions prometheus_client ray requests aiohttp fastapi jinja2 zmq psutil yaml",
    "cbor2 blake3 einops torchvision torchaudio builtins triton tilelang cutlass pybase64 cachetools filelock",
    "opentelemetry tokenizers xgrammar",
)
_PLUMBING = frozenset(" ".join(_LIBRARIES).split())
"""Libraries that a chain may pass without ending there; torch is judged by what is called."""


@dataclass(slots=True)
class Node:
    """One step with what follows from it."""

    role: str
    name: str
    where: str
    path: str = ""
    line: int = 0
    when: str = ""
    note: str = ""
    fallback: bool = False
    children: list[Node] = field(default_factory=list)
    ref: Resolution | None = None
    """Definition behind the step."""
    frame: Frame | None = None

    @property
    def ends(self) -> bool:
        """True when the step is a component outside, or leads to one."""
        return self.where == "outside" or any(c.ends for c in self.children)


class Walker:
    """Over the plugin with one upstream."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        self.values = Values(subject.world)
        self.ops = lookups_of(subject)
        self.attached: dict[str, tuple[Value, ...]] = {}
        """Attributes that a selection puts on the layer it is given -> what they hold."""
        self.unresolved: dict[str, None] = {}
        self._replaced = {p.target: p.replacement for p in subject.patches if p.replacement is not None}
        self._memo: dict[Frame, list[Node]] = {}
        self._calls: dict[str, dict[str, list[Call]]] = {}
        self._asked = False
        """Whether something on the way consulted ``attached``: such a result serves one chain only."""
        self._tables = self._kernel_tables()
        winners = {key: found.winner for key, found in rivals(subject).items()}
        self._oot = {
            key: item.value
            for (kind, key), item in winners.items()
            if kind == CUSTOM_OP and item is not None and item.value is not None
        }
        self._torch_ops = {r.key: r.value for r in registrations(subject) if r.kind == TORCH_OP and r.value}

    # ---- steps ----

    def side(self, module: str) -> str:
        """``plugin``, ``upstream`` or ``outside``."""
        tree = self.world.tree(module)
        return "outside" if tree is None else "plugin" if tree is self.world.plugin else "upstream"

    def place(self, found: Resolution) -> tuple[str, int]:
        """Path and line of a definition of either package."""
        tree = self.world.tree(found.module)
        if tree is None or found.module not in tree.paths:
            return "", 0
        record = self.world.function_record(found) or self.world.class_record(found)
        return tree.paths[found.module], record.line if record is not None else 1

    def node(self, role: str, found: Resolution, *, when: str = "", note: str = "") -> Node:
        """The step of a definition."""
        path, line = self.place(found)
        return Node(role, found.id, self.side(found.module), path, line, when, note, ref=found)

    def effective(self, cls: Resolution) -> Resolution:
        """The class that constructing ``cls`` gives: ops are replaced by what is registered for their name."""
        replacement = self._oot.get(cls.qualname.rpartition(".")[2])
        if replacement is None or replacement.kind is not Kind.CLASS or not self.ops.is_op(cls):
            return cls
        return replacement

    # ---- bodies ----

    def below(self, frame: Frame, depth: int = 0) -> list[Node]:
        """Steps that follow from running ``frame``, those that lead outside."""
        known = self._memo.get(frame)
        if known is not None:
            return known
        self._memo[frame] = []  # recursion ends here
        before, self._asked = self._asked, False
        found = list(self._steps(frame, depth)) if depth < _DEPTH else []
        if self._asked:
            del self._memo[frame]
        else:
            self._memo[frame] = found
        self._asked = self._asked or before
        return found

    def _steps(self, frame: Frame, depth: int) -> Iterator[Node]:
        if self._plain(frame):
            yield from self._by_record(frame, depth)
            return
        body = self.values.body(frame.function)
        if body is None:
            return
        yield from self._kernels_of_tables(frame, depth)
        seen: set[str] = set()
        for call in body.calls:
            for value in self._callees(call, frame):
                for node in self._reached(value, frame, call.lineno, depth):
                    mark = f"{node.role} {node.name}"
                    if mark not in seen:
                        seen.add(mark)
                        yield node

    def _plain(self, frame: Frame) -> bool:
        """Functions of upstream below a method: what they call is read from records, without their syntax."""
        name = frame.function.qualname.rpartition(".")[2]
        own = frame.receiver is not None or frame.bound
        return not own and self.side(frame.function.module) == "upstream" and not _ORACLE.match(name)

    def _by_record(self, frame: Frame, depth: int) -> Iterator[Node]:
        module, scope = frame.function.module, frame.function.qualname
        if module not in self._calls:
            calls: dict[str, list[Call]] = {}
            for call in self.world.upstream.calls(module):
                calls.setdefault(call.scope, []).append(call)
            self._calls[module] = calls
        seen: set[str] = set()
        for inner in (s for s in self._calls[module] if s == scope or s.startswith(scope + ".")):
            for call in self._calls[module][inner]:
                name = call.callee.removesuffix("?")
                if "?" in name or name in seen or name.startswith(("self.", "cls.", "super()")):
                    continue
                seen.add(name)
                if name in _BUILTINS or (name.rpartition(".")[2] in IDLE and not name.startswith("torch.")):
                    continue
                for value in self.values.spelled(module, inner, name):
                    yield from self._reached(value, frame, call.line, depth)

    def _callees(self, call: ast.Call, frame: Frame) -> tuple[Value, ...]:
        if isinstance(call.func, ast.Subscript):
            return tuple(v for v in self.values.of(call.func.value, frame) if v.form is Form.FUNCTION)
        found = self.values.callees(call, frame)
        if not found and isinstance(call.func, ast.Attribute):
            inner = call.func.value
            name = inner.attr if isinstance(inner, ast.Attribute) else ""
            self._asked = self._asked or name in ATTACHED
            found = tuple(
                v
                for value in self.attached.get(name, ())
                for v in self.values.attribute(value, call.func.attr)
            )
            if not found and self.side(frame.function.module) == "plugin" and call.func.attr in _WATCHED:
                tree = self.world.plugin
                self.unresolved.setdefault(
                    f"{tree.paths[frame.function.module]}:{call.lineno} {ast.unparse(call.func)[:80]}"
                )
        return found

    def _reached(self, value: Value, frame: Frame, line: int, depth: int) -> Iterator[Node]:
        if value.form is Form.OUTSIDE:
            yield from self._outside(value.ref.module, frame, line, depth)
        elif value.form is Form.FUNCTION:
            yield from self._function(value, frame, depth)
        elif value.form is Form.CLASS:
            yield from self._constructed(value.ref, frame, depth)
        elif value.form is Form.INSTANCE:
            for name in ("__call__", "forward"):
                method = self.values.method(value.ref, name)
                if method is not None:
                    yield from self._function(method, frame, depth)
                    break

    def _outside(self, name: str, frame: Frame, line: int, depth: int) -> Iterator[Node]:
        top = name.partition(".")[0]
        tree = self.world.tree(frame.function.module)
        path = tree.paths[frame.function.module] if tree is not None else ""
        if name.startswith("torch.ops."):
            key = "::".join(name.removeprefix("torch.ops.").split(".")[:2])
            implementation = self._implementation(key)
            if implementation is not None:
                node = self.node("torch op", implementation, note=f"registered as {key}")
                node.children = self.below(Frame(implementation), depth + 1)
                if node.ends:
                    yield node
                return
        elif top == "torch":
            if not COMPUTE.match(name):
                return
        elif top in sys.stdlib_module_names or top in _PLUMBING:
            return
        yield Node("kernel boundary", name, "outside", path, line)

    def _implementation(self, key: str) -> Resolution | None:
        if key in self._torch_ops:
            return self._torch_ops[key]
        site = self.ops.torch_ops.get(key)
        if site is None:
            return None
        module, line = site
        for call in self.subject.upstream.calls(module):
            if call.line == line or abs(call.line - line) <= 1:
                text = "\n".join(self.subject.upstream.lines(module)[line - 1 : line + 6])
                named = re.search(r"op_func\s*=\s*(\w+)", text) or re.search(r"[\"'],\s*(\w+)", text)
                found = self.world.member(module, named[1]) if named else None
                return found if found is not None and found.kind is Kind.FUNCTION else None
        return None

    def _function(self, value: Value, frame: Frame, depth: int) -> Iterator[Node]:
        target = value.ref
        replacement = self._replaced.get(target.id.replace(":", "."))
        note = ""
        if replacement is not None and replacement.kind is Kind.FUNCTION and replacement.id != target.id:
            note, target = f"patched over {target.id}", replacement
        record = self.world.function_record(target)
        if record is None:
            return
        if any(_jit(d) for d in record.decorators):
            path, line = self.place(target)
            yield Node("kernel boundary", f"kernel {target.id}", "outside", path, line, note=note, ref=target)
            return
        name = target.qualname.rpartition(".")[2]
        called = Frame(target, value.receiver, value.bound)
        node = self.node("oracle" if _ORACLE.match(name) else "wrapper", target, note=note)
        node.frame = called
        if node.role == "oracle" and node.where == "upstream":
            node.children = [*self._selected(called, depth + 1), *self._kernels_of_tables(called, depth + 1)]
        else:
            node.children = list(self.below(called, depth + 1))
            if node.role == "oracle":
                node.children = [*self._selected(called, depth + 1), *node.children]
        if node.ends or node.role == "oracle":
            here = self.side(frame.function.module) == "plugin"
            own = value.receiver is not None and self.side(value.receiver.module) == "plugin"
            if here and node.where == "upstream" and (own or depth <= 1) and name != "__init__":
                node.fallback, node.note = True, node.note or "continues in upstream's own code"
            yield node

    def _selected(self, frame: Frame, depth: int) -> Iterator[Node]:
        """Classes that an oracle may answer with."""
        for value in self.values.returned(frame, None, 0):
            if value.form is not Form.CLASS or self.role_of(value.ref) == "class":
                continue
            known = self.side(frame.function.module) == self.side(value.ref.module) == "upstream"
            if known:
                # Upstream lists backends for every platform; which of them is taken here its predicates decide.
                yield self.node(self.role_of(value.ref), value.ref, note="one of upstream's candidates")
            else:
                yield self.component(value.ref, depth, by=frame.function)

    def role_of(self, cls: Resolution) -> str:
        """What part of a MoE or linear kernel a class is, by the names of its bases."""
        names = [c.qualname for c in self.world.mro(cls).classes]
        if any(_PREPARE.search(n) for n in names):
            return "prepare-finalize"
        if any("Experts" in n for n in names):
            return "experts"
        if any(n.endswith(("LinearKernel", "MMKernel")) for n in names):
            return "linear kernel"
        return "class"

    def component(self, cls: Resolution, depth: int, *, by: Resolution | None = None) -> Node:
        """A class that does the work: its methods, followed."""
        cls = self.effective(cls)
        node = self.node(self.role_of(cls), cls)
        if by is not None and self.side(by.module) == "plugin" and node.where == "upstream":
            node.fallback = True
            node.note = f"`{by.qualname}` of the plugin selects upstream's own class"
        for name in _WORK:
            method = self.values.method(cls, name)
            if method is None or method.ref.qualname.startswith("object."):
                continue
            step = self.stage(cls, name, depth)
            if step is not None and step.ends:
                node.children.append(step)
        return node

    def stage(self, cls: Resolution, name: str, depth: int) -> Node | None:
        """One method as it runs on a ``cls``; None when no readable class has it."""
        method = self.values.method(cls, name)
        if method is None:
            return None
        node = self.node("method", method.ref)
        node.frame = method.frame
        node.children = self.below(method.frame, depth + 1)
        if name == "__init__":
            # A constructor matters for what it selects; the kernels it warms up are not its dispatch.
            node.children = [c for c in node.children if _chooses(c)]
        elif self.side(cls.module) == "plugin" and node.where == "upstream":
            node.fallback, node.note = True, f"inherited: `{cls.qualname}` does not override it"
        return node

    def _constructed(self, cls: Resolution, frame: Frame, depth: int) -> Iterator[Node]:
        actual = self.effective(cls)
        role = self.role_of(actual)
        if role != "class":
            yield self.component(actual, depth + 1, by=frame.function)
            return
        if self.side(actual.module) != "plugin":
            return
        step = self.stage(actual, "__init__", depth + 1)
        if step is not None and step.ends:
            node = self.node("class", actual)
            node.children = step.children
            yield node

    # ---- tables ----

    def _kernel_tables(self) -> dict[str, list[Registration]]:
        out: dict[str, list[Registration]] = {}
        for item in registrations(self.subject):
            if item.kind == LINEAR_KERNEL:
                out.setdefault(table_of(item), []).append(item)
        return out

    def _kernels_of_tables(self, frame: Frame, depth: int) -> Iterator[Node]:
        """``_POSSIBLE_KERNELS`` read in a body: what the plugin registered in it."""
        body = self.values.body(frame.function)
        names = {n.id for n in walk(body.node) if isinstance(n, ast.Name)} if body is not None else set()
        for table in sorted(names & self._tables.keys()):
            for item in self._tables[table]:
                for cls in item.classes:
                    node = self.component(cls, depth + 1)
                    node.note = (
                        f"from {table}, registered in {self.world.plugin.paths[item.module]}:{item.line}"
                    )
                    yield node


ATTACHED = frozenset({"scheme", "quant_method", "transform_method"})
"""Names under which a selection leaves its choice on the layer."""
_WORK = ("apply", "apply_weights", "prepare", "finalize", "forward")
"""Methods of components that reach kernels."""
_WATCHED = frozenset(
    {"apply", "forward", "apply_weights", "prepare", "finalize", "process_weights_after_loading"}
)
"""Methods whose unresolved call leaves a hole in a chain."""


def table_of(item: Registration) -> str:
    """The upstream table that a linear kernel is registered in."""
    if item.key.startswith("_POSSIBLE"):
        return item.key
    kind = item.key.split(" ")[0]
    return "_POSSIBLE_KERNELS" if kind == "mp" else f"_POSSIBLE_{kind.upper()}_KERNELS"


def _jit(decorator: str) -> bool:
    return decorator.partition("(")[0].rpartition(".")[2] in ("jit", "autotune", "prim_func")


def _chooses(node: Node) -> bool:
    return any(n.role not in ("wrapper", "kernel boundary", "class", "torch op") for n in nodes([node]))


def collapsed(node: Node) -> Node:
    """``node``, where what runs in upstream alone is reduced to where it ends."""
    inner = list(nodes(node.children))
    plain = node.where == "upstream" and node.role in ("wrapper", "method", "class", "torch op")
    if plain and not any(n.where == "plugin" or _chooses(n) for n in inner):
        ends = {n.name: n for n in reversed(inner) if n.where == "outside"}
        leaves = [ends[name] for name in dict.fromkeys(n.name for n in inner if n.where == "outside")]
        hops = sum(n.where == "upstream" for n in inner)
        children = [replace(leaf, children=[]) for leaf in leaves]
        note = node.note
        if hops:
            note = f"{note}; " if note else ""
            note += f"through {hops} more function{'s' * (hops > 1)} of upstream"
        return replace(node, children=children, note=note)
    return replace(node, children=[collapsed(c) for c in node.children])


def nodes(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node, parents first."""
    for root in roots:
        yield root
        yield from nodes(root.children)


def branches(
    body: list[ast.stmt], guards: tuple[str, ...] = ()
) -> Iterator[tuple[ast.Return, tuple[str, ...]]]:
    """Each ``return`` of a function with the conditions written around it and before it."""
    for stmt in body:
        if isinstance(stmt, ast.Return):
            yield stmt, guards
        elif isinstance(stmt, ast.If):
            test = ast.unparse(stmt.test)
            yield from branches(stmt.body, (*guards, test))
            yield from branches(stmt.orelse, (*guards, f"not ({test})"))
        elif isinstance(stmt, ast.For | ast.While | ast.With | ast.Try):
            yield from branches(stmt.body, guards)
            yield from branches(getattr(stmt, "orelse", []), guards)
            for handler in getattr(stmt, "handlers", ()):
                yield from branches(
                    handler.body, (*guards, f"except {dotted(handler.type) if handler.type else ''}")
                )

"""What happens with each registered key: from the entry point through lookup and selection to the kernels.

One chain is a tree. Its stem is how the plugin's start reaches the registration and what upstream looks the
key up with; its branches are what the registered class may select, and what that calls until a component
outside both packages. Where code of the plugin hands over to upstream's own implementation, the step says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import Chain, ChainStep
from tools.registry.effective import rivals
from tools.registry.sites import (
    ATTENTION,
    CUSTOM_OP,
    LINEAR_KERNEL,
    MODEL,
    QUANTIZATION,
    Registration,
    registrations,
)
from tools.registry.startup import startup_of
from tools.registry.subject import Subject
from tools.registry.values import Form, Frame, Value
from tools.registry.walk import ATTACHED, Node, Walker, branches, collapsed, nodes, table_of

_KINDS = (QUANTIZATION, CUSTOM_OP, LINEAR_KERNEL, ATTENTION, MODEL)
Layers = tuple[tuple[Resolution, ...], tuple[Resolution, ...]]
"""Classes that the layer at hand is an instance of, and classes that it is not."""
_ISINSTANCE = re.compile(r"^(?P<no>not \()?isinstance\(layer, (?P<cls>[\w.]+)\)\)?$")
_LONGEST = 400
"""Steps of one chain; what is beyond is counted."""
_STAGES = (
    "__init__",
    "create_weights",
    "process_weights_after_loading",
    "get_fused_moe_quant_config",
    "apply",
)
"""Life of a quantization method, in order."""
_CITED = frozenset(
    {"registration", "lookup", "config", "selected method", "oracle", "experts", "linear kernel"}
)


def chains_of(subject: Subject) -> tuple[Chain, ...]:
    """A chain for every key that is in force, by kind and key; computed once for a subject."""
    return branches_of(subject).made


def branches_of(subject: Subject) -> Builder:
    """What the chains are made of, for readers that want the definitions behind the steps."""
    found = subject.shared.get("chains")
    if not isinstance(found, Builder):
        found = subject.shared["chains"] = Builder(subject)
        found.made = tuple(found.chains())
    return found


class Builder:
    """Makes the chains of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.world = subject, subject.world
        self.walker = Walker(subject)
        self.made: tuple[Chain, ...] = ()
        self.trees: dict[tuple[str, str], list[Node]] = {}
        """(kind, key) -> the steps from the lookup on, nothing left out."""
        self.startup = startup_of(subject)
        self._shown: dict[tuple[str, str], str] = {}
        """Classes whose chain was made -> the key it was made for."""
        self._ops = [r for r in registrations(subject) if r.kind == CUSTOM_OP and r.value is not None]

    def chains(self) -> Iterator[Chain]:
        """By kind and key."""
        winners = rivals(self.subject)
        lazily: dict[tuple[str, str], Registration] = {}
        for item in registrations(self.subject):
            if item.kind in _KINDS and item.key:
                lazily.setdefault((item.kind, item.key), item)
        order = {kind: place for place, kind in enumerate(_KINDS)}
        for kind, key in sorted(lazily, key=lambda k: (order[k[0]], k[1])):
            found = winners.get((kind, key))
            item = (found.winner if found is not None else None) or lazily[kind, key]
            yield self._chain(item, self.roots(item))

    def roots(self, item: Registration) -> list[Node]:
        """The steps from the lookup of ``item`` on."""
        self.walker.attached, self.walker.unresolved = {}, {}
        out: list[Node] = []
        lookup = self._lookup(item)
        if lookup is not None:
            out.append(lookup)
        for cls in self.classes(item):
            first = self._shown.setdefault((item.kind, cls.id), item.key)
            if first != item.key:
                node = self.walker.node("effective class", cls, note=f"the same class as {first}")
            elif item.kind == QUANTIZATION:
                node = self.config(cls)
            elif item.kind == ATTENTION:
                node = self.backend(cls)
            elif item.kind == MODEL:
                node = self.walker.node("model", cls, note="its layers are constructed from the key's class")
            else:
                node = self.op(cls)
            out.append(node)
        self.trees[item.kind, item.key] = out
        return [collapsed(node) for node in out]

    def classes(self, item: Registration) -> tuple[Resolution, ...]:
        """The classes registered by ``item``, class paths included."""
        if item.classes:
            return item.classes
        found = self.world.path(item.path.replace(":", ".")) if item.path else None
        return (found,) if found is not None and found.kind is Kind.CLASS else ()

    # ---- the stem ----

    def _lookup(self, item: Registration) -> Node | None:
        """Upstream's function that asks for the key."""
        package = f"{self.world.upstream.package}.model_executor"
        found: Resolution | None = None
        if item.kind == QUANTIZATION:
            found = self.world.member(f"{package}.layers.quantization", "get_quantization_config")
        elif item.kind == CUSTOM_OP and item.owner is not None:
            classes = self.world.mro(item.owner).classes
            base = next((c for c in classes if c.qualname in ("CustomOp", "PluggableLayer")), None)
            found = self.world.own_member(base, "__new__") if base is not None else None
        elif item.kind == LINEAR_KERNEL:
            found = self._table_reader(table_of(item))
        elif item.kind == ATTENTION and item.owner is not None:
            found = self.world.class_member(item.owner, "get_class")
        elif item.kind == MODEL:
            found = self.world.path(f"{package}.models.registry._ModelRegistry.resolve_model_cls")
        if found is None or found.kind is not Kind.FUNCTION:
            return None
        return self.walker.node("lookup", found, note=f"asks for {item.key}")

    def _declared(self, what: str) -> str:
        """The file that declares an entry point."""
        return next((e.path for e in self.startup.entries if what == f"entry point {e}"), "")

    def _table_reader(self, table: str) -> Resolution | None:
        """The function that chooses from a kernel table."""
        for module in self.world.upstream.defined.get(table, ()):
            for function in self.world.upstream.modules[module].functions:
                if function.in_class or not function.qualname.startswith(("choose_", "init_")):
                    continue
                lines = self.world.upstream.lines(module)[function.line - 1 : function.end_line]
                if any(table in line for line in lines):
                    return Resolution(Kind.FUNCTION, module, function.qualname)
        return None

    # ---- branches ----

    def config(self, cls: Resolution) -> Node:
        """A quantization config: what it answers for each kind of layer."""
        node = self.walker.node("config", cls)
        method = self.walker.values.method(cls, "get_quant_method")
        if method is not None:
            node.children.append(self._selection(method, cls, frozenset()))
        return node

    def _layers(self, guards: tuple[str, ...], where: Resolution, known: Layers) -> Layers | None:
        """What is known of the layer's class under ``guards``; None when they contradict what was known."""
        yes, no = known
        for guard in guards:
            found = _ISINSTANCE.match(guard)
            if found is None:
                continue
            cls = self.world.name(where.module, where.qualname, found["cls"])
            if cls.kind is not Kind.CLASS:
                continue
            if found["no"]:
                if any(self.world.is_subclass(y, cls.id) for y in yes):
                    return None
                no = (*no, cls)
                continue
            if any(self.world.is_subclass(cls, n.id) for n in no):
                return None
            related = [self.world.is_subclass(cls, y.id) or self.world.is_subclass(y, cls.id) for y in yes]
            if not all(related):
                return None
            yes = (*yes, cls)
        return yes, no

    def _selection(
        self, method: Value, cls: Resolution | None, seen: frozenset[str], known: Layers = ((), ())
    ) -> Node:
        node = self.walker.node("selection", method.ref)
        node.frame = method.frame
        if cls is not None and self.walker.side(cls.module) == "plugin" and node.where == "upstream":
            node.fallback, node.note = True, f"inherited: `{cls.qualname}` does not override it"
        body = self.walker.values.body(method.ref)
        if body is None or method.ref.id in seen:
            return node
        seen = seen | {method.ref.id}
        self._attach(body.node, method.frame)
        for returned, guards in branches(body.node.body):
            kinds = self._layers(guards, method.ref, known)
            if kinds is None:
                continue
            for child in self._returned(returned, method.frame, seen, kinds):
                child.when = child.when or " and ".join(guards)
                node.children.append(child)
        node.children = _merged(node.children)
        return node

    def _attach(self, root: ast.AST, frame: Frame) -> None:
        """``layer.scheme = …`` in a selection: what later calls on the layer's scheme reach."""
        for stmt in ast.walk(root):
            if isinstance(stmt, ast.Assign) and isinstance(stmt.targets[0], ast.Attribute):
                target = stmt.targets[0]
                if dotted(target.value) == "layer" and target.attr in ATTACHED:
                    values = self.walker.values.of(stmt.value, frame)
                    if values:
                        known = self.walker.attached.get(target.attr, ())
                        self.walker.attached[target.attr] = tuple(dict.fromkeys((*known, *values)))

    def _returned(
        self, node: ast.Return, frame: Frame, seen: frozenset[str], known: Layers
    ) -> Iterator[Node]:
        value = node.value
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            path, _ = self.walker.place(frame.function)
            yield Node(
                "selection",
                "None",
                self.walker.side(frame.function.module),
                path,
                node.lineno,
                note="the layer stays as it is",
            )
            return
        if isinstance(value, ast.Call):
            functions = [v for v in self.walker.values.callees(value, frame) if v.form is Form.FUNCTION]
            if functions:
                for function in functions:
                    yield self._selection(function, function.receiver, seen, known)
                return
        found = [v for v in self.walker.values.of(value, frame) if v.form in (Form.INSTANCE, Form.CLASS)]
        for each in found:
            yield self.method(each.ref, by=frame.function)
        if not found:
            path, _ = self.walker.place(frame.function)
            text = ast.unparse(value)[:80]
            self.walker.unresolved.setdefault(f"{path}:{node.lineno} returns {text}")
            yield Node(
                "selection",
                text,
                self.walker.side(frame.function.module),
                path,
                node.lineno,
                note="not followed",
            )

    def method(self, cls: Resolution, *, by: Resolution, inside: bool = False) -> Node:
        """A quantization method: its life from construction to execution."""
        actual = self.walker.effective(cls)
        node = self.walker.node("selected method", actual)
        if actual != cls:
            node.note = f"registered out of tree for {cls.id}"
        elif self.walker.side(by.module) == "plugin" and node.where == "upstream":
            node.fallback, node.note = True, f"`{by.qualname}` of the plugin returns upstream's own class"
        if any(r.value == actual for r in self._ops) and not inside:
            node.note = f"{node.note}; " if node.note else ""
            node.note += f"its own chain follows it: custom op {actual.qualname}"
            return node
        for name in _STAGES:
            step = self.walker.stage(actual, name, 0)
            if step is not None and (step.ends or name == "apply" or _selects(step)):
                node.children.append(step)
        return node

    def op(self, cls: Resolution) -> Node:
        """A custom op or linear kernel: what runs when it is called."""
        node = self.walker.node("effective class", cls)
        dispatched = self.world.class_member(cls, "dispatch_forward") is not None
        names = (
            "__init__",
            "process_weights_after_loading",
            "apply",
            "apply_weights",
            "apply_block_scaled_mm",
        )
        for name in (*names, "forward_oot" if dispatched else "forward"):
            step = self.walker.stage(cls, name, 0)
            if step is not None and (step.ends or name in ("forward_oot", "forward", "apply_weights")):
                node.children.append(step)
        return node

    def backend(self, cls: Resolution) -> Node:
        """An attention backend: its implementation and its metadata builder."""
        node = self.walker.node("effective class", cls)
        for name in ("get_impl_cls", "get_builder_cls"):
            method = self.walker.values.method(cls, name)
            if method is None:
                continue
            for value in self.walker.values.returned(method.frame, None, 0):
                if value.form is Form.CLASS:
                    node.children.append(self._implementation(value.ref, name, cls, method))
        if not node.children:
            for name in ("forward", "run_prefill_new_tokens", "run_prefill_context_chunk"):
                step = self.walker.stage(cls, name, 0)
                if step is not None and step.ends:
                    node.children.append(step)
        return node

    def _implementation(self, cls: Resolution, by: str, backend: Resolution, method: Value) -> Node:
        role = "implementation" if by == "get_impl_cls" else "metadata builder"
        node = self.walker.node(role, cls)
        if self.walker.side(backend.module) == "plugin" and node.where == "upstream":
            node.fallback, node.note = True, f"`{backend.qualname}.{by}` answers with upstream's own class"
        for name in ("forward", "forward_mha", "forward_mqa", "do_kv_cache_update", "build"):
            step = self.walker.stage(cls, name, 0)
            if step is not None and step.ends:
                node.children.append(step)
        return node

    # ---- as records ----

    def _chain(self, item: Registration, roots: list[Node]) -> Chain:
        plugin = self.subject.plugin
        steps: list[ChainStep] = []
        reached = self.startup.reached(item.module, item.line)
        for link in reached.chain:
            role = (
                "entry point"
                if link.what.startswith("entry point") or link.what.startswith("upstream ")
                else "import"
            )
            path = plugin.paths[link.module] if link.module else self._declared(link.what)
            steps.append(
                ChainStep(depth=0, role=role, name=link.what, where="plugin", path=path, line=link.line)
            )
        steps.append(
            ChainStep(
                depth=0,
                role="registration",
                name=f"{item.kind} {item.key}",
                where="plugin",
                path=plugin.paths[item.module],
                line=item.line,
                when=reached.guard,
                note="" if reached.chain else "no import leads here",
            )
        )
        evidence = [self.subject.cite(plugin, item.module, item.line)]
        shown: set[str] = set()
        for depth, node, again in _flat(roots, 0, shown):
            if len(steps) >= _LONGEST:
                break
            note = "shown above" if again else node.note
            steps.append(
                ChainStep(
                    depth=depth,
                    role=node.role,
                    name=node.name,
                    where=node.where,
                    path=node.path,
                    line=node.line,
                    when=node.when,
                    note=note,
                    fallback=node.fallback,
                )
            )
            if node.ref is not None and node.role in _CITED:
                cited = self.subject.cite_definition(node.ref)
                evidence += [cited] if cited else []
        every = list(nodes(roots))
        if len(steps) >= _LONGEST:
            steps.append(ChainStep(depth=0, role="cut", name=f"more than {_LONGEST} steps", where="plugin"))
        return Chain(
            kind=item.kind,
            key=item.key,
            steps=tuple(steps),
            boundaries=self._boundaries(every),
            unresolved=tuple(self.walker.unresolved),
            evidence=tuple(dict.fromkeys(evidence)),
        )

    def _boundaries(self, every: list[Node]) -> tuple[str, ...]:
        """Components outside, those that the plugin itself calls first."""
        own = self.subject.plugin.modules_at
        ends = [n for n in every if n.where == "outside"]
        ordered = sorted(ends, key=lambda n: n.path not in own)
        return tuple(dict.fromkeys(n.name for n in ordered))


def _flat(roots: Iterable[Node], depth: int, shown: set[str]) -> Iterator[tuple[int, Node, bool]]:
    """(depth, node, whether its branch was shown before)."""
    for node in roots:
        again = bool(node.children) and node.name in shown
        yield depth, node, again
        if not again:
            if node.children:
                shown.add(node.name)
            yield from _flat(node.children, depth + 1, shown)


def _merged(children: list[Node]) -> list[Node]:
    """Branches with one outcome as one, under either condition."""
    out: dict[tuple[str, str], Node] = {}
    for child in children:
        known = out.get((child.role, child.name))
        if known is None:
            out[child.role, child.name] = child
        elif child.when and child.when not in known.when.split(" or "):
            known.when = f"{known.when} or {child.when}"
    return list(out.values())


def _selects(node: Node) -> bool:
    return any(n.role == "oracle" for n in nodes(node.children))

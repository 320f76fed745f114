"""What is gathered while a file is walked: definitions, and the calls and attributes in expressions."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Iterable

from tools.code.records import (
    ANY_ATTRIBUTE,
    Assign,
    Call,
    Class,
    Function,
    Import,
    Param,
    ParamKind,
    SelfWrite,
)
from tools.code.source_text import SourceText
from tools.code.syntax import CHILD_FIELDS, dotted, stub

_REGISTRARS = {
    "register_parameter",
    "register_buffer",
    "setattr",
    "add_module",
    "register_module",
    "replace_parameter",
}
_MODULE_GETATTR_ANY = {"import_module", "__import__", "getattr"}


class Frame:
    """What is being gathered about the function or class body at hand."""

    __slots__ = ("arities", "is_class", "is_generator", "params", "reads", "self_name", "writes")

    def __init__(self, params: set[str], self_name: str, *, is_class: bool = False) -> None:
        self.params = params
        self.self_name = self_name
        self.is_class = is_class
        self.is_generator = False
        self.reads: dict[str, int] = {}
        self.writes: list[SelfWrite] = []
        self.arities: set[int] = set()

    def read(self, node: ast.Attribute) -> None:
        value = node.value
        if type(value) is ast.Name and value.id == self.self_name and node.attr not in self.reads:
            self.reads[node.attr] = node.lineno

    def write(self, node: ast.Attribute, line: int, conditional: bool, hint: str) -> bool:
        """Record a store on self; False when it is a store on something else."""
        value = node.value
        if not self.self_name or type(value) is not ast.Name or value.id != self.self_name:
            return False
        self.writes.append(SelfWrite(node.attr, line, conditional, hint))
        return True

    def write_named(self, name: ast.expr, line: int, conditional: bool) -> None:
        """Record a store on self under a name that an expression gives."""
        known = isinstance(name, ast.Constant) and isinstance(name.value, str)
        self.writes.append(SelfWrite(name.value if known else ANY_ATTRIBUTE, line, conditional, ""))  # type: ignore[attr-defined]

    def is_dict(self, node: ast.expr) -> bool:
        """True for ``self.__dict__`` and ``vars(self)``."""
        if isinstance(node, ast.Attribute) and node.attr == "__dict__":
            return self._is_self(node.value)
        if isinstance(node, ast.Call) and dotted(node.func) == "vars" and len(node.args) == 1:
            return self._is_self(node.args[0])
        return False

    def call(self, node: ast.Call, callee: str, scope: str) -> None:
        """Record what a call stores on self: ``setattr(self, …)``, ``self.__dict__.update(…)``."""
        last = callee.rpartition(".")[2]
        if last in ("setattr", "__setattr__"):
            # A class's own __setattr__ passes on what others store.
            if len(node.args) == 3 and self._is_self(node.args[0]) and not scope.endswith(".__setattr__"):
                self.write_named(node.args[1], node.lineno, False)
        elif last == "update" and isinstance(node.func, ast.Attribute) and self.is_dict(node.func.value):
            self.writes.append(SelfWrite(ANY_ATTRIBUTE, node.lineno, False, ""))

    def _is_self(self, node: ast.expr) -> bool:
        return bool(self.self_name) and isinstance(node, ast.Name) and node.id == self.self_name


class Gatherer(ABC):
    """Everything but the order of statements, which a subclass walks."""

    def __init__(self, content: bytes) -> None:
        self.source = SourceText(content)
        self.imports: list[Import] = []
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.assigns: list[Assign] = []
        self.calls: list[Call] = []
        self.attr_stores: set[str] = set()
        self.attr_reads: set[str] = set()
        self.exports: list[str] | None = None
        self.dynamic = False
        self.getattr_names: set[str] | None = None
        self.getattr_any = False
        self.getattr_refs: set[str] = set()

    @abstractmethod
    def block(
        self, body: Iterable[ast.stmt], scope: str, guard: str, owner: Frame | None, *, module_level: bool
    ) -> None:
        """Walk ``body``."""

    @abstractmethod
    def statement(
        self, stmt: ast.stmt, scope: str, guard: str, owner: Frame | None, module_level: bool
    ) -> None:
        """Walk one statement."""

    # ---- definitions ----

    def function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str, guard: str, owner: Frame | None
    ) -> None:
        """Gather a function or method, and walk its body."""
        qualname = f"{scope}.{node.name}" if scope else node.name
        in_class = owner is not None and owner.is_class
        for decorator in node.decorator_list:
            self.expression(decorator, scope, owner)
        args = node.args
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self.expression(default, scope, owner)
        params = self._params(args)
        decorators = tuple(self.source.text(d) for d in node.decorator_list)
        frame = Frame({p.name for p in params}, "")
        if in_class and "staticmethod" not in decorators and params:
            frame.self_name = params[0].name
        elif owner is not None and not owner.is_class:
            # A closure inside a method still means the method's self.
            frame.self_name = owner.self_name
        self.block(node.body, qualname, "", frame, module_level=False)
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        end = node.end_lineno or node.lineno
        if owner is not None and not owner.is_class and frame.self_name:
            owner.reads.update({k: v for k, v in frame.reads.items() if k not in owner.reads})
            owner.writes += frame.writes
        is_stub, raising = stub(node.body)
        self.functions.append(
            Function(
                qualname=qualname,
                line=node.lineno,
                end_line=end,
                params=params,
                returns=self.source.text(node.returns) if node.returns else None,
                decorators=decorators,
                guard=guard,
                text_hash=self.source.text_hash(first, end),
                arities=tuple(sorted(frame.arities)),
                is_async=isinstance(node, ast.AsyncFunctionDef),
                is_generator=frame.is_generator,
                is_stub=is_stub,
                raises_not_implemented=raising,
                self_reads=tuple(frame.reads.items()),
                self_writes=tuple(frame.writes),
                first_line=first,
                in_class=in_class,
                in_function=owner is not None and not owner.is_class,
            )
        )
        if not scope and node.name == "__getattr__":
            self._module_getattr(node)

    def _params(self, args: ast.arguments) -> tuple[Param, ...]:
        positional = [*args.posonlyargs, *args.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults))
        defaults += args.defaults
        out = []
        for index, (arg, default) in enumerate(zip(positional, defaults, strict=True)):
            kind = (
                ParamKind.POSITIONAL_ONLY
                if index < len(args.posonlyargs)
                else ParamKind.POSITIONAL_OR_KEYWORD
            )
            out.append(self._param(arg, kind, default))
        if args.vararg:
            out.append(self._param(args.vararg, ParamKind.VAR_POSITIONAL, None))
        out += [
            self._param(arg, ParamKind.KEYWORD_ONLY, default)
            for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True)
        ]
        if args.kwarg:
            out.append(self._param(args.kwarg, ParamKind.VAR_KEYWORD, None))
        return tuple(out)

    def _param(self, arg: ast.arg, kind: ParamKind, default: ast.expr | None) -> Param:
        return Param(
            arg.arg,
            kind,
            self.source.text(default) if default is not None else None,
            self.source.text(arg.annotation) if arg.annotation is not None else None,
        )

    def class_(self, node: ast.ClassDef, scope: str, guard: str, owner: Frame | None) -> None:
        """Gather a class, and walk its body."""
        qualname = f"{scope}.{node.name}" if scope else node.name
        for expr in (*node.decorator_list, *node.bases):
            self.expression(expr, scope, owner)
        frame = Frame(set(), "", is_class=True)
        outer_assigns, self.assigns = self.assigns, []
        self._class_body(node.body, qualname, "", frame)
        assigns, self.assigns = self.assigns, outer_assigns
        end = node.end_lineno or node.lineno
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        self.classes.append(
            Class(
                qualname=qualname,
                line=node.lineno,
                end_line=end,
                bases=tuple(self.source.text(b) for b in node.bases),
                keywords=tuple((k.arg or "**", self.source.text(k.value)) for k in node.keywords),
                decorators=tuple(self.source.text(d) for d in node.decorator_list),
                guard=guard,
                text_hash=self.source.text_hash(first, end),
                assigns=tuple(assigns),
                in_function=owner is not None and not owner.is_class,
            )
        )

    def _class_body(self, body: Iterable[ast.stmt], qualname: str, guard: str, frame: Frame) -> None:
        exports, self.exports = self.exports, None
        for stmt in body:
            self.statement(stmt, qualname, guard, frame, module_level=True)
        self.exports = exports

    def _module_getattr(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.getattr_names = set()
        for child in ast.walk(node):
            if (
                isinstance(child, ast.Constant)
                and isinstance(child.value, str)
                and child.value.isidentifier()
            ):
                self.getattr_names.add(child.value)
            elif isinstance(child, ast.Name):
                self.getattr_refs.add(child.id)
            elif isinstance(child, ast.Call) and dotted(child.func).rpartition(".")[2] in _MODULE_GETATTR_ANY:
                self.getattr_any = True
            elif isinstance(child, ast.Return) and child.value is not None:
                # Answers something; which names, only its tables and constants can tell.
                self.getattr_any = True

    def _served_names(self) -> tuple[str, ...] | None:
        """Names of ``__getattr__``: its own constants, and the keys of module tables it looks into."""
        if self.getattr_names is None:
            return None
        for assign in self.assigns:
            if assign.name in self.getattr_refs:
                self.getattr_names.update(assign.items)
        return tuple(sorted(self.getattr_names))

    # ---- expressions ----

    def expression(self, root: ast.AST, scope: str, owner: Frame | None) -> None:
        """Gather the calls and attributes below ``root``."""
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name or kind is ast.Constant:
                continue
            if kind is ast.Call:
                self._call(node, scope, owner)  # type: ignore[arg-type]
            elif kind is ast.Attribute:
                self.attr_reads.add(node.attr)  # type: ignore[attr-defined]
                if owner is not None and owner.self_name:
                    owner.read(node)  # type: ignore[arg-type]
            elif kind is ast.Yield or kind is ast.YieldFrom:
                if owner is not None:
                    owner.is_generator = True
            elif kind is ast.Delete:
                continue
            for field in CHILD_FIELDS[kind]:
                value = getattr(node, field, None)
                if value is None:
                    continue
                if type(value) is list:
                    stack.extend([item for item in value if isinstance(item, ast.AST)])
                elif isinstance(value, ast.AST):
                    stack.append(value)

    def _call(self, node: ast.Call, scope: str, owner: Frame | None) -> None:
        callee = dotted(node.func)
        if callee == "?" and type(node.func) is ast.Subscript:
            # ``kernel[grid](…)``: how Triton launches; the mark keeps it from being taken for a name.
            callee = dotted(node.func.value).removesuffix("?") + "?"
        star = False
        for arg in node.args:
            if type(arg) is ast.Starred:
                star = True
        keywords = []
        kwstar = False
        for keyword in node.keywords:
            if keyword.arg is None:
                kwstar = True
            else:
                keywords.append(keyword.arg)
        self.calls.append(
            Call(scope, callee, len(node.args) - star, star, tuple(keywords), kwstar, node.lineno)
        )
        if owner is not None and owner.self_name:
            owner.call(node, callee, scope)
        last = callee.rpartition(".")[2]
        if last in _REGISTRARS:
            for arg in node.args[:2]:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    self.attr_stores.add(arg.value)

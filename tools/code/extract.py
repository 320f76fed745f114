"""One pass over a file's syntax tree -> Module and Calls records.

This runs over some 4,000 files when nothing is cached, so it is written for speed: one explicit stack, one
visit a node, and no ``ast.NodeVisitor``.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Iterable

from tools.code.records import (
    Assign,
    Call,
    Calls,
    Class,
    Function,
    Import,
    Module,
    Param,
    ParamKind,
    SelfWrite,
)

EXTRACTOR_VERSION = 3
"""Part of the cache key: raise it whenever the records of the same file would come out differently."""

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are generated data; they are reported as not read."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FIELDS = {"ctx", "op", "ops", "type_comment", "kind", "conversion", "level", "type_ignores"}
CHILD_FIELDS: dict[type, tuple[str, ...]] = {
    node_type: tuple(f for f in node_type._fields if f not in _SKIPPED_FIELDS)
    for node_type in vars(ast).values()
    if isinstance(node_type, type) and issubclass(node_type, ast.AST)
}
"""Fields of each node type that hold other nodes."""
_REGISTRARS = {
    "register_parameter",
    "register_buffer",
    "setattr",
    "add_module",
    "register_module",
    "replace_parameter",
}
_MODULE_GETATTR_ANY = {"import_module", "__import__", "getattr"}


def dotted(node: ast.AST) -> str:
    """``a.b.c`` for names and attributes; what is neither becomes ``?``; ``super()`` stays ``super()``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
        parts.append("super()")
    else:
        parts.append("?")
    return ".".join(reversed(parts))


def parse(content: bytes) -> ast.Module:
    """The syntax tree of ``content``. Raises SyntaxError or ValueError (null bytes, wrong encoding)."""
    with warnings.catch_warnings():
        # Invalid escapes in files under review are their business, not this program's output.
        warnings.simplefilter("ignore")
        return ast.parse(content)


def extract(content: bytes) -> tuple[Module, Calls]:
    """Records of one file. Never raises for bad input: the module's ``error`` says what is wrong."""
    if len(content) > MAX_BYTES:
        return Module(error=f"larger than {MAX_BYTES} bytes, not read"), Calls()
    try:
        tree = parse(content)
    except SyntaxError as exc:
        return Module(error=f"syntax error: {exc.msg}", error_line=exc.lineno or 1), Calls()
    except (ValueError, RecursionError, MemoryError) as exc:
        return Module(error=f"cannot be parsed: {exc}"), Calls()
    try:
        return _Extractor(content).run(tree)
    except RecursionError:
        return Module(error="nested too deeply to be read"), Calls()


class _Extractor:
    def __init__(self, content: bytes) -> None:
        if content.startswith(b"\xef\xbb\xbf"):
            content = content[3:]
        # The tokenizer's own idea of a line: form feeds and the like do not end one.
        self.lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self.imports: list[Import] = []
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.assigns: list[Assign] = []
        self.calls: list[Call] = []
        self.attr_stores: set[str] = set()
        self.exports: list[str] | None = None
        self.dynamic = False
        self.getattr_names: set[str] | None = None
        self.getattr_any = False
        self.getattr_refs: set[str] = set()

    def run(self, tree: ast.Module) -> tuple[Module, Calls]:
        self._block(tree.body, "", "", None, module_level=True)
        names = self._served_names()
        module = Module(
            imports=tuple(self.imports),
            functions=tuple(self.functions),
            classes=tuple(self.classes),
            assigns=tuple(self.assigns),
            exports=tuple(self.exports) if self.exports is not None else None,
            getattr_names=names,
            getattr_any=self.getattr_any and not names,
            dynamic=self.dynamic,
            attr_stores=tuple(sorted(self.attr_stores)),
            line_count=len(self.lines),
        )
        return module, Calls(tuple(self.calls))

    # ---- text ----

    def text(self, node: ast.expr | None, limit: int = 0) -> str:
        """Source text of ``node`` on one line."""
        if node is None or node.end_lineno is None:
            return ""
        first, last = node.lineno - 1, node.end_lineno - 1
        if first == last:
            raw = self.lines[first][node.col_offset : node.end_col_offset]
        else:
            middle = self.lines[first + 1 : last]
            raw = b" ".join(
                part.strip()
                for part in (
                    self.lines[first][node.col_offset :],
                    *middle,
                    self.lines[last][: node.end_col_offset],
                )
            )
        text = raw.decode("utf-8", "replace")
        return text[:limit] if limit else text

    def text_hash(self, first: int, last: int) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for raw in self.lines[first - 1 : last]:
            line = raw.strip()
            if line and not line.startswith(b"#"):
                digest.update(line + b"\n")
        return digest.hexdigest()

    # ---- statements ----

    def _block(
        self, body: Iterable[ast.stmt], scope: str, guard: str, owner: _Frame | None, *, module_level: bool
    ) -> None:
        for stmt in body:
            self._statement(stmt, scope, guard, owner, module_level)

    def _statement(
        self, stmt: ast.stmt, scope: str, guard: str, owner: _Frame | None, module_level: bool
    ) -> None:
        kind = type(stmt)
        if kind is ast.Import or kind is ast.ImportFrom:
            self._import(stmt, scope, guard)
        elif kind in _FUNCTIONS:
            self._function(stmt, scope, guard, owner)  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            self._class(stmt, scope, guard, owner)  # type: ignore[arg-type]
        elif kind is ast.If:
            assert isinstance(stmt, ast.If)
            self._expr(stmt.test, scope, owner)
            test = self.text(stmt.test, 80)
            typing_only = test.rpartition(".")[2] == "TYPE_CHECKING"
            inner = "TYPE_CHECKING" if typing_only else f"if:{test}"
            other = "" if typing_only else f"else:{test}"
            self._block(stmt.body, scope, _join(guard, inner), owner, module_level=module_level)
            self._block(stmt.orelse, scope, _join(guard, other), owner, module_level=module_level)
        elif kind is ast.Try or kind.__name__ == "TryStar":
            assert isinstance(stmt, ast.Try) or kind.__name__ == "TryStar"
            self._try(stmt, scope, guard, owner, module_level)  # type: ignore[arg-type]
        elif kind is ast.With or kind is ast.AsyncWith:
            for item in stmt.items:  # type: ignore[attr-defined]
                self._expr(item.context_expr, scope, owner)
                if item.optional_vars is not None:
                    self._target(item.optional_vars, None, scope, guard, owner, module_level)
            self._block(stmt.body, scope, guard, owner, module_level=module_level)  # type: ignore[attr-defined]
        elif kind is ast.For or kind is ast.AsyncFor:
            self._expr(stmt.iter, scope, owner)  # type: ignore[attr-defined]
            self._target(stmt.target, None, scope, guard, owner, module_level)  # type: ignore[attr-defined]
            inner = _join(guard, "for")
            self._block(stmt.body, scope, inner, owner, module_level=module_level)  # type: ignore[attr-defined]
            self._block(stmt.orelse, scope, inner, owner, module_level=module_level)  # type: ignore[attr-defined]
        elif kind is ast.While:
            assert isinstance(stmt, ast.While)
            self._expr(stmt.test, scope, owner)
            self._block(stmt.body, scope, _join(guard, "while"), owner, module_level=module_level)
            self._block(stmt.orelse, scope, guard, owner, module_level=module_level)
        elif kind is ast.Match:
            assert isinstance(stmt, ast.Match)
            self._expr(stmt.subject, scope, owner)
            for case in stmt.cases:
                if case.guard is not None:
                    self._expr(case.guard, scope, owner)
                self._block(case.body, scope, _join(guard, "match"), owner, module_level=module_level)
        elif kind is ast.Assign:
            assert isinstance(stmt, ast.Assign)
            self._expr(stmt.value, scope, owner)
            for target in stmt.targets:
                self._target(target, stmt, scope, guard, owner, module_level)
        elif kind is ast.AnnAssign:
            assert isinstance(stmt, ast.AnnAssign)
            if stmt.value is not None:
                self._expr(stmt.value, scope, owner)
            self._target(stmt.target, stmt, scope, guard, owner, module_level)
        elif kind is ast.AugAssign:
            assert isinstance(stmt, ast.AugAssign)
            self._expr(stmt.value, scope, owner)
            if (
                isinstance(stmt.target, ast.Name)
                and stmt.target.id == "__all__"
                and module_level
                and self.exports is not None
            ):
                self.exports += _strings(stmt.value)
            elif isinstance(stmt.target, ast.Attribute):
                self._expr(stmt.target.value, scope, owner)
                if owner is not None:
                    owner.read(stmt.target)
                if owner is None or not owner.write(stmt.target, stmt.lineno, True, ""):
                    self.attr_stores.add(stmt.target.attr)
            else:
                self._expr(stmt.target, scope, owner)
        elif kind is ast.Return:
            assert isinstance(stmt, ast.Return)
            if stmt.value is not None:
                self._expr(stmt.value, scope, owner)
            if owner is not None:
                owner.arities.add(_arity(stmt.value))
        elif kind is ast.Raise:
            assert isinstance(stmt, ast.Raise)
            if stmt.exc is not None:
                self._expr(stmt.exc, scope, owner)
        elif kind is ast.Expr:
            assert isinstance(stmt, ast.Expr)
            self._expr(stmt.value, scope, owner)
            if module_level:
                self._module_expression(stmt.value)
        elif kind is not ast.Pass and kind is not ast.Break and kind is not ast.Continue:
            self._expr(stmt, scope, owner)

    def _try(self, stmt: ast.Try, scope: str, guard: str, owner: _Frame | None, module_level: bool) -> None:
        caught: list[str] = []
        for handler in stmt.handlers:
            if handler.type is None:
                caught.append("BaseException")
            elif isinstance(handler.type, ast.Tuple):
                caught += [dotted(e) for e in handler.type.elts]
            else:
                caught.append(dotted(handler.type))
        inner = _join(guard, "try:" + ",".join(caught)) if caught else guard
        self._block(stmt.body, scope, inner, owner, module_level=module_level)
        for handler in stmt.handlers:
            outer = _join(guard, "except")
            self._block(handler.body, scope, outer, owner, module_level=module_level)
        self._block(stmt.orelse, scope, guard, owner, module_level=module_level)
        self._block(stmt.finalbody, scope, guard, owner, module_level=module_level)

    def _import(self, stmt: ast.stmt, scope: str, guard: str) -> None:
        if isinstance(stmt, ast.Import):
            for alias in stmt.names:
                bound = alias.asname or alias.name.partition(".")[0]
                name = "" if not alias.asname else "."
                self.imports.append(Import(alias.name, name, bound, 0, alias.lineno, scope, guard))
        elif isinstance(stmt, ast.ImportFrom):
            for alias in stmt.names:
                bound = alias.asname or alias.name
                self.imports.append(
                    Import(stmt.module or "", alias.name, bound, stmt.level, alias.lineno, scope, guard)
                )

    def _target(
        self,
        target: ast.expr,
        stmt: ast.Assign | ast.AnnAssign | None,
        scope: str,
        guard: str,
        owner: _Frame | None,
        module_level: bool,
    ) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                self._target(element, None, scope, guard, owner, module_level)
        elif isinstance(target, ast.Starred):
            self._target(target.value, None, scope, guard, owner, module_level)
        elif isinstance(target, ast.Name):
            if module_level:
                self.assigns.append(self._assign(target.id, target.lineno, stmt, guard))
                if target.id == "__all__" and isinstance(stmt, ast.Assign):
                    self.exports = _strings(stmt.value)
        elif isinstance(target, ast.Attribute):
            self._expr(target.value, scope, owner)
            hint = self._hint(stmt, owner) if owner is not None else ""
            if owner is None or not owner.write(target, target.lineno, bool(guard), hint):
                self.attr_stores.add(target.attr)
        else:
            if (
                module_level
                and isinstance(target, ast.Subscript)
                and isinstance(target.value, ast.Call)
                and dotted(target.value.func) in ("globals", "locals", "vars")
            ):
                self.dynamic = True
            self._expr(target, scope, owner)

    def _hint(self, stmt: ast.Assign | ast.AnnAssign | None, owner: _Frame) -> str:
        if isinstance(stmt, ast.AnnAssign):
            return "ann:" + self.text(stmt.annotation)
        if stmt is None:
            return ""
        value = stmt.value
        if isinstance(value, ast.Name) and value.id in owner.params:
            return "param:" + value.id
        if isinstance(value, ast.Call):
            return "call:" + dotted(value.func)
        return ""

    def _assign(self, name: str, line: int, stmt: ast.Assign | ast.AnnAssign | None, guard: str) -> Assign:
        value = stmt.value if stmt is not None else None
        annotation = self.text(stmt.annotation) if isinstance(stmt, ast.AnnAssign) else None
        kind, alias = "", ""
        items: tuple[str, ...] = ()
        if value is not None:
            kind, alias, items = _describe(value)
        return Assign(
            name, line, self.text(value, 200) if value else "", alias, kind, items, annotation, guard
        )

    def _module_expression(self, value: ast.expr) -> None:
        """``__all__.extend([...])`` and ``globals().update(...)``."""
        if not isinstance(value, ast.Call):
            return
        callee = dotted(value.func)
        if callee in ("__all__.extend", "__all__.append") and self.exports is not None and value.args:
            self.exports += _strings(value.args[0])
        elif callee == "exec" or (
            isinstance(value.func, ast.Attribute)
            and value.func.attr == "update"
            and isinstance(value.func.value, ast.Call)
            and dotted(value.func.value.func) in ("globals", "vars")
        ):
            self.dynamic = True

    # ---- definitions ----

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str, guard: str, owner: _Frame | None
    ) -> None:
        qualname = f"{scope}.{node.name}" if scope else node.name
        in_class = owner is not None and owner.is_class
        for decorator in node.decorator_list:
            self._expr(decorator, scope, owner)
        args = node.args
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self._expr(default, scope, owner)
        params = self._params(args)
        decorators = tuple(self.text(d) for d in node.decorator_list)
        frame = _Frame({p.name for p in params}, "")
        if in_class and "staticmethod" not in decorators and params:
            frame.self_name = params[0].name
        elif owner is not None and not owner.is_class:
            # A closure inside a method still means the method's self.
            frame.self_name = owner.self_name
        self._block(node.body, qualname, "", frame, module_level=False)
        first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        end = node.end_lineno or node.lineno
        if owner is not None and not owner.is_class and frame.self_name:
            owner.reads.update({k: v for k, v in frame.reads.items() if k not in owner.reads})
            owner.writes += frame.writes
        stub, raising = _stub(node.body)
        self.functions.append(
            Function(
                qualname=qualname,
                line=node.lineno,
                end_line=end,
                params=params,
                returns=self.text(node.returns) if node.returns else None,
                decorators=decorators,
                guard=guard,
                text_hash=self.text_hash(first, end),
                arities=tuple(sorted(frame.arities)),
                is_async=isinstance(node, ast.AsyncFunctionDef),
                is_generator=frame.is_generator,
                is_stub=stub,
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
            self.text(default) if default is not None else None,
            self.text(arg.annotation) if arg.annotation is not None else None,
        )

    def _class(self, node: ast.ClassDef, scope: str, guard: str, owner: _Frame | None) -> None:
        qualname = f"{scope}.{node.name}" if scope else node.name
        for expr in (*node.decorator_list, *node.bases):
            self._expr(expr, scope, owner)
        frame = _Frame(set(), "", is_class=True)
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
                bases=tuple(self.text(b) for b in node.bases),
                keywords=tuple((k.arg or "**", self.text(k.value)) for k in node.keywords),
                decorators=tuple(self.text(d) for d in node.decorator_list),
                guard=guard,
                text_hash=self.text_hash(first, end),
                assigns=tuple(assigns),
                in_function=owner is not None and not owner.is_class,
            )
        )

    def _class_body(self, body: Iterable[ast.stmt], qualname: str, guard: str, frame: _Frame) -> None:
        exports, self.exports = self.exports, None
        for stmt in body:
            self._statement(stmt, qualname, guard, frame, module_level=True)
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

    def _served_names(self) -> tuple[str, ...] | None:
        """Names of ``__getattr__``: its own constants, and the keys of module tables it looks into."""
        if self.getattr_names is None:
            return None
        for assign in self.assigns:
            if assign.name in self.getattr_refs:
                self.getattr_names.update(assign.items)
        return tuple(sorted(self.getattr_names))

    # ---- expressions ----

    def _expr(self, root: ast.AST, scope: str, owner: _Frame | None) -> None:
        stack = [root]
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind is ast.Name or kind is ast.Constant:
                continue
            if kind is ast.Call:
                self._call(node, scope)  # type: ignore[arg-type]
            elif kind is ast.Attribute:
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

    def _call(self, node: ast.Call, scope: str) -> None:
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
        last = callee.rpartition(".")[2]
        if last in _REGISTRARS:
            for arg in node.args[:2]:
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str):
                    self.attr_stores.add(arg.value)


class _Frame:
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


def _join(outer: str, inner: str) -> str:
    return f"{outer};{inner}" if outer and inner else outer or inner


def _arity(value: ast.expr | None) -> int:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return 0
    if isinstance(value, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in value.elts):
        return len(value.elts)
    return -1


def _strings(node: ast.expr) -> list[str]:
    """String elements of list, tuple and set displays, also added together."""
    if isinstance(node, ast.BinOp):
        return _strings(node.left) + _strings(node.right)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return []


def _describe(value: ast.expr) -> tuple[str, str, tuple[str, ...]]:
    """(kind, alias, items) of an assigned value."""
    if isinstance(value, ast.Name | ast.Attribute):
        name = dotted(value)
        return "", ("" if "?" in name else name), ()
    if isinstance(value, ast.Dict):
        keys = tuple(k.value for k in value.keys if isinstance(k, ast.Constant) and isinstance(k.value, str))
        return "dict", "", keys
    if isinstance(value, ast.List | ast.Tuple | ast.Set):
        return type(value).__name__.lower(), "", tuple(_strings(value))
    if isinstance(value, ast.Constant):
        return type(value.value).__name__, "", ((value.value,) if isinstance(value.value, str) else ())
    if isinstance(value, ast.Call):
        return "call:" + dotted(value.func), "", ()
    return "", "", ()


def _stub(body: list[ast.stmt]) -> tuple[bool, bool]:
    """(is a stub, raises NotImplementedError and does nothing else)."""
    rest = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    rest = [s for s in rest if not isinstance(s, ast.Pass)]
    if not rest:
        return True, False
    if len(rest) == 1 and isinstance(rest[0], ast.Raise) and rest[0].exc is not None:
        exc = rest[0].exc
        name = dotted(exc.func if isinstance(exc, ast.Call) else exc)
        if name == "NotImplementedError":
            return True, True
    return False, False

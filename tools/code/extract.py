"""One pass over a file's syntax tree -> Module and Calls records.

This runs over some 4,000 files when nothing is cached, so it is written for speed: one explicit stack, one
visit a node, and no ``ast.NodeVisitor``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tools.code.gathering import Frame, Gatherer
from tools.code.records import Assign, Calls, Import, Module
from tools.code.syntax import arity, describe, dotted, join_guards, parse, strings, suppressed

EXTRACTOR_VERSION = 6
"""Part of the cache key: raise it whenever the records of the same file would come out differently."""

MAX_BYTES = 4 * 1024 * 1024
"""Larger files are generated data; they are reported as not read."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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


class _Extractor(Gatherer):
    def run(self, tree: ast.Module) -> tuple[Module, Calls]:
        self.block(tree.body, "", "", None, module_level=True)
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
            attr_reads=" ".join(sorted(self.attr_reads)),
            line_count=len(self.source.lines),
        )
        return module, Calls(tuple(self.calls))

    # ---- statements ----

    def block(
        self, body: Iterable[ast.stmt], scope: str, guard: str, owner: Frame | None, *, module_level: bool
    ) -> None:
        for stmt in body:
            self.statement(stmt, scope, guard, owner, module_level)

    def statement(
        self, stmt: ast.stmt, scope: str, guard: str, owner: Frame | None, module_level: bool
    ) -> None:
        kind = type(stmt)
        if kind is ast.Import or kind is ast.ImportFrom:
            self._import(stmt, scope, guard)
        elif kind in _FUNCTIONS:
            self.function(stmt, scope, guard, owner)  # type: ignore[arg-type]
        elif kind is ast.ClassDef:
            self.class_(stmt, scope, guard, owner)  # type: ignore[arg-type]
        elif kind is ast.If:
            assert isinstance(stmt, ast.If)
            self.expression(stmt.test, scope, owner)
            test = self.source.text(stmt.test, 80)
            typing_only = test.rpartition(".")[2] == "TYPE_CHECKING"
            inner = "TYPE_CHECKING" if typing_only else f"if:{test}"
            other = "" if typing_only else f"else:{test}"
            self.block(stmt.body, scope, join_guards(guard, inner), owner, module_level=module_level)
            self.block(stmt.orelse, scope, join_guards(guard, other), owner, module_level=module_level)
        elif kind is ast.Try or kind.__name__ == "TryStar":
            assert isinstance(stmt, ast.Try) or kind.__name__ == "TryStar"
            self._try(stmt, scope, guard, owner, module_level)  # type: ignore[arg-type]
        elif kind is ast.With or kind is ast.AsyncWith:
            caught = []
            for item in stmt.items:  # type: ignore[attr-defined]
                caught += suppressed(item.context_expr)
                self.expression(item.context_expr, scope, owner)
                if item.optional_vars is not None:
                    self._target(item.optional_vars, None, scope, guard, owner, module_level)
            inner = join_guards(guard, "try:" + ",".join(caught)) if caught else guard
            self.block(stmt.body, scope, inner, owner, module_level=module_level)  # type: ignore[attr-defined]
        elif kind is ast.For or kind is ast.AsyncFor:
            self.expression(stmt.iter, scope, owner)  # type: ignore[attr-defined]
            self._target(stmt.target, None, scope, guard, owner, module_level)  # type: ignore[attr-defined]
            inner = join_guards(guard, "for")
            self.block(stmt.body, scope, inner, owner, module_level=module_level)  # type: ignore[attr-defined]
            self.block(stmt.orelse, scope, inner, owner, module_level=module_level)  # type: ignore[attr-defined]
        elif kind is ast.While:
            assert isinstance(stmt, ast.While)
            self.expression(stmt.test, scope, owner)
            self.block(stmt.body, scope, join_guards(guard, "while"), owner, module_level=module_level)
            self.block(stmt.orelse, scope, guard, owner, module_level=module_level)
        elif kind is ast.Match:
            assert isinstance(stmt, ast.Match)
            self.expression(stmt.subject, scope, owner)
            for case in stmt.cases:
                if case.guard is not None:
                    self.expression(case.guard, scope, owner)
                self.block(case.body, scope, join_guards(guard, "match"), owner, module_level=module_level)
        elif kind is ast.Assign:
            assert isinstance(stmt, ast.Assign)
            self.expression(stmt.value, scope, owner)
            for target in stmt.targets:
                self._target(target, stmt, scope, guard, owner, module_level)
        elif kind is ast.AnnAssign:
            assert isinstance(stmt, ast.AnnAssign)
            if stmt.value is not None:
                self.expression(stmt.value, scope, owner)
            self._target(stmt.target, stmt, scope, guard, owner, module_level)
        elif kind is ast.AugAssign:
            assert isinstance(stmt, ast.AugAssign)
            self.expression(stmt.value, scope, owner)
            if (
                isinstance(stmt.target, ast.Name)
                and stmt.target.id == "__all__"
                and module_level
                and self.exports is not None
            ):
                self.exports += strings(stmt.value)
            elif isinstance(stmt.target, ast.Attribute):
                self.expression(stmt.target.value, scope, owner)
                if owner is not None:
                    owner.read(stmt.target)
                if owner is None or not owner.write(stmt.target, stmt.lineno, True, ""):
                    self.attr_stores.add(stmt.target.attr)
            else:
                self.expression(stmt.target, scope, owner)
        elif kind is ast.Return:
            assert isinstance(stmt, ast.Return)
            if stmt.value is not None:
                self.expression(stmt.value, scope, owner)
            if owner is not None:
                owner.arities.add(arity(stmt.value))
        elif kind is ast.Raise:
            assert isinstance(stmt, ast.Raise)
            if stmt.exc is not None:
                self.expression(stmt.exc, scope, owner)
        elif kind is ast.Expr:
            assert isinstance(stmt, ast.Expr)
            self.expression(stmt.value, scope, owner)
            if module_level:
                self._module_expression(stmt.value)
        elif kind is not ast.Pass and kind is not ast.Break and kind is not ast.Continue:
            self.expression(stmt, scope, owner)

    def _try(self, stmt: ast.Try, scope: str, guard: str, owner: Frame | None, module_level: bool) -> None:
        caught: list[str] = []
        for handler in stmt.handlers:
            if handler.type is None:
                caught.append("BaseException")
            elif isinstance(handler.type, ast.Tuple):
                caught += [dotted(e) for e in handler.type.elts]
            else:
                caught.append(dotted(handler.type))
        inner = join_guards(guard, "try:" + ",".join(caught)) if caught else guard
        self.block(stmt.body, scope, inner, owner, module_level=module_level)
        for handler in stmt.handlers:
            outer = join_guards(guard, "except")
            self.block(handler.body, scope, outer, owner, module_level=module_level)
        self.block(stmt.orelse, scope, guard, owner, module_level=module_level)
        self.block(stmt.finalbody, scope, guard, owner, module_level=module_level)

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
        owner: Frame | None,
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
                    self.exports = strings(stmt.value)
        elif isinstance(target, ast.Attribute):
            self.expression(target.value, scope, owner)
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
            if owner is not None and isinstance(target, ast.Subscript) and owner.is_dict(target.value):
                owner.write_named(target.slice, target.lineno, bool(guard))
            self.expression(target, scope, owner)

    def _hint(self, stmt: ast.Assign | ast.AnnAssign | None, owner: Frame) -> str:
        if isinstance(stmt, ast.AnnAssign):
            return "ann:" + self.source.text(stmt.annotation)
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
        annotation = self.source.text(stmt.annotation) if isinstance(stmt, ast.AnnAssign) else None
        kind, alias = "", ""
        items: tuple[str, ...] = ()
        if value is not None:
            kind, alias, items = describe(value)
        return Assign(
            name, line, self.source.text(value, 200) if value else "", alias, kind, items, annotation, guard
        )

    def _module_expression(self, value: ast.expr) -> None:
        """``__all__.extend([...])`` and ``globals().update(...)``."""
        if not isinstance(value, ast.Call):
            return
        callee = dotted(value.func)
        if callee in ("__all__.extend", "__all__.append") and self.exports is not None and value.args:
            self.exports += strings(value.args[0])
        elif callee == "exec" or (
            isinstance(value.func, ast.Attribute)
            and value.func.attr == "update"
            and isinstance(value.func.value, ast.Call)
            and dotted(value.func.value.func) in ("globals", "vars")
        ):
            self.dynamic = True

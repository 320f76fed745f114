"""A walk through the plugin's code in the order in which Python would run it at start.

Imports are followed into the plugin's own modules (parents first), calls into its own functions, ``if`` into
both branches. Nothing is evaluated: what stands under a condition is marked with it. Statements that are told
to raise unwind to the first handler that catches them, as at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tools.code.syntax import dotted
from tools.code.world import Resolution, World
from tools.registry.bodies import Bodies, callee
from tools.registry.importing import absolute, first_binding, loop_imports
from tools.registry.successors import successors
from tools.registry.trace import Executed, Fault, Raised, Resolved, Site, Step, catches

_DEPTH = 60
"""Longest chain of imports and calls that is followed."""


class Execution:
    """One start. ``faults`` raise where they stand; with ``certain`` only outside of conditions."""

    def __init__(
        self, world: World, bodies: Bodies, resolved: Resolved, faults: Mapping[Site, Fault], *, certain: bool
    ) -> None:
        self.world, self.plugin, self.bodies = world, world.plugin, bodies
        self._resolved = resolved
        self.faults, self.certain = faults, certain
        self.statements: dict[Site, Executed] = {}
        self.modules: dict[str, tuple[Step, ...]] = {}
        """Modules whose execution began -> chain; in order."""
        self.failed: dict[str, Fault] = {}
        self.raised: list[tuple[Fault, tuple[Step, ...]]] = []
        self.returned: list[tuple[str, Site]] = []
        """Strings returned by functions that were entered through :meth:`call`."""
        self._guards_of: dict[str, tuple[str, ...]] = {}
        self._functions: dict[tuple[str, str], tuple[str, ...]] = {}
        self._functions_raised: dict[tuple[str, str], Fault] = {}
        self._guards: list[str] = []
        self._chain: list[Step] = []
        self._running: dict[str, int] = {}
        """Modules being executed -> line that is being executed."""

    # ---- entry ----

    @contextmanager
    def step(self, step: Step) -> Iterator[None]:
        """Everything inside is reached through ``step``."""
        self._chain.append(step)
        try:
            yield
        finally:
            self._chain.pop()

    def load(self, module: str, step: Step) -> None:
        """Imports ``module`` and its parents. Raises Raised."""
        tree = self.world.tree(module)
        if tree is not self.plugin or len(self._chain) > _DEPTH:
            return
        if module not in self.plugin and not self.certain:
            # What the plugin means to do: the import stands for the module that took its place.
            meant = successors(self.plugin, module)
            module = meant[0] if len(meant) == 1 else module
        parts = module.split(".")
        start = len(self.plugin.package.split("."))
        with self.step(step):
            for cut in range(start, len(parts) + 1):
                name = ".".join(parts[:cut])
                if name in self.plugin:
                    self._load_one(name)

    def call(self, function: Resolution, step: Step) -> None:
        """Runs the body of a function of the plugin. Raises Raised."""
        key = (function.module, function.qualname)
        guards = tuple(self._guards)
        if len(self._chain) > _DEPTH or not self._worth(self._functions.get(key), guards):
            if key in self._functions_raised:
                raise Raised(self._functions_raised[key])
            return
        node = self.bodies.definition(function.module, function.qualname)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return
        self._functions[key] = guards
        with self.step(step):
            try:
                self._block(node.body, function.module, function.qualname)
            except Raised as raised:
                self._functions_raised[key] = raised.fault
                raise

    @staticmethod
    def _worth(before: tuple[str, ...] | None, now: tuple[str, ...]) -> bool:
        """Whether to walk again: never seen, or seen under conditions and now without."""
        return before is None or bool(before and not now)

    def _load_one(self, module: str) -> None:
        if module in self.failed:
            raise Raised(self.failed[module])
        guards = tuple(self._guards)
        if module in self._running or not self._worth(self._guards_of.get(module), guards):
            return
        self._guards_of[module] = guards
        self.modules[module] = tuple(self._chain)
        if module not in self.plugin.paths:
            return
        record = self.plugin.modules[module]
        try:
            if record.error:
                self._raise(Fault(module, record.error_line, "SyntaxError", record.error))
            self._running[module] = 0
            self._block(self.plugin.syntax(module).body, module, "")
        except Raised as raised:
            self.failed[module] = raised.fault
            raise
        finally:
            self._running.pop(module, None)

    # ---- statements ----

    def _raise(self, fault: Fault) -> None:
        self.raised.append((fault, tuple(self._chain)))
        raise Raised(fault)

    def _reach(self, module: str, scope: str, first: int, last: int) -> None:
        """Records lines as executed, and raises where a fault stands on one of them."""
        if not scope and module in self._running:
            self._running[module] = first
        seen = self.statements.get((module, first))
        guards = tuple(self._guards)
        if seen is None or (seen.guards and not guards):
            order = seen.order if seen is not None else len(self.statements)
            self.statements[(module, first)] = Executed(order, last, guards, tuple(self._chain))
        if self.faults and not (self.certain and guards):
            for line in range(first, last + 1):
                fault = self.faults.get((module, line))
                if fault is not None:
                    self._raise(fault)

    def _block(self, body: list[ast.stmt], module: str, scope: str) -> str:
        """'' when the end is reached, 'stop' after ``return``, 'maybe' when only some paths return."""
        pushed = 0
        try:
            for stmt in body:
                flow = self._statement(stmt, module, scope)
                if flow == "stop":
                    return "maybe" if pushed else "stop"
                if flow == "maybe":
                    self._guards.append(f"no return before line {stmt.lineno}")
                    pushed += 1
        finally:
            del self._guards[len(self._guards) - pushed :]
        return "maybe" if pushed else ""

    def _branch(self, guard: str, body: list[ast.stmt], module: str, scope: str) -> str:
        self._guards.append(guard)
        try:
            return self._block(body, module, scope)
        finally:
            self._guards.pop()

    def _statement(self, stmt: ast.stmt, module: str, scope: str) -> str:
        if isinstance(stmt, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._definition(stmt, module, scope)
            return ""
        if isinstance(stmt, ast.Try | ast.TryStar):
            return self._try(stmt, module, scope)
        body = getattr(stmt, "body", None)
        if isinstance(body, list) or isinstance(stmt, ast.Match):
            inner = body if isinstance(body, list) else stmt.cases  # type: ignore[attr-defined]
            first_inner = getattr(inner[0], "lineno", stmt.lineno)
            self._reach(module, scope, stmt.lineno, max(stmt.lineno, first_inner - 1))
            return self._compound(stmt, module, scope)
        self._reach(module, scope, stmt.lineno, stmt.end_lineno or stmt.lineno)
        if isinstance(stmt, ast.Import | ast.ImportFrom):
            self._import(stmt, module, scope)
            return ""
        self._expression(stmt, module, scope)
        if isinstance(stmt, ast.Return):
            if isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str):
                self.returned.append((stmt.value.value, (module, stmt.lineno)))
            return "stop"
        if isinstance(stmt, ast.Raise) and not self._guards:
            self._raise(Fault(module, stmt.lineno, dotted(stmt.exc) if stmt.exc else "", "raise statement"))
        return "stop" if isinstance(stmt, ast.Raise) else ""

    def _compound(self, stmt: ast.stmt, module: str, scope: str) -> str:
        if isinstance(stmt, ast.If):
            self._expression(stmt.test, module, scope)
            test = ast.unparse(stmt.test)
            if test in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "False"):
                return self._block(stmt.orelse, module, scope)
            if test in ("not TYPE_CHECKING", "not typing.TYPE_CHECKING", "True"):
                return self._block(stmt.body, module, scope)
            flows = {
                self._branch(f"if {test}", stmt.body, module, scope),
                self._branch(f"not ({test})", stmt.orelse, module, scope),
            }
            # A branch that raises is the way out for an error, not a way on.
            if stmt.body and isinstance(stmt.body[-1], ast.Raise):
                return ""
            return flows.pop() if len(flows) == 1 else "maybe"
        if isinstance(stmt, ast.With | ast.AsyncWith):
            for item in stmt.items:
                self._expression(item.context_expr, module, scope)
            return self._block(stmt.body, module, scope)
        if isinstance(stmt, ast.For | ast.AsyncFor):
            self._expression(stmt.iter, module, scope)
            for name in loop_imports(self.plugin, module, stmt):
                self.load(name, Step(module, stmt.lineno, f"imports {name}"))
            flow = self._block(stmt.body, module, scope)
            self._block(stmt.orelse, module, scope)
            return "maybe" if flow else ""
        if isinstance(stmt, ast.While):
            self._expression(stmt.test, module, scope)
            return (
                "maybe" if self._branch(f"while {ast.unparse(stmt.test)}", stmt.body, module, scope) else ""
            )
        assert isinstance(stmt, ast.Match)
        self._expression(stmt.subject, module, scope)
        flows = {self._branch("match", case.body, module, scope) for case in stmt.cases}
        return "maybe" if flows - {""} else ""

    def _try(self, stmt: ast.Try | ast.TryStar, module: str, scope: str) -> str:
        caught = False
        flow = ""
        try:
            flow = self._block(stmt.body, module, scope)
        except Raised as raised:
            handler = next((h for h in stmt.handlers if catches(h, raised.fault)), None)
            if handler is None:
                self._block(stmt.finalbody, module, scope)
                raise
            caught = True
            if handler.body and isinstance(handler.body[-1], ast.Raise):
                self._block(handler.body[:-1], module, scope)
                self._block(stmt.finalbody, module, scope)
                raise
            self._block(handler.body, module, scope)
        if not caught:
            for handler in stmt.handlers:
                kind = ast.unparse(handler.type) if handler.type is not None else "anything"
                self._branch(f"except {kind}", handler.body, module, scope)
            flow = flow or self._block(stmt.orelse, module, scope)
        self._block(stmt.finalbody, module, scope)
        return "maybe" if flow == "stop" and any(h.body for h in stmt.handlers) else flow

    def _definition(
        self, stmt: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, module: str, scope: str
    ) -> None:
        for decorator in stmt.decorator_list:
            self._reach(module, scope, decorator.lineno, decorator.end_lineno or decorator.lineno)
            self._expression(decorator, module, scope)
            if not isinstance(decorator, ast.Call):
                self._called(dotted(decorator), decorator.lineno, module, scope)
        self._reach(module, scope, stmt.lineno, max(stmt.lineno, stmt.body[0].lineno - 1))
        if isinstance(stmt, ast.ClassDef):
            self._block(stmt.body, module, f"{scope}.{stmt.name}" if scope else stmt.name)

    # ---- imports and calls ----

    def _import(self, stmt: ast.Import | ast.ImportFrom, module: str, scope: str) -> None:
        for alias in stmt.names:
            if isinstance(stmt, ast.Import):
                self.load(alias.name, Step(module, alias.lineno, f"imports {alias.name}"))
                continue
            source = absolute(self.plugin, module, stmt)
            if self.world.tree(source) is not self.plugin:
                continue
            step = Step(module, alias.lineno, f"imports {source}")
            self.load(source, step)
            if alias.name == "*" or source not in self.plugin:
                continue
            space = self.plugin.namespace(source)
            submodule = f"{source}.{alias.name}"
            bindings = space.names.get(alias.name)
            if submodule in self.plugin and (bindings is None or bindings.imports):
                self.load(submodule, Step(module, alias.lineno, f"imports {submodule}"))
            elif source in self._running and source != module:
                self._partly(source, alias.name, module, alias.lineno)

    def _partly(self, source: str, name: str, module: str, line: int) -> None:
        """``from source import name`` while ``source`` is still being executed."""
        bound = None if self._guards else first_binding(self.plugin, source, name)
        if bound is not None and bound > self._running[source]:
            reason = f"cannot import name {name!r} from partially initialized module {source!r}"
            self._raise(Fault(module, line, "ImportError", reason))

    def _expression(self, root: ast.AST, module: str, scope: str) -> None:
        for call in self.bodies.calls(root):
            for name in call.imports:
                self.load(name, Step(module, call.line, f"imports {name}"))
            self._called(call.name, call.line, module, scope)

    def _called(self, name: str, line: int, module: str, scope: str) -> None:
        key = (module, scope, name)
        if key not in self._resolved:
            self._resolved[key] = callee(self.world, name, module, scope)
        found = self._resolved[key]
        if found is not None:
            self.call(found, Step(module, line, f"calls {found.qualname}"))

"""Tables that upstream looks registrations up in: what each key means in one upstream tree."""

from __future__ import annotations

import ast
import re

from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.registry.subject import Subject

_OP_BASES = ("CustomOp", "PluggableLayer")
_OP_CALL = re.compile(rb"direct_register_custom_op\(\s*(?:op_name\s*=\s*)?[\"']([\w:]+)[\"']")


class Lookups:
    """Of one upstream; each table is read when it is first asked for."""

    def __init__(self, subject: Subject) -> None:
        self.world, self.upstream = subject.world, subject.upstream
        self._methods: dict[str, str] | None = None
        self._models: dict[str, str] | None = None
        self._torch_ops: dict[str, tuple[str, int]] | None = None
        self._named: dict[str, list[Resolution]] | None = None

    # ---- custom ops ----

    def classes_named(self, name: str) -> list[Resolution]:
        """Upstream classes whose ``__name__`` is ``name``."""
        if self._named is None:
            self._named = {}
            for module, cls in self.upstream.classes():
                found = Resolution(Kind.CLASS, module, cls.qualname)
                self._named.setdefault(cls.qualname.rpartition(".")[2], []).append(found)
        return self._named.get(name, [])

    def op_classes(self, name: str) -> list[Resolution]:
        """Upstream classes called ``name`` for which a replacement is looked up when they are constructed."""
        return [c for c in self.classes_named(name) if self.is_op(c)]

    def is_op(self, cls: Resolution) -> bool:
        """True when a base looks replacements up, or when that cannot be excluded."""
        mro = self.world.mro(cls)
        named = any(c.qualname in _OP_BASES for c in mro.classes)
        unread = mro.opaque and any(c.kind in (Kind.DYNAMIC, Kind.GENERATED) for c in mro.classes)
        return named or unread

    def op_of_name(self, name: str) -> Resolution | None:
        """The upstream class that ``CustomOp.register(name)`` decorates: its in-tree name, not a key."""
        wanted = {f'"{name}"', f"'{name}'"}
        for module, cls in self.upstream.classes():
            for decorator in cls.decorators:
                callee, _, rest = decorator.partition("(")
                if callee.endswith(".register") and rest.rstrip(") ").strip() in wanted:
                    return Resolution(Kind.CLASS, module, cls.qualname)
        return None

    # ---- quantization ----

    @property
    def methods(self) -> dict[str, str]:
        """Quantization method -> dotted name of upstream's class, '' where only the name is listed."""
        if self._methods is None:
            self._methods = self._read_methods()
        return self._methods

    def _read_methods(self) -> dict[str, str]:
        module = f"{self.upstream.package}.model_executor.layers.quantization"
        record = self.upstream.modules.get(module)
        if record is None or record.error:
            return {}
        out: dict[str, str] = {}
        for node in ast.walk(self.upstream.syntax(module)):
            if isinstance(node, ast.Subscript) and dotted(node.value).endswith("Literal"):
                listed = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                out |= {str(e.value): "" for e in listed if isinstance(e, ast.Constant)}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(dotted(t) == "QUANTIZATION_METHODS" for t in targets) and isinstance(
                    node.value, ast.List | ast.Dict
                ):
                    keys = node.value.elts if isinstance(node.value, ast.List) else node.value.keys
                    out |= {str(k.value): "" for k in keys if isinstance(k, ast.Constant)}
                elif isinstance(node.value, ast.Dict) and any(
                    "method_to_config" in dotted(t) for t in targets
                ):
                    for key, value in zip(node.value.keys, node.value.values, strict=True):
                        if isinstance(key, ast.Constant):
                            found = self.world.name(module, "get_quantization_config", dotted(value))
                            out[str(key.value)] = found.id if found.kind is Kind.CLASS else dotted(value)
        return out

    # ---- attention backends ----

    def members(self, enum: Resolution) -> dict[str, str] | None:
        """Members of an enum -> text of their values; None where the class cannot be read."""
        record = self.world.class_record(enum) if enum.kind is Kind.CLASS else None
        if record is None:
            return None
        return {a.name: a.value for a in record.assigns if not a.name.startswith("_")}

    # ---- models ----

    @property
    def models(self) -> dict[str, str]:
        """Architecture -> ``module:Class`` of upstream's own."""
        if self._models is None:
            self._models = {}
            module = f"{self.upstream.package}.model_executor.models.registry"
            record = self.upstream.modules.get(module)
            if record is not None and not record.error:
                for node in self.upstream.syntax(module).body:
                    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
                        self._models |= self._model_table(node.value)
        return self._models

    def _model_table(self, table: ast.Dict) -> dict[str, str]:
        out: dict[str, str] = {}
        prefix = f"{self.upstream.package}.model_executor.models"
        for key, value in zip(table.keys, table.values, strict=True):
            if not isinstance(key, ast.Constant) or not isinstance(value, ast.Tuple) or len(value.elts) != 2:
                continue
            parts = [e.value for e in value.elts if isinstance(e, ast.Constant)]
            if len(parts) == 2:
                module = str(parts[0])
                whole = module if module.startswith(self.upstream.package + ".") else f"{prefix}.{module}"
                out[str(key.value)] = f"{whole}:{parts[1]!s}"
        return out

    # ---- torch ops ----

    def importers(self, name: str) -> list[str]:
        """Upstream modules that import something called ``name`` at module level."""
        return sorted(
            module
            for module, record in self.upstream.modules.items()
            if any(i.name == name and not i.scope for i in record.imports)
        )

    @property
    def torch_ops(self) -> dict[str, tuple[str, int]]:
        """Name of an op in upstream's own library -> (module, line) that defines it."""
        if self._torch_ops is None:
            self._torch_ops = {}
            for module in self.importers("direct_register_custom_op"):
                content = self.upstream.snapshot.read(self.upstream.paths[module])
                for match in _OP_CALL.finditer(content):
                    line = content.count(b"\n", 0, match.start()) + 1
                    name = match.group(1).decode()
                    key = name if "::" in name else f"{self.upstream.package}::{name}"
                    self._torch_ops.setdefault(key, (module, line))
        return self._torch_ops


def lookups_of(subject: Subject) -> Lookups:
    """The tables of this upstream; one object for a context."""
    found = subject.shared.get("lookups")
    if not isinstance(found, Lookups):
        found = subject.shared["lookups"] = Lookups(subject)
    return found

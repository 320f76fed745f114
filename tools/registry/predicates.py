"""What functions accept and refuse: lists of supported values, conditions before ``raise``, ``assert``, ``False``.

Only what is written is read. A condition is quoted as it stands and sorted into the dimensions that its words
name; one that names none says nothing about a configuration.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from tools.code.syntax import dotted
from tools.code.world import Kind, Resolution
from tools.findings import SupportFact
from tools.registry.subject import Subject
from tools.registry.values import Values

Maker = Callable[[str, bool, str, int], tuple[str, SupportFact]]
"""Of dimension, verdict, text and line."""
DIMENSIONS = (
    "format",
    "symmetry",
    "group size",
    "activation",
    "activation order",
    "bias",
    "device",
    "parallel mode",
    "backend",
)
_WORDS = {
    "format": re.compile(
        r"bits|weight_type|quant_type|\bformat\b|strategy|serialized|weight_key|scheme\b|TYPE_MAP|QUANT_TYPES|"
        r"quant_method\b|weight_dtype|store_dtype|fp8|int8|int4|_supports_quant_scheme"
    ),
    "symmetry": re.compile(
        r"(?<![a-z])(is_)?sym(metric)?(?![a-z])|zero_?point|qzeros|(?<![a-z])a?zp(?![a-z])"
    ),
    "group size": re.compile(
        r"group_size|group_shape|block_size|block_shape|block_[nk]\b|per_channel|channelwise"
    ),
    "activation": re.compile(
        r"activation(?!_?order|_format)|act_type|act_dtype|act_and_mul|input_quant|input_dtype|act_quant|per_act_token"
    ),
    "activation order": re.compile(r"act_?order|desc_act|g_idx"),
    "bias": re.compile(r"(?<!un)bias"),
    "device": re.compile(
        r"capability|current_platform|current_device|is_cuda|device_(type|name)|is_available"
    ),
    "parallel mode": re.compile(
        r"parallel|tp_size|ep_size|use_ep\b|expert_map|partition_weight|full_weight|shard|world_size|all2all|eplb|dp_size"
    ),
    "backend": re.compile(r"backend|marlin|cutlass|exllama|activation_format|BatchedExperts"),
}
_PREDICATE = re.compile(r"^_?(supports?_|is_supported|can_implement|is_.*supported|supported_)")
_EXISTS = re.compile(r"^(not )?[\w.]+( is (not )?None)?$|^isinstance\([^()]*\)$|^hasattr\(")


_SHAPES = re.compile(r"\.size\(|\.shape|\.ndim|\.dim\(|\.stride\(|\blen\(|is_contiguous|\.device\b|\.numel")
"""Conditions on tensors at hand: they guard the code's own assumptions, not what a user may configure."""
_TEXTS = re.compile(r"'[^']*'|\"[^\"]*\"")


def dimensions(text: str) -> list[str]:
    """Dimensions that the words of a condition name; what stands in quotes names none."""
    if _SHAPES.search(text):
        return []
    plain = _TEXTS.sub("", text)
    return [name for name in DIMENSIONS if _WORDS[name].search(plain)]


class Predicates:
    """Over the functions of one subject."""

    def __init__(self, subject: Subject, values: Values) -> None:
        self.subject, self.world, self.values = subject, subject.world, values
        self._known: dict[tuple[str, str], list[tuple[str, SupportFact]]] = {}

    def of(self, function: Resolution, stage: str) -> list[tuple[str, SupportFact]]:
        """(dimension, fact) for everything that ``function`` accepts or refuses."""
        key = (function.id, stage)
        if key not in self._known:
            self._known[key] = list(self._read(function, stage))
        return self._known[key]

    def _read(self, function: Resolution, stage: str) -> Iterator[tuple[str, SupportFact]]:
        body = self.values.body(function)
        tree = self.world.tree(function.module)
        if body is None or tree is None:
            return
        name = function.qualname.rpartition(".")[2]
        path = tree.paths[function.module]

        def fact(dimension: str, accepts: bool, text: str, line: int) -> tuple[str, SupportFact]:
            made = SupportFact(
                accepts=accepts, text=text, path=path, line=line, symbol=function.qualname, stage=stage
            )
            return dimension, made

        if name in ("get_supported_act_dtypes", "get_min_capability"):
            for node in ast.walk(body.node):
                if isinstance(node, ast.Return) and node.value is not None:
                    text = ast.unparse(node.value)
                    if name == "get_min_capability":
                        yield fact("device", True, f"capability {text} or more", node.lineno)
                    else:
                        yield fact("activation", True, f"dtypes {text}", node.lineno)
            return
        predicate = bool(_PREDICATE.match(name))
        own = dimensions(name)
        for stmt, guards in _statements(body.node.body, ()):
            if isinstance(stmt, ast.Assert):
                text = ast.unparse(stmt.test)
                if not _EXISTS.match(text):
                    for dimension in dimensions(text):
                        yield fact(dimension, False, f"unless {_short(text)}", stmt.lineno)
            elif isinstance(stmt, ast.Raise) and guards:
                text = guards[-1]
                for dimension in dimensions(text) if not _EXISTS.match(text) else ():
                    yield fact(dimension, False, f"when {_short(text)}", stmt.lineno)
            elif isinstance(stmt, ast.Return) and predicate and stmt.value is not None:
                yield from self._answer(stmt.value, guards, own, fact)

    @staticmethod
    def _answer(
        value: ast.expr, guards: tuple[str, ...], own: list[str], fact: Maker
    ) -> Iterator[tuple[str, SupportFact]]:
        first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
        when = guards[-1] if guards else ""
        if isinstance(first, ast.Constant) and first.value in (True, False):
            named = dimensions(when) or own
            for dimension in named:
                text = f"when {_short(when)}" if when else "always"
                if first.value is False or not when:
                    yield fact(dimension, bool(first.value), text, value.lineno)
        elif not isinstance(first, ast.Constant):
            text = ast.unparse(first)
            for dimension in own or dimensions(text):
                yield fact(dimension, True, f"when {_short(text)}", value.lineno)

    def listed(self, cls: Resolution) -> Iterator[tuple[str, SupportFact]]:
        """``SUPPORTED_…`` lists and maps in the body of a class or of its bases."""
        seen: set[str] = set()
        for owner in self.world.mro(cls).classes:
            record, tree = self.world.class_record(owner), self.world.tree(owner.module)
            if record is None or tree is None:
                continue
            for assign in record.assigns:
                if assign.name in seen or not re.search(r"SUPPORTED|TYPE_MAP", assign.name):
                    continue
                seen.add(assign.name)
                for dimension in dimensions(f"{assign.name} {assign.value}")[:1] or ["format"]:
                    yield (
                        dimension,
                        SupportFact(
                            accepts=True,
                            text=f"{assign.name} = {_short(' '.join(assign.value.split()))}",
                            path=tree.paths[owner.module],
                            line=assign.line,
                            symbol=owner.qualname,
                            stage="selection",
                        ),
                    )

    def backends(self, oracle: Resolution) -> Iterator[tuple[str, SupportFact]]:
        """Members of an enum of backends that an oracle's module lists or maps names to."""
        tree = self.world.tree(oracle.module)
        if tree is None:
            return
        for function in tree.modules[oracle.module].functions:
            if not re.match(r"^(_get_priority_backends|map_\w*backend)$", function.qualname):
                continue
            found = Resolution(Kind.FUNCTION, oracle.module, function.qualname)
            body = self.values.body(found)
            for node in ast.walk(body.node) if body is not None else ():
                if isinstance(node, ast.List) and node.elts:
                    names = [dotted(e).rpartition(".")[2] for e in node.elts if isinstance(e, ast.Attribute)]
                    text = f"tried in this order: {', '.join(names)}"
                elif isinstance(node, ast.Dict) and node.keys:
                    names = [str(k.value) for k in node.keys if isinstance(k, ast.Constant)]
                    text = f"moe_backend may be {', '.join(names)}"
                else:
                    continue
                if names:
                    yield (
                        "backend",
                        SupportFact(
                            accepts=True,
                            text=text,
                            path=tree.paths[oracle.module],
                            line=node.lineno,
                            symbol=function.qualname,
                            stage="selection",
                        ),
                    )


def _short(text: str, longest: int = 160) -> str:
    text = " ".join(text.split())
    return f"`{text}`" if len(text) <= longest else f"`{text[:longest]}…`"


def _statements(body: list[ast.stmt], guards: tuple[str, ...]) -> Iterator[tuple[ast.stmt, tuple[str, ...]]]:
    """Statements with the conditions written around them; ``except`` handlers are left out."""
    for stmt in body:
        yield stmt, guards
        if isinstance(stmt, ast.If):
            test = ast.unparse(stmt.test)
            yield from _statements(stmt.body, (*guards, test))
            yield from _statements(stmt.orelse, (*guards, f"not ({test})") if stmt.orelse else guards)
        elif isinstance(stmt, ast.For | ast.While | ast.With | ast.Try):
            yield from _statements(stmt.body, guards)
            yield from _statements(getattr(stmt, "orelse", []), guards)

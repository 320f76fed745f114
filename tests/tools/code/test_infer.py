"""Types of expressions: what is answered must be right, the rest is unknown."""

from __future__ import annotations

import ast

import pytest

from tests.tools.trees import context
from tools.code.infer import Form

UPSTREAM = {
    "m.py": """
        class Part:
            size: int
        class Config:
            part: Part
            def __init__(self, other: "Part"):
                self.other = other
                self.made = Part()
            @property
            def seen(self) -> Part: ...
            def get(self) -> "Part | None": ...
        def build() -> Config: ...
    """
}


def type_of(body: str, expression: str) -> str | None:
    plugin = {"p.py": f"from vllm import m\nfrom vllm.m import Config, Part, build\n{body}\n"}
    found = context(plugin, UPSTREAM, UPSTREAM)
    scope = found.inference.scopes("vllm_metax.p")[-1]
    result = found.inference.of(ast.parse(expression, mode="eval").body, scope)
    if result is None:
        return None
    return f"{result.form}:{result.ref.qualname or result.ref.module}"


@pytest.mark.parametrize(
    ("body", "expression", "expected"),
    [
        ("def f(): ...", "m", "module:vllm.m"),
        ("def f(): ...", "m.Config", "class:Config"),
        ("def f(): ...", "Config(1)", "instance:Config"),
        ("def f(): ...", "build()", "instance:Config"),
        ("def f(c: Config): ...", "c.part", "instance:Part"),
        ("def f(c: Config): ...", "c.other", "instance:Part"),
        ("def f(c: Config): ...", "c.made", "instance:Part"),
        ("def f(c: Config): ...", "c.seen", "instance:Part"),
        ("def f(c: Config): ...", "c.get()", "instance:Part"),
        ("def f(c: 'Config | None' = None): ...", "c", "instance:Config"),
        ("def f(c: Config | Part): ...", "c", None),
        ("def f(c: Config):\n    c = other()", "c", None),
        ("def f(c: Config):\n    if isinstance(c, Part): ...", "c", None),
        ("def f():\n    c = Config(1)", "c", "instance:Config"),
        ("def f():\n    c = Config(1)\n    c = Part()", "c", None),
        ("def f():\n    for c in x: ...", "c", None),
        ("def f():\n    def build(): ...", "build", None),
        ("def f():\n    c: Config = x()", "c", "instance:Config"),
        ("class K(Config):\n    def f(self): ...", "self.part", "instance:Part"),
        ("class K(Config):\n    def f(self):\n        def g(): ...", "self.part", "instance:Part"),
        ("class K(Config):\n    @classmethod\n    def f(cls): ...", "cls", "class:K"),
        ("class K(Config):\n    @staticmethod\n    def f(self): ...", "self", None),
        ("def f(x): ...", "x.part", None),
    ],
)
def test_types(body: str, expression: str, expected: str | None) -> None:
    assert type_of(body, expression) == expected


def test_methods_know_whether_their_receiver_is_supplied() -> None:
    body = "def f(c: Config): ..."
    assert type_of(body, "c.get") == f"{Form.METHOD}:Config.get"
    assert type_of(body, "Config.get") == f"{Form.FUNCTION}:Config.get"

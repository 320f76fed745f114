"""Names, classes and constructors across two packages."""

from __future__ import annotations

import pytest

from tests.tools.trees import Files, tree
from tools.code.constructor import constructor
from tools.code.signature import render
from tools.code.tree import Tree
from tools.code.world import Kind, Resolution, World
from tools.profiles import load_profile


def world(upstream: Files, plugin: Files | None = None) -> World:
    profile = load_profile("metax")
    own: Tree = tree(plugin or {}, "vllm_metax", "plugin")
    return World(own, tree(upstream, "vllm", "target"), profile)


def cls(module: str, name: str) -> Resolution:
    return Resolution(Kind.CLASS, module, name)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("direct", Kind.FUNCTION),
        ("passed_on", Kind.FUNCTION),
        ("by_star", Kind.FUNCTION),
        ("_private_by_star", Kind.MISSING),
        ("outside", Kind.EXTERNAL),
        ("sub", Kind.MODULE),
        ("only_typing", Kind.MISSING),
        ("under_condition", Kind.VALUE),
        ("alias", Kind.CLASS),
        ("only_annotated", Kind.MISSING),
        ("nowhere", Kind.MISSING),
    ],
)
def test_members_of_a_package(name: str, kind: Kind) -> None:
    found = world(
        {
            "pkg/__init__.py": """
                from typing import TYPE_CHECKING
                from .sub import passed_on
                from .star import *
                from torch import outside
                if TYPE_CHECKING:
                    from .sub import only_typing
                if x:
                    under_condition = 1
                from .sub import A
                alias = A
                only_annotated: int
                def direct(): ...
            """,
            "pkg/sub.py": "def passed_on(): ...\ndef only_typing(): ...\nclass A: ...\n",
            "pkg/star.py": "def by_star(): ...\ndef _private_by_star(): ...\n",
        }
    ).member("vllm.pkg", name)
    assert found.kind is kind, found


def test_exports_bound_what_a_star_brings() -> None:
    w = world({"a.py": "from .b import *\n", "b.py": "__all__ = ['x']\ndef x(): ...\ndef y(): ...\n"})
    assert w.member("vllm.a", "x").id == "vllm.b:x"
    assert not w.member("vllm.a", "y").found


def test_import_cycles_end() -> None:
    w = world({"a.py": "from .b import x\n", "b.py": "from .a import x\n"})
    assert not w.member("vllm.a", "x").found


def test_module_getattr_is_no_wildcard() -> None:
    w = world({"envs.py": "T = {'A': 1}\ndef __getattr__(n):\n    return T[n]\n"})
    assert w.member("vllm.envs", "A").kind is Kind.DYNAMIC
    assert w.member("vllm.envs", "B").kind is Kind.MISSING


def test_built_modules_are_generated_and_others_missing() -> None:
    w = world({"x.py": ""})
    assert w.module("vllm._C").kind is Kind.GENERATED
    assert w.module("vllm._version").kind is Kind.GENERATED
    assert w.module("vllm.gone").kind is Kind.MISSING
    assert w.module("torch.nn").kind is Kind.EXTERNAL


def test_relative_imports_in_packages_modules_and_beyond_the_top() -> None:
    w = world(
        {
            "p/__init__.py": "from . import m\nfrom .m import f\n",
            "p/m.py": "from .. import top\nfrom ...beyond import g\ndef f(): ...\n",
            "top.py": "",
        }
    )
    assert w.member("vllm.p", "f").id == "vllm.p.m:f"
    assert w.member("vllm.p.m", "top").id == "vllm.top"
    assert not w.member("vllm.p.m", "g").found


def test_linearization_is_pythons() -> None:
    source = """
class O: ...
class A(O): ...
class B(O): ...
class C(A, B): ...
class D(C, O): ...
"""
    scope: dict[str, type] = {}
    exec(source, scope)
    w = world({"m.py": source})
    ours = [c.qualname for c in w.mro(cls("vllm.m", "D")).classes]
    assert ours == [c.__name__ for c in scope["D"].__mro__[:-1]]
    assert not w.mro(cls("vllm.m", "D")).opaque


def test_bases_across_packages_and_opaque_ones() -> None:
    w = world(
        {"m.py": "import torch\nclass Layer(torch.nn.Module):\n    def run(self): ...\n"},
        {"m.py": "from vllm.m import Layer as VllmLayer\nclass Own(VllmLayer): ...\n"},
    )
    mro = w.mro(cls("vllm_metax.m", "Own"))
    assert [c.id for c in mro.classes][:2] == ["vllm_metax.m:Own", "vllm.m:Layer"]
    assert mro.opaque
    found = w.class_member(cls("vllm_metax.m", "Own"), "run")
    assert found is not None
    assert found.id == "vllm.m:Layer.run"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class C:\n    def __init__(self, a, *, b=1): ...\n", "(a, *, b=1)"),
        ("class C: ...\n", "()"),
        ("class B:\n    def __init__(self, a): ...\nclass C(B): ...\n", "(a)"),
        ("from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int\n    b: int = 2\n", "(a, b=2)"),
        (
            "from dataclasses import dataclass, field, KW_ONLY\n@dataclass\nclass C:\n"
            "    a: list = field(default_factory=list)\n    _: KW_ONLY\n    c: int\n    d: int = field(init=False)\n",
            "(a=field(default_factory=list), *, c)",
        ),
        (
            "from dataclasses import dataclass\n@dataclass\nclass B:\n    a: int\n"
            "@dataclass\nclass C(B):\n    b: int\n",
            "(a, b)",
        ),
        ("from typing import NamedTuple\nclass C(NamedTuple):\n    a: int\n    b: int = 1\n", "(a, b=1)"),
        (
            "from pydantic import BaseModel\nclass C(BaseModel):\n    a: int\n    b: int = 1\n",
            "(*, a, b=1, **extra)",
        ),
        ("class M(type): ...\nclass C(metaclass=M): ...\n", None),
        ("class C:\n    def __new__(cls, x): ...\n", None),
        ("import torch\nclass C(torch.nn.Module): ...\n", None),
        ("@wraps_it\ndef f(): ...\nclass C:\n    @wraps_it\n    def __init__(self, a): ...\n", None),
    ],
)
def test_constructors(source: str, expected: str | None) -> None:
    built = constructor(world({"m.py": source}), cls("vllm.m", "C"))
    assert (render(built.params) if built is not None else None) == expected


def test_a_class_reached_in_two_ways_is_one_class() -> None:
    """Whoever asks first must not decide what the linearization of others looks like."""
    files = {
        "m.py": "class Base:\n    def __init__(self, a): ...\nclass Mid(Base): ...\n",
        "again.py": "from vllm.m import Mid\n",
    }
    plugin = {"p.py": "from vllm.again import Mid\nclass Own(Mid): ...\n"}
    w = world(files, plugin)
    assert [c.qualname for c in w.mro(w.member("vllm.m", "Mid")).classes] == ["Mid", "Base"]
    own = cls("vllm_metax.p", "Own")
    assert [c.qualname for c in w.mro(own).classes] == ["Own", "Mid", "Base"]
    definer = w.definer(own, "__init__", after=w.member("vllm.again", "Mid"))
    assert definer is not None
    assert definer.qualname == "Base"

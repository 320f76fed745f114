"""ATT001 to ATT004 and NAM001: attributes and names that are not there."""

from __future__ import annotations

import pytest

from tests.tools.trees import Files, findings
from tools.findings import Finding, Severity

ATT = ("ATT001", "ATT002", "ATT003", "ATT004", "NAM001")


def attributes(plugin: Files, base: Files, target: Files) -> list[Finding]:
    return findings(plugin, base, target, *ATT)


def test_function_called_through_its_module() -> None:
    base = {"w/mamba.py": "def cleanup(): ...\ndef keep(): ...\n"}
    target = {"w/mamba.py": "def keep(): ...\n"}
    plugin = {"a.py": "from vllm.w import mamba\ndef f():\n    mamba.keep()\n    mamba.cleanup()\n"}
    (found,) = attributes(plugin, base, target)
    assert (found.check, found.line, found.introduced) == ("ATT001", 4, True)
    assert "AttributeError: module 'vllm.w.mamba' has no attribute 'cleanup'" in found.consequence


def test_environment_variable_that_was_removed() -> None:
    def envs(*names: str) -> Files:
        table = ", ".join(f"'{n}': lambda: 1" for n in names)
        typing = "".join(f"    {n}: int = 1\n" for n in names)
        return {
            "envs.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n" + typing
            + f"environment_variables = {{{table}}}\n"
            "def __getattr__(name):\n    return environment_variables[name]()\n"
        }  # fmt: skip

    plugin = {"a.py": "import vllm.envs as envs\ndef f():\n    return envs.KEPT, envs.GONE\n"}
    (found,) = attributes(plugin, envs("KEPT", "GONE"), envs("KEPT"))
    assert "`GONE`" in found.message


def test_field_and_classmethod_that_were_removed() -> None:
    base = {
        "c.py": """
            class VllmConfig:
                prompt_adapter: int = 0
                model: int = 1
            class Pooler:
                @classmethod
                def with_defaults(cls): ...
        """
    }
    target = {"c.py": "class VllmConfig:\n    model: int = 1\nclass Pooler: ...\n"}
    plugin = {
        "a.py": """
            from vllm.c import Pooler, VllmConfig
            def f(config: VllmConfig):
                Pooler.with_defaults()
                return config.model, config.prompt_adapter
        """
    }
    found = attributes(plugin, base, target)
    assert [(f.check, f.line) for f in sorted(found, key=lambda f: f.line)] == [("ATT001", 4), ("ATT001", 5)]


def test_field_that_moved_into_a_part_is_found_there() -> None:
    base = {"c.py": "class Layer:\n    enable_eplb: bool = False\n"}
    target = {
        "c.py": """
            class Parallel:
                enable_eplb: bool = False
            class Layer:
                parallel: Parallel
        """
    }
    plugin = {"a.py": "from vllm.c import Layer\ndef f(layer: Layer):\n    return layer.enable_eplb\n"}
    (found,) = attributes(plugin, base, target)
    assert "`layer.parallel.enable_eplb`" in found.suggestion


def test_enum_member_that_was_renamed() -> None:
    base = {"e.py": "import enum\nclass B(enum.Enum):\n    CUTLASS_MLA_V1 = 1\n"}
    target = {"e.py": "import enum\nclass B(enum.Enum):\n    CUTLASS_MLA = 1\n"}
    plugin = {"a.py": "from vllm.e import B\ndef f():\n    return B.CUTLASS_MLA_V1\n"}
    (found,) = attributes(plugin, base, target)
    assert "`CUTLASS_MLA`" in found.message


def test_attribute_of_a_layer_with_a_torch_base() -> None:
    base = {
        "l.py": """
            import torch
            class MoE(torch.nn.Module):
                def __init__(self):
                    self.use_dp_chunking = True
        """
    }
    target = {
        "l.py": "import torch\nclass MoE(torch.nn.Module):\n    def __init__(self):\n        self.other = 1\n"
    }
    plugin = {
        "a.py": """
            from vllm.l import MoE
            class Own(MoE):
                def run(self):
                    self.named_parameters()
                    return self.use_dp_chunking
            def apply(layer):
                return layer.use_dp_chunking
        """
    }
    found = sorted(attributes(plugin, base, target), key=lambda f: f.line)
    assert [(f.check, f.line) for f in found] == [("ATT002", 6), ("ATT003", 8)]


def test_undefined_name_on_a_plugin_module() -> None:
    plugin = {
        "ops.py": "def gemm(): ...\n",
        "a.py": "from vllm_metax import ops\ndef f(group):\n    if group % 32 == 0:\n        return ops.gemm()\n"
        "    return ops.dequantize()\n",
    }
    (found,) = attributes(plugin, {}, {})
    assert (found.line, found.introduced) == (5, False)


def test_helper_copied_from_a_newer_upstream() -> None:
    upstream = {"l.py": "class Base:\n    def __init__(self): ...\n"}
    plugin = {
        "a.py": """
            from vllm.l import Base
            class Own(Base):
                def __init__(self):
                    self._init_fp8_state()
        """
    }
    (found,) = attributes(plugin, upstream, upstream)
    assert (found.check, found.line) == ("ATT002", 5)


def test_six_faults_in_one_run() -> None:
    base = {
        "a.py": "class C:\n    dp_size: int\n    pplx: int\n    num_heads: int\nfree = 1\n",
        "b.py": "class D:\n    eos: int\n    mm_kwargs: int\n",
    }
    target = {"a.py": "class C: ...\n", "b.py": "class D: ...\n"}
    plugin = {
        "a.py": "from vllm import a\nfrom vllm.a import C\ndef f(c: C):\n    return c.dp_size, c.pplx\n"
        "def g():\n    return a.free\n",
        "b.py": "from vllm.b import D\nfrom vllm.a import C\ndef f(d: D, c: C):\n"
        "    return d.eos, d.mm_kwargs, c.num_heads\n",
    }
    assert len(attributes(plugin, base, target)) == 6


@pytest.mark.parametrize(
    "body",
    [
        "def f(c: C):\n    if hasattr(c, 'gone'):\n        return c.gone\n",
        "def f(c: C):\n    return getattr(c, 'gone', None)\n",
        "def f(c: C):\n    try:\n        return c.gone\n    except AttributeError:\n        return None\n",
        "def f(c: C):\n    return c.inherited, c.own, c.sub\n",
        "def f(c: Computed):\n    return c.gone\n",
        "def f(c: WithMeta):\n    return WithMeta.gone\n",
        "def f(c: Opaque):\n    return c.gone\n",
        "def f(c: Base):\n    return c.own\n",
        "def f(c: C):\n    c.gone = 1\n",
        "def f(layer: Layer):\n    return layer.w13_weight\n",
        "def f(c: C):\n    if vllm_version_is('1.0'):\n        return c.gone\n",
    ],
)
def test_near_misses(body: str) -> None:
    upstream = {
        "m.py": """
            import torch
            from elsewhere import Unknown
            class Base:
                inherited = 1
            class C(Base):
                def __init__(self):
                    self.own = 1
                class sub: ...
            class Computed:
                def __getattr__(self, name): ...
            class Meta(type):
                def __getattr__(cls, name): ...
            class WithMeta(metaclass=Meta): ...
            class Opaque(Unknown): ...
            class Layer(torch.nn.Module): ...
            def load(layer):
                layer.register_parameter("w13_weight", None)
        """
    }
    plugin = {"a.py": f"from vllm.m import Base, C, Computed, Layer, Opaque, WithMeta\n{body}"}
    assert attributes(plugin, upstream, upstream) == []


def test_attribute_the_plugin_patches_in() -> None:
    upstream = {"m.py": "class Config: ...\n"}
    plugin = {
        "patch/utils.py": "def patch(module, attribute=None, *, allow_missing=False): ...\n",
        "p.py": """
            from vllm_metax.patch.utils import patch
            @patch("vllm.m", "Config.use_int4", allow_missing=True)
            @property
            def use_int4(self): ...
        """,
        "a.py": "from vllm.m import Config\ndef f(c: Config):\n    return c.use_int4\n",
    }
    assert attributes(plugin, upstream, upstream) == []


def test_duck_typing_marked_by_its_author_is_left_alone() -> None:
    upstream = {"m.py": "class Meta: ...\nclass SparseMeta:\n    topk: int\n"}
    plugin = {
        "a.py": "from vllm.m import Meta\ndef f(m: Meta):\n    return m.topk  # type: ignore[attr-defined]\n"
    }
    assert attributes(plugin, upstream, upstream) == []
    plugin = {"a.py": "from vllm.m import Meta\ndef f(m: Meta):\n    return m.topk\n"}
    (found,) = attributes(plugin, upstream, upstream)
    assert found.severity is Severity.WARNING


def test_import_lost_in_a_copy() -> None:
    upstream = {"envs.py": "X = 1\n", "group.py": "class Group: ...\n"}
    plugin = {
        "a.py": """
            def f(g: "Group") -> None:
                if envs.X:
                    print(slip)
        """
    }
    (found,) = attributes(plugin, upstream, upstream)
    assert (found.check, found.line) == ("NAM001", 3)
    assert "from vllm import envs" in found.suggestion


@pytest.mark.parametrize(
    "store",
    [
        "for key, value in kw.items(): setattr(self, key, value)",
        "vars(self).update(kw)",
        "self.__dict__.update(kw)",
        "self.__dict__ = kw",
        "self.__dict__['late'] = 1",
        "vars(self)['late'] = 1",
        "object.__setattr__(self, 'late', 1)",
        "fill(self)",
    ],
)
@pytest.mark.parametrize("inherited", [True, False])
def test_attributes_stored_under_computed_names(store: str, inherited: bool) -> None:
    constructor = f"    def __init__(self, **kw):\n        {store}\n"
    reader = "    def go(self):\n        return self.late\n"
    filler = "def fill(o):\n    o.late = 1\n"
    upstream = {"u.py": f"{filler}class Base:\n{constructor if inherited else '    pass'}\n"}
    own = reader if inherited else constructor + reader
    plugin = {"a.py": f"from vllm.u import Base\n{filler}class Own(Base):\n{own}"}
    assert not attributes(plugin, upstream, upstream)


def test_a_setattr_of_the_class_itself_computes_nothing() -> None:
    upstream = {
        "u.py": """
            class Base:
                def __setattr__(self, name, value):
                    object.__setattr__(self, name, value)
        """
    }
    plugin = {
        "a.py": "from vllm.u import Base\nclass Own(Base):\n    def go(self):\n        return self.late\n"
    }
    (found,) = attributes(plugin, upstream, upstream)
    assert found.check == "ATT002"


@pytest.mark.parametrize(
    "body",
    [
        "class Mine(Request):\n    def f(self): return self.model_extra, self.model_config, self.copy()\n",
        "class Any(Open):\n    def f(self): return self.whatever\n",
        "@Op.register('mine')\nclass Own(Op):\n    def f(self): return self.name\n",
        "class Own(Tagged):\n    def f(self): return self.tag\n",
        "class Own(Op):\n    def f(self):\n        if 'late' in self.__dict__: return self.late\n",
    ],
)
def test_attributes_that_libraries_and_decorators_give(body: str) -> None:
    upstream = {
        "u.py": """
            from pydantic import BaseModel, ConfigDict

            class Request(BaseModel):
                n: int = 0

            class Open(BaseModel):
                model_config = ConfigDict(extra="allow")

            def tagged(cls):
                cls.tag = 1
                return cls

            @tagged
            class Tagged: ...

            class Op:
                @classmethod
                def register(cls, name):
                    def decorate(made):
                        made.name = name
                        return made
                    return decorate
        """
    }
    plugin = {"a.py": f"from vllm.u import Op, Open, Request, Tagged\n{body}"}
    assert not attributes(plugin, upstream, upstream)


def test_a_module_that_answers_any_name() -> None:
    upstream = {
        "table.py": "T = make()\n",
        "any.py": "from .table import T\ndef __getattr__(n):\n    return T[n]\n",
    }
    plugin = {
        "own.py": "def __getattr__(n):\n    return n\n",
        "no.py": "def __getattr__(n):\n    raise AttributeError(n)\n",
        "a.py": "from vllm import any\nfrom vllm_metax import no, own\nany.thing\nown.thing\nno.thing\n",
    }
    (found,) = attributes(plugin, upstream, upstream)
    assert (found.check, found.line) == ("ATT001", 5)


def test_a_name_that_the_target_uses_on_other_objects_is_alive() -> None:
    base = {"l.py": "class Buffer:\n    def copy_(self, other): ...\n"}
    target = {"l.py": "def fill(tensor, other):\n    tensor.copy_(other)\n"}
    plugin = {"a.py": "def f(out, other):\n    out.copy_(other)\n"}
    assert attributes(plugin, base, target) == []
    # Nothing in the target has or uses it: upstream took it away.
    (found,) = attributes(plugin, base, {"l.py": "def fill(tensor, other): ...\n"})
    assert (found.check, found.line) == ("ATT003", 2)

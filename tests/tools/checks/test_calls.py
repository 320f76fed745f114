"""CAL001 to CAL004: calls that do not bind."""

from __future__ import annotations

import pytest

from tests.tools.trees import Files, findings
from tools.findings import Finding

CAL = ("CAL001", "CAL002", "CAL003", "CAL004")


def calls(plugin: Files, base: Files, target: Files) -> list[Finding]:
    return findings(plugin, base, target, *CAL)


def test_dataclass_with_a_new_required_field() -> None:
    base = {"c.py": "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n"}
    target = {
        "c.py": "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int\n    b: int\n    is_seq: bool\n",
        "user.py": "from vllm.c import P\nx = P(1, 2, is_seq=False)\n",
    }
    (found,) = calls({"a.py": "from vllm.c import P\ndef f():\n    return P(1, 2)\n"}, base, target)
    assert found.check == "CAL001"
    assert "requires `is_seq`" in found.message
    assert "upstream's own call is cited" in found.suggestion
    assert (found.line, found.symbol) == (3, "f")


def test_constructor_that_lost_one_argument_and_requires_another() -> None:
    base = {"b.py": "class Table:\n    def __init__(self, size, max_model_len): ...\n"}
    target = {"b.py": "class Table:\n    def __init__(self, size, *, max_num_blocks): ...\n"}
    plugin = {"a.py": "from vllm import b\ndef f():\n    b.Table(1, max_model_len=2)\n"}
    (found,) = calls(plugin, base, target)
    assert "takes no argument `max_model_len`" in found.message
    assert "requires `max_num_blocks`" in found.message


def test_keyword_that_became_another() -> None:
    base = {"u.py": "def convert(backend, layer=None): ...\n"}
    target = {"u.py": "def convert(backend, moe_config): ...\n"}
    plugin = {
        "a.py": """
            from vllm.u import convert
            def load(self, layer):
                convert(
                    1,
                    layer=layer,
                )
        """
    }
    (found,) = calls(plugin, base, target)
    assert found.line == 6  # the keyword, not the call
    assert "pass `moe_config=` in place of `layer=`" in found.suggestion


def test_super_that_reaches_another_constructor() -> None:
    base = {
        "l.py": """
            class Rep:
                def __init__(self, i, o, bias=True): ...
            class Gate(Rep): ...
        """
    }
    target = {
        "l.py": """
            class Rep:
                def __init__(self, i, o, bias=True): ...
            class Gate(Rep):
                def __init__(self, i, o): ...
        """
    }
    plugin = {
        "a.py": """
            from vllm.l import Gate
            class G(Gate):
                def __init__(self, i, o):
                    super().__init__(i, o, bias=False)
        """
    }
    (found,) = calls(plugin, base, target)
    assert "`Gate.__init__` takes no argument `bias`" in found.message


def test_copied_function_whose_plugin_callers_were_left_behind() -> None:
    plugin = {
        "moe.py": "def fused(x, *, quant_config): ...\n",
        "a.py": "from vllm_metax.moe import fused\ndef f(x):\n    fused(x, use_int8=True)\n",
    }
    (found,) = calls(plugin, {}, {})
    assert not found.introduced
    assert "`use_int8`" in found.message


@pytest.mark.parametrize(
    "body",
    [
        "def f(*a, **k):\n    g(*a, **k)\n",
        "def f():\n    g(1, extra=2)\n",
        "def f(g):\n    g(1, 2, 3, 4)\n",
        "def f():\n    try:\n        h(1, allow_override=True)\n    except TypeError:\n        h(1)\n",
        "def f():\n    wrapped(1, 2, 3)\n",
        "def f(x):\n    x.h(1, 2, 3)\n",
        "def f():\n    if vllm_version_is('1.0'):\n        h(1, old=2)\n",
    ],
)
def test_calls_that_bind_or_may(body: str) -> None:
    upstream = {
        "u.py": """
            def g(a, **extra): ...
            def h(a): ...
            @some_decorator
            def wrapped(a): ...
        """
    }
    assert calls({"a.py": f"from vllm.u import g, h, wrapped\n{body}"}, upstream, upstream) == []


def test_a_function_the_plugin_replaces_is_bound_as_replaced() -> None:
    upstream = {"u.py": "def g(a): ...\n"}
    plugin = {
        "patch/utils.py": "def patch(module, attribute=None): ...\n",
        "p.py": """
            from vllm_metax.patch.utils import patch
            @patch("vllm.u", "g")
            def g(a, b): ...
        """,
        "a.py": "from vllm.u import g\ndef f():\n    g(1, 2)\n",
    }
    assert calls(plugin, upstream, upstream) == []


def test_super_outside_the_mro_and_in_a_static_method() -> None:
    upstream = {"m.py": "class Base: ...\nclass Config: ...\n"}
    plugin = {
        "a.py": """
            from vllm.m import Base, Config
            class A(Base):
                def __init__(self):
                    super(Config, self).__init__()
                @staticmethod
                def s():
                    super().s()
                def fine(self):
                    super(A, self).fine()
                    super(Base, self).fine()
        """
    }
    found = calls(plugin, upstream, upstream)
    assert [(f.check, f.line) for f in found] == [("CAL002", 5), ("CAL002", 8)]


def test_registered_op_that_gained_an_argument() -> None:
    register = "from vllm.u import direct_register_custom_op\n"
    base = {"u.py": "def direct_register_custom_op(op_name, op_func): ...\n"}
    target = {
        **base,
        "op.py": f'{register}def gdn(a, b, fast, name): ...\ndirect_register_custom_op(op_name="gdn", op_func=gdn)\n',
    }
    base = {
        **base,
        "op.py": f'{register}def gdn(a, b, name): ...\ndirect_register_custom_op(op_name="gdn", op_func=gdn)\n',
    }
    plugin = {
        "a.py": "import torch\ndef f():\n    torch.ops.vllm.gdn(1, 2, 'n')\n    torch.ops.vllm.other(1)\n"
    }
    (found,) = calls(plugin, base, target)
    assert (found.check, found.line, found.introduced) == ("CAL003", 3, True)


def test_fake_with_other_parameters() -> None:
    plugin = {
        "a.py": """
            from vllm.u import direct_register_custom_op
            def op(a, b): ...
            def fake(a): ...
            def op2(a, b=1): ...
            direct_register_custom_op(op_name="one", op_func=op, fake_impl=fake)
            direct_register_custom_op(op_name="two", op_func=op2, fake_impl=fake)
        """
    }
    upstream = {"u.py": "def direct_register_custom_op(op_name, op_func, fake_impl=None): ...\n"}
    found = {f.message.split("`")[1]: f.severity for f in calls(plugin, upstream, upstream)}
    # What has a default is left out by the dispatcher when it is not given.
    assert found == {"one": "error", "two": "note"}


def test_the_type_checker_follows_what_a_plain_reading_cannot() -> None:
    base = {"u.py": "class K:\n    def run(self, a: int, old: int = 0) -> None: ...\n"}
    target = {"u.py": "class K:\n    def run(self, a: int) -> None: ...\n"}
    plugin = {
        "a.py": """
            from vllm.u import K
            def f(ks: list[K]) -> None:
                for k in ks:
                    k.run(1, old=2)
        """
    }
    (found,) = calls(plugin, base, target)
    assert (found.check, found.line, found.introduced) == ("CAL004", 5, True)
    assert found.level == "signature-checked"


def test_a_metaclass_that_answers_construction() -> None:
    upstream = {
        "u.py": """
            class Meta(type):
                def __call__(cls, *args):
                    return object()

            class Made(metaclass=Meta):
                def __init__(self): ...
        """
    }
    assert not calls({"a.py": "from vllm.u import Made\nMade(1, 2)\n"}, upstream, upstream)

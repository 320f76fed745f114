"""REG006: two registrations of one key."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

UTILS = "def direct_register_custom_op(op_name, op_func): ..."
OP = """
from vllm.utils import direct_register_custom_op
{more}
def apply(x): ...
direct_register_custom_op(op_name="{name}", op_func=apply)
"""
INIT = "def register_out_of_tree():\n    import vllm_metax.bits\n"


def plugin(name: str, more: str = "") -> dict[str, str]:
    """A plugin that defines torch op ``name``."""
    return {"__init__.py": INIT, "bits.py": OP.format(name=name, more=more)}


BASE = {"utils.py": UTILS, "bits.py": "def other(x): ..."}
TARGET = {"utils.py": UTILS, "bits.py": OP.format(name="apply_bits", more="def other(x): ...")}


def test_op_taken_in_tree() -> None:
    (found,) = findings(plugin("apply_bits", "from vllm.bits import other"), BASE, TARGET, "REG006")
    assert found.severity is Severity.ERROR
    assert found.introduced
    assert "in tree" in found.message


def test_op_taken_in_tree_by_a_module_that_is_not_imported_with_it() -> None:
    (found,) = findings(plugin("apply_bits"), BASE, TARGET, "REG006")
    assert found.severity is Severity.WARNING


def test_names_of_its_own_and_other_libraries() -> None:
    assert not findings(plugin("mx_apply_bits", "from vllm.bits import other"), BASE, TARGET, "REG006")
    other = OP.replace("op_func=apply", "op_func=apply, target_lib=LIB").replace("{more}", "LIB = make()")
    assert not findings(
        {"__init__.py": INIT, "bits.py": other.format(name="apply_bits")}, BASE, TARGET, "REG006"
    )


def test_one_op_defined_twice_by_the_plugin() -> None:
    twice = {**plugin("mine", "import vllm_metax.copy"), "copy.py": OP.format(name="mine", more="")}
    (found,) = findings(twice, BASE, BASE, "REG006")
    assert found.severity is Severity.ERROR
    assert found.path == "vllm_metax/bits.py"
    lazy = {**plugin("mine"), "copy.py": OP.format(name="mine", more="")}
    assert not findings(lazy, BASE, BASE, "REG006")


QUANT = """
from vllm.quantization import register_quantization_config

@register_quantization_config("w4")
class {name}: ...
"""


def test_the_last_quantization_config_wins() -> None:
    tree = {"quantization.py": "def register_quantization_config(name): ..."}
    two = {
        "__init__.py": INIT,
        "bits.py": "import vllm_metax.one\nimport vllm_metax.two\n",
        "one.py": QUANT.format(name="One"),
        "two.py": QUANT.format(name="Two"),
    }
    (found,) = findings(two, tree, tree, "REG006")
    assert found.severity is Severity.WARNING
    assert found.silent
    assert found.path == "vllm_metax/one.py"


def test_two_branches_of_one_condition() -> None:
    tree = {"models.py": "class ModelRegistry: ..."}
    body = """
    import os
    from vllm.models import ModelRegistry
    if os.environ.get("FAST"):
        ModelRegistry.register_model("A", "vllm_metax.a:Fast")
    else:
        ModelRegistry.register_model("A", "vllm_metax.a:Slow")
    """
    assert not findings({"__init__.py": INIT, "bits.py": body}, tree, tree, "REG006")

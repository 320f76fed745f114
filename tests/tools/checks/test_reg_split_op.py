"""REG008: ops that replace a listed one."""

from __future__ import annotations

from tests.tools.trees import findings

UPSTREAM = {
    "config/compilation.py": """
        class CompilationConfig:
            _attention_ops = ["vllm::attention", "vllm::sparse_indexer"]
        """,
    "utils.py": "def direct_register_custom_op(op_name, op_func): ...",
}
OP = """
from vllm.utils import direct_register_custom_op
def op(x): ...
direct_register_custom_op("{name}", op)
{more}
"""


def plugin(name: str, more: str = "") -> dict[str, str]:
    """A plugin that registers op ``name``."""
    return {
        "__init__.py": "def register_out_of_tree():\n    import vllm_metax.ops\n",
        "ops.py": OP.format(name=name, more=more),
    }


def test_own_name_for_a_listed_op() -> None:
    (found,) = findings(plugin("mx_sparse_indexer"), UPSTREAM, UPSTREAM, "REG008")
    assert "vllm::sparse_indexer" in found.message
    assert found.silent


def test_listed_by_the_plugin_or_something_else() -> None:
    added = "def configure(config): config._attention_ops.append('vllm::mx_sparse_indexer')"
    assert not findings(plugin("mx_sparse_indexer", added), UPSTREAM, UPSTREAM, "REG008")
    assert not findings(plugin("mx_fused_scale"), UPSTREAM, UPSTREAM, "REG008")
    assert not findings(
        plugin("mx_sparse_indexer"),
        {"utils.py": UPSTREAM["utils.py"]},
        UPSTREAM | {"config/compilation.py": ""},
        "REG008",
    )

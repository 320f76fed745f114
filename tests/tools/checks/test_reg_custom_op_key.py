"""REG001: custom op keys that nothing looks up."""

from __future__ import annotations

from tests.tools.trees import findings, review
from tools.findings import Severity

UPSTREAM = {
    "model_executor/custom_op.py": """
        class CustomOp:
            def __new__(cls, *args): ...
            @classmethod
            def register(cls, name): ...
            @classmethod
            def register_oot(cls, decorated=None, name=None): ...
        """,
    "indexer.py": """
        from vllm.model_executor.custom_op import CustomOp

        @CustomOp.register("sparse_indexer")
        class SparseIndexer(CustomOp):
            def forward_native(self, x):
                raise NotImplementedError("only on some platforms")

        @CustomOp.register("gelu")
        class Gelu(CustomOp):
            def forward_native(self, x):
                return x
        """,
}
PLUGIN = """
from vllm.model_executor.custom_op import CustomOp
from vllm.indexer import SparseIndexer

@{register}
class Mine(CustomOp): ...
"""


def plugin(register: str) -> dict[str, str]:
    """A plugin that registers with ``register``."""
    return {"ops.py": PLUGIN.format(register=register)}


def test_in_tree_name_is_no_key() -> None:
    (found,) = findings(plugin('CustomOp.register_oot(name="sparse_indexer")'), UPSTREAM, UPSTREAM, "REG001")
    assert found.severity is Severity.ERROR
    assert "'SparseIndexer'" in found.suggestion
    assert not found.introduced


def test_silent_where_the_in_tree_class_works() -> None:
    (found,) = findings(plugin('CustomOp.register_oot(name="gelu")'), UPSTREAM, UPSTREAM, "REG001")
    assert found.severity is Severity.WARNING
    assert found.silent


def test_class_renamed_upstream() -> None:
    target = {**UPSTREAM, "indexer.py": UPSTREAM["indexer.py"].replace("Gelu(", "GeluNew(")}
    (found,) = findings(plugin('CustomOp.register_oot(name="Gelu")'), UPSTREAM, target, "REG001")
    assert found.introduced
    assert "'GeluNew'" in found.message


def test_class_names_are_keys() -> None:
    for register in ("SparseIndexer.register_oot", 'CustomOp.register_oot(name="Gelu")'):
        assert not findings(plugin(register), UPSTREAM, UPSTREAM, "REG001")


def test_a_class_of_the_plugin_is_looked_up_too() -> None:
    assert not findings(plugin('CustomOp.register_oot(name="Mine")'), UPSTREAM, UPSTREAM, "REG001")


def test_computed_key_is_unresolved() -> None:
    result = review(plugin("CustomOp.register_oot(name=NAME.lower())"), UPSTREAM, UPSTREAM, "REG001")
    assert not result.findings
    assert len(result.unresolved) == 1

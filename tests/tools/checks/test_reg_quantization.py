"""REG002: quantization method names."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

PATH = "model_executor/layers/quantization/__init__.py"
TREE = """
QUANTIZATION_METHODS = [{methods}]
class Bits: ...
def register_quantization_config(quantization):
    if quantization in QUANTIZATION_METHODS:
        {duplicate}
    def wrapper(cls):
        return cls
    return wrapper
def get_quantization_config(quantization):
    method_to_config = {{"bits": Bits}}
"""
PLUGIN = {
    "quant.py": """
        from vllm.model_executor.layers.quantization import register_quantization_config

        @register_quantization_config("w4_block")
        class Config: ...
        """
}


def upstream(methods: str, duplicate: str = "pass") -> dict[str, str]:
    """Upstream that lists ``methods``."""
    return {PATH: TREE.format(methods=methods, duplicate=duplicate)}


def test_taken_in_tree_where_duplicates_raise() -> None:
    target = upstream('"bits", "w4_block"', "raise ValueError(quantization)")
    (found,) = findings(PLUGIN, upstream('"bits"', "raise ValueError(quantization)"), target, "REG002")
    assert found.severity is Severity.ERROR
    assert found.introduced


def test_taken_in_tree_where_the_last_wins() -> None:
    (found,) = findings(PLUGIN, upstream('"bits"'), upstream('"bits", "w4_block"'), "REG002")
    assert found.severity is Severity.NOTE


def test_dropped_from_the_list() -> None:
    (found,) = findings(PLUGIN, upstream('"bits", "w4_block"'), upstream('"bits"'), "REG002")
    assert found.severity is Severity.WARNING


def test_nothing_when_the_lists_agree() -> None:
    for methods in ('"bits"', '"bits", "w4_block"'):
        assert not findings(PLUGIN, upstream(methods), upstream(methods), "REG002")


def test_platform_that_does_not_list_it() -> None:
    body = """
        class Platform:
            supported_quantization = ["bits"{more}]
        """
    entry = "def register():\n    return 'vllm_metax.platform.Platform'\n"
    tree = upstream('"bits", "w4_block"')
    without = {**PLUGIN, "__init__.py": entry, "platform.py": body.format(more="")}
    (found,) = findings(without, tree, tree, "REG002")
    assert "supported_quantization" in found.message
    listed = {**without, "platform.py": body.format(more=', "w4_block"')}
    assert not findings(listed, tree, tree, "REG002")

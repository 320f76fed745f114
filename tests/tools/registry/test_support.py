"""The support table: what the code accepts and refuses, with its place, or nothing."""

from __future__ import annotations

from tests.tools.registry.test_chain import PLUGIN, UPSTREAM_ALL
from tests.tools.trees import Files, context
from tools.findings import Decision, SupportCell, SupportRow
from tools.registry.inventory import take_inventory
from tools.registry.predicates import dimensions
from tools.registry.support import support_of

CONFIG = PLUGIN["registry/config.py"].replace(
    "def get_quant_method",
    """def get_supported_act_dtypes(cls):
            return [torch.half, torch.bfloat16]

        def get_min_capability(cls):
            return 80

        def __init__(self, bits, group_size):
            if bits not in (4, 8):
                raise ValueError("bits")

        def get_quant_method""",
    1,
)
METHODS = CONFIG.replace(
    "def apply(self, layer, x):\n            from",
    """SUPPORTED_QUANT_TYPES = ["u4"]

        def create_weights(self, layer):
            assert self.group_size >= 32
            assert layer.weight.shape[0] == 4

        def apply(self, layer, x):
            assert layer.activation == "silu"
            if self.bias is not None and self.has_bias:
                raise NotImplementedError
            from""",
)
FILES: Files = {**PLUGIN, "registry/config.py": METHODS}


def rows(plugin: Files = FILES) -> dict[tuple[str, str], SupportRow]:
    found = support_of(context(plugin, UPSTREAM_ALL, UPSTREAM_ALL))
    return {(r.key, r.symbol.rpartition(":")[2]): r for r in found}


def cell(row: SupportRow, dimension: str) -> SupportCell:
    return next(c for c in row.cells if c.dimension == dimension)


def test_what_the_config_says() -> None:
    row = rows()["w4", "MacaW4Config"]
    (dtypes,) = cell(row, "activation").facts
    assert dtypes.accepts
    assert "bfloat16" in dtypes.text
    assert cell(row, "device").facts[0].text == "capability 80 or more"
    (bits,) = cell(row, "format").facts
    assert not bits.accepts
    assert (bits.path, bits.stage) == ("vllm_metax/registry/config.py", "selection")


def test_what_a_method_says_and_when() -> None:
    row = rows()["w4", "LinearMethod"]
    assert row.part == "linear"
    (size,) = cell(row, "group size").facts
    assert (size.accepts, size.stage) == (False, "allocation")
    (activation,) = cell(row, "activation").facts
    assert (activation.accepts, activation.stage) == (False, "execution")
    assert cell(row, "format").facts[0].accepts


def test_what_nothing_is_said_about_is_unknown() -> None:
    row = rows()["w4", "LinearMethod"]
    assert not cell(row, "parallel mode").known
    assert not cell(rows()["w4", "MacaW4Config"], "bias").known


def test_a_refusal_in_execution_alone_is_to_be_moved_forward() -> None:
    found = take_inventory(context(FILES, UPSTREAM_ALL, UPSTREAM_ALL)).rows
    row = next(r for r in found if r.key == "w4")
    assert row.decision is Decision.REJECT
    assert "LinearMethod.apply" in row.reason
    asked = METHODS.replace(
        "    SUPPORTED_QUANT_TYPES",
        "    def __init__(self, config):\n            assert config.activation == 'silu'\n"
        "            assert not config.has_bias\n\n        SUPPORTED_QUANT_TYPES",
    )
    found = take_inventory(context({**FILES, "registry/config.py": asked}, UPSTREAM_ALL, UPSTREAM_ALL)).rows
    assert next(r for r in found if r.key == "w4").decision is not Decision.REJECT


def test_an_alias_has_a_row_that_points_to_the_first() -> None:
    alias = rows()["w4_alias", "MacaW4Config"]
    assert "w4" in alias.part
    assert not alias.cells


def test_conditions_on_tensors_at_hand_name_no_dimension() -> None:
    assert dimensions("self.group_size == 128") == ["group size"]
    assert dimensions("weight.shape[0] % group_size == 0") == []
    assert dimensions("layer.bias is None and not is_sym") == ["symmetry", "bias"]
    assert dimensions("method in ('awq_marlin',)") == []

"""LAY004: old parameters read after their replacement."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Finding, Severity

METHOD = """
class Method:
    def create_weights(self, layer):
        layer.w13_zero_point = make()
        {create}

    def process_weights_after_loading(self, layer):
        {process}

    def get_fused_moe_quant_config(self, layer):
        return Config(zp={config})

    def apply(self, layer, x):
        return kernel(x, self.moe_quant_config, {apply})
"""


def check(
    process: str, *, create: str = "pass", config: str = "layer.w13_zero_point", apply: str = "None"
) -> list[Finding]:
    lines = process.replace("\n", "\n        ")
    text = METHOD.format(create=create, process=lines, config=config, apply=apply)
    return findings({"m.py": text}, {}, {}, "LAY004")


BUILD = "self.moe_quant_config = self.get_fused_moe_quant_config(layer)"
CONVERT = "layer.w13_zero_point = layer.w13_zero_point.transpose(1, 2)"


def test_the_config_is_built_when_the_weights_are_allocated() -> None:
    (found,) = check(CONVERT, create=BUILD)
    assert "create_weights" in found.message
    assert "layer.w13_zero_point" in found.message
    assert found.silent
    assert found.severity is Severity.WARNING


def test_the_config_is_built_before_the_conversion() -> None:
    assert check(f"{BUILD}\n{CONVERT}")
    assert not check(f"{CONVERT}\n{BUILD}")
    assert not check(f"{BUILD}\n{CONVERT}\n{BUILD}")
    assert not check(f"{CONVERT}\n{BUILD}", create=BUILD)
    assert not check(f"{BUILD}\nlayer.w2_other = 1")


def test_helpers_that_copy_into_the_old_tensor_are_left_alone() -> None:
    assert not check(f"{BUILD}\nreplace_parameter(layer, 'w13_zero_point', new)")


def test_stored_under_a_name_that_nobody_reads() -> None:
    (found,) = check("zp = layer.w13_zero_point.t()\nlayer.w13_zero_point_packed = pack(zp)")
    assert "w13_zero_point_packed" in found.message
    assert "get_fused_moe_quant_config" in found.message
    assert not check(
        "layer.w13_zero_point_packed = pack(layer.w13_zero_point)", config="layer.w13_zero_point_packed"
    )
    in_place = "layer.w13_zero_point.data = layer.w13_zero_point.t()"
    both = f"{in_place}\nlayer.w13_zero_point_fp32 = layer.w13_zero_point.float()"
    assert not check(both)
    assert not check("layer.output_size = layer.w13_zero_point.shape[0]")


def test_deleted_and_read() -> None:
    (found,) = check("del layer.w13_zero_point", config="None", apply="layer.w13_zero_point")
    assert found.severity is Severity.ERROR
    assert "AttributeError" in found.consequence
    assert check("delattr(layer, 'w13_zero_point')", config="None", apply="layer.w13_zero_point")
    assert not check(
        "del layer.w13_zero_point\nlayer.w13_zero_point = new()", config="None", apply="layer.w13_zero_point"
    )
    assert not check(
        "del layer.w13_zero_point", config="None", apply="getattr(layer, 'w13_zero_point', None)"
    )
    assert not check(f"{BUILD}\ndel layer.w13_zero_point")

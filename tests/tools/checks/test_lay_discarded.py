"""LAY005: results of conversions that are thrown away."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Certainty, Finding

HELPERS = """
def repack_zeros(zeros):
    out = zeros.transpose(1, 2)
    return out.contiguous()

def repack_in_place(zeros):
    zeros.copy_(zeros.t())
    return zeros

def convert_layer(weight):
    torch.ops._C.shuffle(weight)
    return weight

def convert_data(weight):
    weight.data = weight.t()
    return weight

def warm_up(weight):
    return weight.t()
"""


def check(statement: str) -> list[Finding]:
    text = HELPERS + f"\nclass Method:\n    def process(self, layer):\n        {statement}\n"
    return findings({"m.py": text}, {}, {}, "LAY005")


def test_a_tensor_method_called_for_nothing() -> None:
    (found,) = check("layer.w13_weight.transpose(1, 2).contiguous()")
    assert found.certainty is Certainty.CERTAIN
    assert found.silent
    assert check("layer.w2_scale.to(dtype)")
    assert check("self.zero_point.view(torch.uint8)")


def test_a_helper_whose_result_is_not_taken() -> None:
    (found,) = check("repack_zeros(layer.w2_zero_point)")
    assert "repack_zeros()" in found.message
    assert found.certainty is Certainty.LIKELY


def test_near_misses() -> None:
    assert not check("layer.w13_weight = layer.w13_weight.transpose(1, 2)")
    assert not check("layer.zero_point = repack_zeros(layer.zero_point)")
    for helper in ("repack_in_place", "convert_layer", "convert_data", "warm_up"):
        assert not check(f"{helper}(layer.w13_weight)"), helper
    assert not check("layer.w13_weight.copy_(other)")
    assert not check("self.model.to(device)")
    assert not check("self.convert(layer.w13_weight)")

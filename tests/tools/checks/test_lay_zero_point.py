"""LAY006: asymmetric branches without their subtraction."""

from __future__ import annotations

from tests.tools.trees import findings


def check(text: str) -> list[str]:
    return [f.message for f in findings({"m.py": text}, {}, {}, "LAY006")]


DEQUANTIZE = """
def dequantize(q, scale, zeros, has_zp):
    if has_zp:
        zp = unpack(zeros)
        w = {asymmetric}
    else:
        w = (q - 8) * scale
    return w
"""


def test_zero_points_that_are_loaded_and_not_used() -> None:
    (message,) = check(DEQUANTIZE.format(asymmetric="q * scale"))
    assert "loads `zp`, and nothing uses it" in message
    assert not check(DEQUANTIZE.format(asymmetric="(q - zp) * scale"))
    assert not check(DEQUANTIZE.format(asymmetric="kernel(q, scale, zp)"))


SYMMETRY = """
class Method:
    def dequantize(self, q, scale, zeros):
        if {test}:
            w = (q - 8) * scale
        else:
            w = {asymmetric}
        return w
"""


def test_the_sibling_subtracts() -> None:
    (message,) = check(SYMMETRY.format(test="self.is_sym", asymmetric="q * scale"))
    assert "without a subtraction for asymmetric weights" in message
    assert check(SYMMETRY.format(test="not self.has_zp", asymmetric="q * scale"))


def test_near_misses() -> None:
    assert not check(SYMMETRY.format(test="self.is_sym", asymmetric="(q - zeros) * scale"))
    assert not check(SYMMETRY.format(test="self.is_sym", asymmetric="fma(q, zeros) * scale"))
    assert not check(SYMMETRY.format(test="self.fast", asymmetric="q * scale"))
    assert not check(SYMMETRY.format(test="self.is_sym", asymmetric="None"))
    subtracted_later = """
    def f(q, scale, zeros, has_zp):
        if has_zp:
            zp = load(zeros)
        else:
            zp = 8
        return (q - zp) * scale
    """
    assert not check(subtracted_later)

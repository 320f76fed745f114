"""LAY001: converted tensors that are dropped."""

from __future__ import annotations

from tests.tools.trees import findings

METHOD = """
def convert(weight, zero_point):
    new_weight = weight.transpose(1, 2)
    new_zero = repack(zero_point)
    return new_weight, new_zero


class Method:
    def process_weights_after_loading(self, layer):
        {assign}

    def quant_config(self, layer):
        return Config(layer.w13_zero_point)
"""
DROPS = "layer.w13, _ = convert(layer.w13, layer.w13_zero_point)"


def check(assign: str, method: str = METHOD) -> list[str]:
    plugin = {"m.py": method.format(assign=assign)}
    return [f.message for f in findings(plugin, {}, {}, "LAY001")]


def test_the_second_result_is_dropped_and_the_old_one_read() -> None:
    (message,) = check(DROPS)
    assert "layer.w13_zero_point" in message
    assert "Method.quant_config" in message


def test_a_subscript_drops_too() -> None:
    assert check("layer.w13 = convert(layer.w13, layer.w13_zero_point)[0]")


def test_nothing_when_it_is_kept() -> None:
    assert not check("layer.w13, layer.w13_zero_point = convert(layer.w13, layer.w13_zero_point)")
    stored = "w, z = convert(layer.w13, layer.w13_zero_point)\n        layer.w13_zero_point = z"
    assert not check(stored)
    replaced = DROPS.replace("_ =", "z =") + '\n        replace_parameter(layer, "w13_zero_point", z)'
    assert not check(replaced)


def test_nothing_when_nobody_reads_the_old_one() -> None:
    assert not check(DROPS, METHOD.replace("Config(layer.w13_zero_point)", "Config(None)"))


def test_nothing_when_the_function_gives_it_back_as_it_was() -> None:
    assert not check(DROPS, METHOD.replace("new_zero = repack(zero_point)", "new_zero = zero_point"))

"""INI004: an inherited step reads what an overridden step no longer sets."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Finding, Severity

UPSTREAM = {
    "m.py": """
    class Base:
        def create_weights(self, layer, size):
            layer.register_parameter("w13_qweight", make(size))
            layer.register_parameter("w13_g_idx", make(size))
            layer.group_size = size

        def process_weights_after_loading(self, layer):
            layer.w13_qweight = layer.w13_qweight.t()
            layer.order = layer.w13_g_idx.sort()
            self.is_transposed = True

        def apply(self, layer, x):
            if self.is_transposed:
                x = x.t()
            return kernel(x, layer.w13_qweight, {0})
    """
}


def check(body: str, read: str = "layer.order") -> list[Finding]:
    text = "from vllm.m import Base\n\nclass Method(Base):\n" + body
    upstream = {"m.py": UPSTREAM["m.py"].format(read)}
    return findings({"m.py": text}, upstream, upstream, "INI004")


def test_a_parameter_that_is_no_longer_allocated() -> None:
    (found,) = check(
        "    def create_weights(self, layer, size):\n"
        "        layer.register_parameter('w13_qweight', make(size))\n"
        "        layer.group_size = size\n"
    )
    assert "layer.w13_g_idx" in found.message
    assert "process_weights_after_loading" in found.message
    assert found.severity is Severity.ERROR
    assert "AttributeError" in found.consequence


def test_a_conversion_that_no_longer_leaves_its_results() -> None:
    layer, own = check(
        "    def process_weights_after_loading(self, layer):\n        layer.w13_qweight = layer.w13_qweight.t()\n"
    )
    assert "layer.order" in layer.message
    assert "self.is_transposed" in own.message


ALLOCATES = """
    def create_weights(self, layer, size):
        {0}
        layer.register_parameter('w13_qweight', make(size))
"""


def test_nothing_when_it_is_set_some_other_way() -> None:
    assert not check(ALLOCATES.format("super().create_weights(layer, size)"))
    assert not check(ALLOCATES.format("layer.w13_g_idx = None; layer.group_size = size"))
    assert not check(
        ALLOCATES.format("self._indices(layer)")
        + "\n    def _indices(self, layer):\n        layer.w13_g_idx = 1\n"
    )
    assert not check(ALLOCATES.format("for n in NAMES: layer.register_parameter(n, make(size))"))
    assert not check(ALLOCATES.format("other.allocate(layer)"))


def test_nothing_when_the_reader_is_overridden_too_or_asks_first() -> None:
    assert not check(
        ALLOCATES.format("pass") + "\n    def process_weights_after_loading(self, layer):\n"
        "        layer.order = None\n        self.is_transposed = False\n"
    )
    own = "    def process_weights_after_loading(self, layer):\n        self.is_transposed = False\n"
    assert not check(own, "getattr(layer, 'order', None)")


def test_a_read_under_a_condition_is_a_warning() -> None:
    own = "    def process_weights_after_loading(self, layer):\n        self.is_transposed = False\n"
    (found,) = check(own, "layer.order if self.sorted else None")
    assert found.severity is Severity.WARNING

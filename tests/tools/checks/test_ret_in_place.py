"""Callers that still pass the buffer."""

from tests.tools.trees import findings

BASE = """
    class Impl:
        def forward(self, x, output):
            output.copy_(x)
"""
TARGET = """
    class Impl:
        def forward(self, x):
            return x
"""
PLUGIN = {
    "impl.py": """
        from vllm.impl import Impl

        class Ours(Impl):
            def forward(self, x):
                return super().forward(x)
    """,
    "layer.py": """
        from vllm_metax.impl import Ours

        class Layer:
            def __init__(self):
                self.impl = Ours()

            def run(self, x, out):
                self.impl.forward(x, output=out)
    """,
}


def test_a_caller_left_behind() -> None:
    (finding,) = findings(PLUGIN, {"impl.py": BASE}, {"impl.py": TARGET}, "RET003")
    assert finding.path == "vllm_metax/layer.py"
    assert "still passes `output=`" in finding.message


def test_a_caller_of_something_else_is_fine() -> None:
    plugin = {
        **PLUGIN,
        "layer.py": """
            class Other:
                def forward(self, x, output):
                    return x

            def run(other: Other, x, out):
                other.forward(x, output=out)
        """,
    }
    assert findings(plugin, {"impl.py": BASE}, {"impl.py": TARGET}, "RET003") == []

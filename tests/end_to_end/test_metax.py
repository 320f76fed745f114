"""The plugin this program was made for, at three moments of its history.

Needs a clone: ``METAX_UPGRADE_REPOS=DIR``, with the clone at ``DIR/MetaX-MACA/vLLM-metax`` (bare or not).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.clones, pytest.mark.index]
Findings = list[dict[str, Any]]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("metax-cache")


def reviewed(revision: str, tmp_path: Path, cache: Path) -> dict[str, Any]:
    """report.json for the plugin at ``revision``, from vLLM 0.25.0 to 0.26.0."""
    folder = os.environ.get("METAX_UPGRADE_REPOS")
    if not folder:
        pytest.skip("METAX_UPGRADE_REPOS is not set")
    clone = Path(folder) / "MetaX-MACA" / "vLLM-metax"
    assert clone.exists(), f"no clone at {clone}"
    done = subprocess.run(
        [
            sys.executable, "-m", "agent", "review", "--quiet", "--format", "json",
            "--plugin", f"{clone}@{revision}", "--base", "vllm==0.25.0", "--target", "vllm==0.26.0",
            "--out", str(tmp_path / "out"),
        ],
        env={
            **os.environ,
            "METAX_UPGRADE_CACHE": str(cache),
            "METAX_UPGRADE_STATE": str(tmp_path / "state"),
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    loaded: dict[str, Any] = json.loads((tmp_path / "out/report.json").read_text(encoding="utf-8"))
    assert loaded["coverage"]["checks_failed"] == []
    return loaded


def errors(report: dict[str, Any], path: str) -> Findings:
    """Error findings in the plugin file ``path``."""
    return [f for f in report["findings"] if f["path"] == f"vllm_metax/{path}" and f["severity"] == "error"]


def test_at_3aadf08(tmp_path: Path, cache: Path) -> None:
    report = reviewed("3aadf08", tmp_path, cache)
    everything = [f for f in report["findings"] if f["severity"] == "error"]
    assert len(everything) <= 40
    (sparse,) = [
        f for f in errors(report, "v1/attention/backends/mla/flashmla_sparse.py") if f["check"] == "IMP001"
    ]
    assert "`SparseMLAAttentionImpl`" in sparse["message"]
    assert sparse["introduced"]
    (views,) = errors(report, "v1/attention/backends/flashinfer.py")
    assert "`nvfp4_kv_cache_split_views`" in views["message"]
    assert views["introduced"]
    (batched,) = errors(report, "model_executor/layers/fused_moe/experts/fused_batched_moe.py")
    assert "the module has `BatchedTritonExperts`" in batched["message"]
    assert not batched["introduced"]
    (attention,) = errors(report, "models/deepseek_v4/attention.py")
    assert "vllm_metax.registry.custom_ops.layers.sparse_attn_indexer" in attention["suggestion"]
    (memory,) = errors(report, "device_allocator/cumem.py")
    assert memory["silent"]
    assert "`except ModuleNotFoundError` hides it" in memory["message"]
    said = json.dumps(everything)
    for never in ("CompressionFormat", "_version`", "_C_stable_libtorch", "allow_override"):
        assert never not in said


def test_before_the_imports_were_repaired(tmp_path: Path, cache: Path) -> None:
    report = reviewed("596a629^", tmp_path, cache)
    wanted = {
        "model_executor/layers/fused_moe/all2all_utils.py": "import get_ep_all2all_manager",
        "patch/bugfix/triton_support/chunk_delta_h.py": "flash_linear_attention.ops.op import exp",
        "registry/quant_config/auto_gptq.py": "from vllm_metax.registry.linear_kernels import mp",
    }
    for path, suggestion in wanted.items():
        assert any(suggestion in f["suggestion"] for f in errors(report, path)), path
    start = {f["line"]: f for f in errors(report, "__init__.py")}
    assert {f["suggestion"] for f in start.values()} == {
        "`import vllm_metax.registry.custom_ops`",
        "`import vllm_metax.registry.quant_config`",
    }
    delta = errors(report, "patch/bugfix/triton_support/chunk_delta_h.py")
    assert all("during start-up" in f["consequence"] and f["blast_radius"] for f in delta)
    assert [f for f in report["findings"] if f["check"] == "IMP004" and "`FusedMoE`" in f["message"]]


def test_before_the_interface_was_synced(tmp_path: Path, cache: Path) -> None:
    report = reviewed("9c1f529^", tmp_path, cache)
    (found,) = errors(report, "registry/custom_ops/layers/fused_moe/unquantized_fused_moe_method.py")
    assert "takes no argument `layer`" in found["message"]
    assert "requires `moe_config`" in found["message"]

"""REG004: texts that name classes."""

from __future__ import annotations

import pytest

from tests.tools.trees import findings
from tools.findings import Finding

UPSTREAM = {
    "registry.py": """
        class Backends:
            MLA = "vllm.mla.MLABackend"
        def register_backend(backend, class_path=None): ...
        class ModelRegistry: ...
        """,
    "worker.py": "class Worker: ...",
}
PLUGIN = {
    "mla.py": "class MLABackend: ...",
    "register.py": """
        from vllm.registry import Backends, ModelRegistry, register_backend

        def all_of_them(config):
            {statement}
        """,
}


def run(statement: str, target: dict[str, str] = UPSTREAM) -> list[Finding]:
    """Findings for one statement."""
    plugin = {**PLUGIN, "register.py": PLUGIN["register.py"].format(statement=statement)}
    return findings(plugin, UPSTREAM, target, "REG004")


@pytest.mark.parametrize(
    ("statement", "fixed"),
    [
        (
            'register_backend(Backends.MLA, class_path="vllm_metax.mla.AcmeMLABackend")',
            "vllm_metax.mla.MLABackend",
        ),
        (
            'register_backend(Backends.MLA, class_path="vllm_metax.mla.MLABackend.")',
            "vllm_metax.mla.MLABackend",
        ),
        ('register_backend(Backends.MLA, "vllm_metax.mla:MLABackend")', "vllm_metax.mla.MLABackend"),
        ('ModelRegistry.register_model("A", "vllm_metax.gone:MLABackend")', "vllm_metax.mla:MLABackend"),
        ('ModelRegistry.register_model("A", "vllm_metax.mla.MLABackend")', ""),
        ('config.worker_cls = "vllm_metax.mla.MLABackendX"', "vllm_metax.mla.MLABackend"),
        ('return "vllm_metax.nowhere.MLABackend"', "vllm_metax.mla.MLABackend"),
    ],
)
def test_leads_to_nothing(statement: str, fixed: str) -> None:
    (found,) = run(statement)
    assert fixed in found.suggestion
    assert not found.introduced


@pytest.mark.parametrize(
    "statement",
    [
        'register_backend(Backends.MLA, class_path="vllm_metax.mla.MLABackend")',
        'ModelRegistry.register_model("A", "vllm_metax.mla:MLABackend")',
        'config.worker_cls = "vllm.worker.Worker"',
        'if config.worker_cls == "vllm.worker.Gone":\n                pass',
        'config.name = f"vllm_metax.mla.{config}"',
        'config.kernel = "vllm_metax._C.Kernel"',
        '"""Like vllm.worker.Gone."""',
        'config.other = "elsewhere.worker.Gone"',
    ],
)
def test_leads_somewhere_or_is_no_class_path(statement: str) -> None:
    assert not run(statement)


def test_upstream_class_renamed() -> None:
    target = {**UPSTREAM, "worker.py": "class GPUWorker: ..."}
    (found,) = run('config.worker_cls = "vllm.worker.Worker"', target)
    assert found.introduced
    assert "vllm.worker.GPUWorker" in found.suggestion

"""The inventory names every registration, how it is activated and what is in force."""

from __future__ import annotations

from tests.tools.trees import Files, context
from tools.findings import Decision, InventoryRow
from tools.registry.inventory import take_inventory

UPSTREAM: Files = {
    "model_executor/custom_op.py": """
        class CustomOp:
            @classmethod
            def register(cls, name): ...
            @classmethod
            def register_oot(cls, x=None, name=None): ...
        """,
    "layers.py": """
        from vllm.model_executor.custom_op import CustomOp

        @CustomOp.register("silu")
        class Silu(CustomOp):
            pass
        """,
    "model_executor/layers/quantization/__init__.py": """
        from vllm.model_executor.layers.quantization.w4 import W4Config
        QUANTIZATION_METHODS = ["w4"]
        def register_quantization_config(name): ...
        def get_quantization_config(name):
            method_to_config = {"w4": W4Config}
            return method_to_config[name]
        """,
    "model_executor/layers/quantization/w4.py": "class W4Config: ...",
    "model_executor/models/registry.py": '_TEXT_MODELS = {"Arch": ("arch", "ArchModel")}\nclass ModelRegistry: ...',
    "attention.py": """
        from enum import Enum
        class Backends(Enum):
            FLASH = "vllm.attention.Flash"
            CUSTOM = None
        class Flash: ...
        def register_backend(backend, class_path=None): ...
        """,
    "kernels.py": """
        class Platform:
            OOT = 1
        def register_linear_kernel(kernel_class, platform, kernel_type="mp"): ...
        """,
    "utils.py": "def direct_register_custom_op(op_name, op_func): ...",
}
PLUGIN: Files = {
    "__init__.py": """
        def register():
            return "vllm_metax.platform.Platform"
        def register_out_of_tree():
            import vllm_metax.everything
        def register_model():
            from vllm.model_executor.models.registry import ModelRegistry
            ModelRegistry.register_model("Arch", "vllm_metax.everything:Model")
        """,
    "platform.py": "class Platform: ...",
    "everything.py": """
        from vllm.attention import Backends, register_backend
        from vllm.kernels import Platform, register_linear_kernel
        from vllm.layers import Silu as upstream_silu
        from vllm.model_executor.custom_op import CustomOp
        from vllm.model_executor.layers.quantization import register_quantization_config
        from vllm.utils import direct_register_custom_op

        @upstream_silu.register_oot
        class FastSilu(upstream_silu): ...

        @CustomOp.register_oot(name="Other")
        class Other(CustomOp): ...

        @register_quantization_config("w4")
        @register_quantization_config("w4_alias")
        class W4: ...

        @register_quantization_config("w4")
        class Later: ...

        @register_backend(Backends.FLASH)
        class Flash: ...

        class Model: ...
        class Kernel: ...

        def op(x): ...

        register_backend(Backends.CUSTOM, class_path="vllm_metax.everything.Flash")
        register_linear_kernel(Kernel, Platform.OOT, kernel_type="int8")
        direct_register_custom_op(op_name="mx_op", op_func=op)
        """,
}


def rows(plugin: Files = PLUGIN, target: Files = UPSTREAM) -> dict[tuple[str, str], list[InventoryRow]]:
    """Rows by kind and key."""
    out: dict[tuple[str, str], list[InventoryRow]] = {}
    for row in take_inventory(context(plugin, UPSTREAM, target)).rows:
        out.setdefault((row.kind, row.key), []).append(row)
    return out


def test_every_kind_is_found() -> None:
    assert set(rows()) >= {
        ("custom op", "Silu"),
        ("custom op", "Other"),
        ("quantization config", "w4"),
        ("quantization config", "w4_alias"),
        ("attention backend", "Backends.FLASH"),
        ("attention backend", "Backends.CUSTOM"),
        ("linear kernel", "int8 OOT Kernel"),
        ("torch op", "vllm::mx_op"),
        ("model", "Arch"),
        ("platform", "vllm_metax.platform.Platform"),
        ("entry point", "vllm.platform_plugins: vllm_metax:register"),
    }


def test_counterparts() -> None:
    found = rows()
    assert found["custom op", "Silu"][0].counterpart == "vllm.layers:Silu"
    assert found["quantization config", "w4"][0].counterpart == (
        "vllm.model_executor.layers.quantization.w4:W4Config"
    )
    assert found["model", "Arch"][0].counterpart == "vllm.model_executor.models.arch:ArchModel"
    assert found["attention backend", "Backends.FLASH"][0].counterpart == "vllm.attention.Flash"
    assert found["attention backend", "Backends.CUSTOM"][0].counterpart == "Backends.CUSTOM (open)"
    assert found["custom op", "Other"][0].decision is Decision.UPDATE


def test_the_last_registration_is_in_force() -> None:
    first, second = sorted(rows()["quantization config", "w4"], key=lambda r: r.line)
    assert first.effective == "vllm_metax.everything:Later (vllm_metax/everything.py:19 wins)"
    assert second.effective == "vllm_metax.everything:Later"


def test_what_an_error_prevents_is_not_in_force() -> None:
    found = rows(target={**UPSTREAM, "utils.py": ""})
    row = found["quantization config", "w4_alias"][0]
    assert row.effective.startswith("not registered: cannot import name 'direct_register_custom_op'")
    entry = found["entry point", "vllm.general_plugins: vllm_metax:register_out_of_tree"][0]
    assert entry.effective.startswith("raises ImportError")


def test_evidence_exists_and_rows_are_sorted() -> None:
    result = take_inventory(context(PLUGIN, UPSTREAM, UPSTREAM))
    known = {e.id for e in result.evidence}
    assert all(set(r.evidence) <= known for r in result.rows)
    assert list(result.rows) == sorted(result.rows, key=lambda r: (r.kind, r.key, r.path, r.line))


def test_functions_of_the_plugin_that_are_called_alike() -> None:
    plugin = {**PLUGIN, "everything.py": "def register_backend(x): ...\nregister_backend('x')\n"}
    assert not [kind for kind, _ in rows(plugin) if kind == "attention backend"]

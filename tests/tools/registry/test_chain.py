"""Dispatch chains: from the entry point to components outside both packages, in small trees of our own."""

from __future__ import annotations

from tests.tools.trees import Files, context
from tools.findings import Chain, ChainStep
from tools.registry.chain import chains_of

UPSTREAM: Files = {
    "model_executor/layers/quantization/__init__.py": """
    def register_quantization_config(name): ...

    def get_quantization_config(name):
        method_to_config = {}
        return method_to_config[name]
    """,
    "model_executor/layers/quantization/w4.py": """
    class W4Config:
        def get_quant_method(self, layer, prefix):
            return UpstreamMethod(self)

    class UpstreamMethod:
        def apply(self, layer, x):
            return matmul(x, layer.w)

    def matmul(x, w):
        return torch.matmul(x, w)
    """,
    "model_executor/layers/linear.py": """
    import torch

    class LinearBase: ...
    class Routed: ...

    class Plain:
        def apply(self, layer, x):
            return helper(x)

    def helper(x):
        return torch.nn.functional.linear(x, x)
    """,
    "model_executor/custom_op.py": """
    class CustomOp:
        def __new__(cls): ...
        def dispatch_forward(self): ...
        def forward_oot(self, x):
            return self.forward_native(x)
    """,
    "experts.py": """
    import torch

    class FusedMoEExperts: ...

    class UpstreamExperts(FusedMoEExperts):
        def apply(self, x):
            return torch.ops._C.upstream_moe(x)
    """,
    "silu.py": """
    import torch
    from vllm.model_executor.custom_op import CustomOp

    class Silu(CustomOp):
        def forward_native(self, x):
            return torch.nn.functional.silu(x)
    """,
}
PLUGIN: Files = {
    "/setup.py": """
    setup(entry_points={"vllm.general_plugins": ["mx = vllm_metax:register"]})
    """,
    "__init__.py": """
    def register():
        import vllm_metax.registry
    """,
    "registry/__init__.py": "from . import config, ops\n",
    "registry/config.py": """
    from vllm.model_executor.layers.linear import LinearBase, Plain, Routed
    from vllm.model_executor.layers.quantization import register_quantization_config
    from vllm.model_executor.layers.quantization.w4 import W4Config
    from vllm_metax.oracle import select_backend

    @register_quantization_config("w4")
    @register_quantization_config("w4_alias")
    class MacaW4Config(W4Config):
        def get_quant_method(self, layer, prefix):
            if isinstance(layer, LinearBase):
                if skipped(prefix):
                    return Plain()
                return LinearMethod(self)
            elif isinstance(layer, Routed):
                return MoEMethod(self)
            return None

    class LinearMethod:
        def apply(self, layer, x):
            from vllm_metax.kernels import gemm
            return gemm(x)

    class MoEMethod:
        def __init__(self, config):
            self.backend, self.experts_cls = select_backend(config)

        def apply(self, layer, x):
            return self.kernel.apply(x)
    """,
    "registry/ops.py": """
    from vllm.silu import Silu

    @Silu.register_oot
    class MacaSilu(Silu): ...
    """,
    "oracle.py": """
    from vllm.experts import FusedMoEExperts, UpstreamExperts

    class MacaExperts(FusedMoEExperts):
        def apply(self, x):
            import mcoplib
            return mcoplib.fused_moe(x)

    def backends(config):
        if config.fast:
            return [MacaExperts]
        return [UpstreamExperts]

    def select_backend(config):
        for cls in backends(config):
            return "fast", cls
    """,
    "kernels.py": """
    import importlib
    import torch
    import vllm_metax.slow as s

    name = "vllm_metax.quick" if FAST else "vllm_metax.slow"
    ops = importlib.import_module(name)

    def gemm(x):
        return ops.gemm(x)
    """,
    "quick.py": """
    import torch
    from vllm.utils import direct_register_custom_op

    def gemm(x):
        return torch.ops.vllm.mx_gemm(x)

    def _mx_gemm(x):
        kernel[(1,)](x)

    @triton.jit
    def kernel(x): ...

    direct_register_custom_op(op_name="mx_gemm", op_func=_mx_gemm)
    """,
    "slow.py": """
    import torch

    def gemm(x):
        return torch.ops._C.gemm(x)
    """,
}
UPSTREAM_ALL: Files = {**UPSTREAM, "utils.py": "def direct_register_custom_op(**k): ...\n"}


def chain(key: str, plugin: Files = PLUGIN) -> Chain:
    chains = chains_of(context(plugin, UPSTREAM_ALL, UPSTREAM_ALL))
    return next(c for c in chains if c.key == key)


def steps(found: Chain, role: str) -> list[ChainStep]:
    return [s for s in found.steps if s.role == role]


def test_the_stem_leads_from_the_entry_point_to_the_lookup() -> None:
    found = chain("w4")
    roles = [s.role for s in found.steps]
    assert (
        roles.index("entry point")
        < roles.index("import")
        < roles.index("registration")
        < roles.index("lookup")
    )
    assert steps(found, "entry point")[0].path == "setup.py"
    assert steps(found, "registration")[0].path == "vllm_metax/registry/config.py"
    assert steps(found, "lookup")[0].name.endswith(":get_quantization_config")


def test_every_branch_of_a_selection_with_its_condition() -> None:
    found = chain("w4")
    methods = {s.name.rpartition(":")[2]: s for s in steps(found, "selected method")}
    assert set(methods) == {"Plain", "LinearMethod", "MoEMethod"}
    assert "isinstance(layer, LinearBase)" in methods["LinearMethod"].when
    assert any(s.name == "None" for s in steps(found, "selection"))


def test_where_the_plugin_hands_over_to_upstream() -> None:
    found = chain("w4")
    back = {s.name.rpartition(":")[2] for s in found.steps if s.fallback}
    assert {"Plain", "UpstreamExperts"} <= back
    assert "LinearMethod" not in back
    assert "MacaExperts" not in back


def test_an_oracle_with_every_class_it_may_select() -> None:
    found = chain("w4")
    assert steps(found, "oracle")[0].name.endswith(":select_backend")
    assert {s.name.rpartition(":")[2] for s in steps(found, "experts")} == {"MacaExperts", "UpstreamExperts"}
    assert {"mcoplib.fused_moe", "torch.ops._C.upstream_moe"} <= set(found.boundaries)


def test_modules_imported_by_string_and_ops_of_the_plugin_are_followed() -> None:
    found = chain("w4")
    assert {"kernel vllm_metax.quick:kernel", "torch.ops._C.gemm"} <= set(found.boundaries)
    assert steps(found, "torch op")[0].note == "registered as vllm::mx_gemm"


def test_a_call_that_cannot_be_followed_is_named() -> None:
    assert any("self.kernel.apply" in place for place in chain("w4").unresolved)


def test_an_alias_points_to_the_chain_of_its_class() -> None:
    first, second = (chain(key) for key in ("w4", "w4_alias"))
    assert len(second.steps) < len(first.steps)
    assert any("the same class as w4" in s.note for s in second.steps)


def test_an_op_that_inherits_its_forward() -> None:
    found = chain("Silu")
    assert steps(found, "lookup")[0].name.endswith(":CustomOp.__new__")
    (forward,) = [s for s in steps(found, "method") if s.name.endswith("forward_oot")]
    assert forward.fallback
    assert "inherited" in forward.note
    assert found.boundaries == ("torch.nn.functional.silu",)


def test_an_ir_op_ends_a_chain() -> None:
    target = {
        **UPSTREAM_ALL,
        "ir/ops.py": "@register_op\ndef silu(x): ...\n",
        "silu.py": UPSTREAM_ALL["silu.py"]
        .replace("import torch", "from vllm import ir\n    import vllm.ir.ops")
        .replace("torch.nn.functional.silu", "ir.ops.silu"),
    }
    found = next(c for c in chains_of(context(PLUGIN, target, target)) if c.key == "Silu")
    assert found.boundaries == ("ir op silu",)


def test_a_patched_function_is_followed_to_its_replacement() -> None:
    patched = {
        **PLUGIN,
        "registry/__init__.py": "from . import config, ops, patches\n",
        "registry/patches.py": """
        import vllm.model_executor.layers.linear as linear

        def fast_helper(x):
            import flash_thing
            return flash_thing.run(x)

        linear.helper = fast_helper
        """,
    }
    assert "flash_thing.run" in chain("w4", patched).boundaries


def test_branches_that_contradict_each_other_are_left_out() -> None:
    delegating = {
        **PLUGIN,
        "registry/config.py": PLUGIN["registry/config.py"].replace(
            "return MoEMethod(self)", "return Other().get_quant_method(layer, prefix)"
        )
        + """
    class Other:
        def get_quant_method(self, layer, prefix):
            if isinstance(layer, LinearBase):
                return Never(self)
            return MoEMethod(self)

    class Never:
        def apply(self, layer, x): ...
    """,
    }
    names = {s.name.rpartition(":")[2] for s in steps(chain("w4", delegating), "selected method")}
    assert "MoEMethod" in names
    assert "Never" not in names


def test_every_step_says_where_it_stands() -> None:
    for found in chains_of(context(PLUGIN, UPSTREAM_ALL, UPSTREAM_ALL)):
        assert found.evidence
        for step in found.steps:
            assert step.path, step
            assert step.line, step

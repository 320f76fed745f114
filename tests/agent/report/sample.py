"""What a review of a real upgrade looks like, built by code."""

from __future__ import annotations

from tests.agent.report.records import (
    IMPORT_EXCERPT,
    RULES,
    UPSTREAM_EXCERPT,
    evidence,
    finding,
    identity,
)
from tools.findings import (
    Attribution,
    Blocked,
    Certainty,
    Chain,
    ChainStep,
    Coverage,
    Decision,
    Discrepancy,
    Disposition,
    InventoryRow,
    Level,
    MergeRow,
    Report,
    Severity,
    Status,
    SupportCell,
    SupportFact,
    SupportRow,
    Unresolved,
)


def sample_chain() -> Chain:
    """From an entry point to a kernel, with a fallback on the way."""

    def step(depth: int, role: str, name: str, where: str = "plugin", **more: object) -> ChainStep:
        values = {"path": "vllm_metax/m.py", "line": 7, **more}
        return ChainStep(depth=depth, role=role, name=name, where=where, **values)  # type: ignore[arg-type]

    return Chain(
        kind="quantization config",
        key="w4",
        steps=(
            step(0, "entry point", "entry point vllm.general_plugins: mx"),
            step(0, "registration", "quantization config w4"),
            step(0, "config", "vllm_metax.m:W4Config"),
            step(
                1,
                "selected method",
                "vllm.linear:Plain",
                "upstream",
                when="isinstance(layer, X)",
                fallback=True,
            ),
            step(2, "kernel boundary", "torch.ops._C.gemm", "outside"),
            step(1, "selected method", "vllm_metax.m:W4Method"),
            step(2, "kernel boundary", "mcoplib.gemm", "outside", note="shown above"),
        ),
        boundaries=("mcoplib.gemm", "torch.ops._C.gemm"),
        unresolved=("vllm_metax/m.py:9 self.kernel.apply",),
        evidence=("e1",),
    )


def sample_support() -> SupportRow:
    """A method that says something about one dimension and nothing about another."""

    def fact(accepts: bool, text: str) -> SupportFact:
        return SupportFact(
            accepts=accepts,
            text=text,
            path="vllm_metax/m.py",
            line=3,
            symbol="W4Method.apply",
            stage="execution",
        )

    return SupportRow(
        key="w4",
        part="MoE",
        symbol="vllm_metax.m:W4Method",
        when="isinstance(layer, X)",
        cells=(
            SupportCell(dimension="bias", facts=(fact(True, "always"), fact(False, "when `bias | 1`"))),
            SupportCell(dimension="symmetry"),
        ),
        evidence=("e1",),
    )


def sample_report() -> Report:
    """What a review of a real upgrade looks like."""
    call = (
        "return super().forward(query, kv_cache, layer=self.layer,\n                       output=output)\n"
    )
    target = "def convert_to_unquantized_kernel_format(\n    backend: Backend,"
    target += " *, moe_config: FusedMoEConfig\n) -> None:\n"
    base = target.replace("*, moe_config: FusedMoEConfig", "layer: torch.nn.Module")
    findings = (
        finding(
            1,
            line=13,
            related=("f00000000002",),
            blast_radius=tuple(f"CustomOp maca_op_{n}" for n in range(9)),
        ),
        finding(
            2,
            path="vllm_metax/patch/sparse_indexer.py",
            line=5,
            symbol="patch_indexer",
            certainty=Certainty.LIKELY,
            evidence=("e2", "e3"),
            status=Status.PARTLY_FIXED,
        ),
        finding(
            3,
            check="CAL001",
            path="vllm_metax/quant_config/unquantized.py",
            line=88,
            symbol="MacaUnquantizedMethod.process_weights",
            message="`convert_to_unquantized_kernel_format` takes no `layer=` and requires `moe_config=`",
            trigger="Loading any unquantized MoE model",
            consequence="TypeError while weights are loaded",
            suggestion="Pass `moe_config=self.moe`; the layer is found through it",
            evidence=("e4", "e5", "e6"),
            cause="`convert_to_unquantized_kernel_format` takes `moe_config` in place of `layer`",
            level=Level.SIGNATURE,
        ),
        finding(
            4,
            check="REG001",
            path="vllm_metax/registry/custom_ops/layers/activation.py",
            line=31,
            symbol="MacaSiluAndMul",
            severity=Severity.WARNING,
            silent=True,
            message="CustomOp key `silu_and_mul_maca` matches no upstream class",
            trigger="Any model with a SiLU gate",
            consequence="The MACA kernel is never used; the generic one answers, with other rounding",
            suggestion="Register under `silu_and_mul`",
            evidence=("e7",),
            cause="CustomOp keys are looked up by class since 0.26",
            since="0.26.0",
        ),
        finding(
            5,
            check="IMP001",
            path="vllm_metax/device_allocator/cumem.py",
            line=40,
            introduced=False,
            severity=Severity.ERROR,
            silent=True,
            message="`vllm_metax.patch.extra` is gone; the `except ImportError` turns sleep mode off",
            trigger="`enable_sleep_mode=True`",
            consequence="Sleep mode is refused although the allocator is there",
            suggestion="",
            since=None,
            evidence=("e8",),
            attribution=Attribution.EXISTING,
            decision=Decision.REMOVE,
            cause="",
        ),
        finding(
            6,
            check="DRF001",
            path="vllm_metax/models/deepseek_v4/attention.py",
            line=210,
            symbol="DeepseekV4Attention.forward",
            severity=Severity.NOTE,
            certainty=Certainty.POSSIBLE,
            message="The counterpart of this copy changed between base and target; the copy did not",
            trigger="Running DeepSeek V4 with speculative decoding",
            consequence="A fix of upstream is missing here",
            suggestion="Merge the upstream change\nand keep the NOTE(MetaX) block",
            evidence=("e4",),
            decision=Decision.UNDECIDED,
            cause="Draft tokens are masked in `DeepseekV4Attention.forward`",
        ),
    )
    return Report(
        tool_version="0.1.0",
        profile="metax",
        subject=identity(
            "worktree", ".", "vllm_metax", "0.25.0+maca", "3aadf08" + "c0ffee" * 5 + "abc", dirty=True
        ),
        base=identity("release", "vllm==0.25.0", "vllm", "0.25.0"),
        target=identity("release", "vllm==0.26.0", "vllm", "0.26.0"),
        environment={
            "python": "3.11.7",
            "ty": "0.0.108",
            "import vllm": "/opt/venv/lib/python3.11/site-packages/vllm, from site-packages",
        },
        discrepancies=(
            Discrepancy(
                kind="shadowed",
                about="vllm",
                severity=Severity.WARNING,
                what="`import vllm` takes /work/vllm from the current folder.",
                means="What tools report belongs to another copy than the one that runs.",
                remedy="Start elsewhere.",
            ),
        ),
        coverage=Coverage(
            plugin_files=164,
            upstream_files_base=1987,
            upstream_files_target=2035,
            checks=tuple(sorted(RULES)),
            checks_failed=("OVR002",),
            skipped=("vllm_metax/data/big.py: larger than 4 MB", "vllm_metax/link: points out of the tree"),
            unresolved=3,
            unchanged=tuple(f"vllm.model_executor.layers.linear:Linear{n}.forward" for n in range(12)),
        ),
        timings={"sources": 3.21, "code": 4.56, "checks": 1.2},
        blocked=(
            Blocked(what="vllm 0.25.1", why="the index does not answer", remedy="Give --base a folder."),
        ),
        findings=findings,
        unresolved=(
            Unresolved(
                check="CAL001",
                path="vllm_metax/a.py",
                line=4,
                symbol="f",
                reason="callee is `getattr(mod, name)`",
            ),
            Unresolved(
                check="CAL001",
                path="vllm_metax/b.py",
                line=9,
                symbol="g",
                reason="`**kwargs` of unknown keys",
            ),
            Unresolved(
                check="OVR002", path="vllm_metax/c.py", line=2, symbol="C.m", reason="base class is computed"
            ),
        ),
        chains=(sample_chain(),),
        support=(sample_support(),),
        inventory=tuple(
            InventoryRow(
                kind="custom op",
                key=f"maca_op_{n}",
                path="vllm_metax/registry/custom_ops.py",
                line=10 + n,
                symbol=f"MacaOp{n}",
                activation="register_out_of_tree",
                effective="replaces the upstream op" if n % 2 else "never looked up",
                counterpart=f"vllm.model_executor.layers.op{n}:Op{n}",
                difference="MACA kernel",
                decision=Decision.RETAIN,
                evidence=("e1",),
            )
            for n in range(5)
        ),
        dispositions=(
            Disposition(
                commit="0123456789abcdef0123456789abcdef01234567",
                title="[Attention] Rename SparseMLAAttentionImpl (#31415)",
                disposition="needs a MetaX merge",
                reason="the plugin subclasses it",
                symbols=("vllm.v1.attention.backends.mla.sparse:SparseMLACommonImpl",),
                certainty=Certainty.CERTAIN,
            ),
        ),
        merges=(
            MergeRow(
                path="vllm_metax/models/x.py",
                symbol="X.f",
                counterpart="vllm.models.x:X.f",
                state="clean",
                diff="-a\n+b\n",
                evidence=(),
            ),
        ),
        evidence=(
            evidence(1, "plugin", "vllm_metax/attention/flashmla_sparse.py", 8, IMPORT_EXCERPT),
            evidence(2, "target", "vllm/v1/attention/backends/mla/sparse.py", 101, UPSTREAM_EXCERPT),
            evidence(3, "plugin", "vllm_metax/patch/sparse_indexer.py", 1, IMPORT_EXCERPT),
            evidence(4, "plugin", "vllm_metax/quant_config/unquantized.py", 87, call),
            evidence(5, "base", "vllm/model_executor/layers/fused_moe/oracle.py", 40, base),
            evidence(6, "target", "vllm/model_executor/layers/fused_moe/oracle.py", 44, target),
            evidence(
                7,
                "plugin",
                "vllm_metax/registry/custom_ops/layers/activation.py",
                30,
                '@CustomOp.register("silu_and_mul_maca")\nclass MacaSiluAndMul(SiluAndMul):\n',
            ),
            evidence(
                8,
                "ty",
                "vllm_metax/device_allocator/cumem.py",
                40,
                "error[unresolved-import]: Cannot resolve imported module",
                "diagnostic",
                "ty check --output-format concise",
            ),
        ),
    )

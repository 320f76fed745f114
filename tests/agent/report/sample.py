"""Reports built by code: a realistic one, a hostile one, an empty one and a large one."""

from __future__ import annotations

import hashlib

from agent.report import RuleInfo
from tools.findings import (
    Attribution,
    Blocked,
    Certainty,
    Coverage,
    Decision,
    Disposition,
    Evidence,
    Finding,
    Identity,
    InventoryRow,
    Level,
    MergeRow,
    Report,
    Severity,
    Status,
    Unresolved,
)

RULES = {
    "IMP001": RuleInfo("A name imported from upstream is gone", "Says **where it went**.\n", Severity.ERROR),
    "CAL001": RuleInfo("A call no longer binds", "See `inspect.Signature.bind`.\n", Severity.ERROR),
    "OVR002": RuleInfo("An override that a target caller would break", "", Severity.ERROR),
    "REG001": RuleInfo("A registry key that upstream never looks up", "Silent.\n", Severity.WARNING),
    "DRF001": RuleInfo("Copied code is behind its counterpart", "A copy ages.\n", Severity.NOTE),
}

HOSTILE = (
    "</script><script>document.title='owned'</script> </details> <img src=x onerror=alert(1)> "
    "``` ```` ` | pipe | [link](javascript:alert(1)) ![i](http://evil.example/x.png) [red]rich[/red] [/] "
    "@someone #12 www.evil.example {{ 7*7 }} {% raw %} <!-- --> nul\x00 esc\x1b[31m bidi\u202eflip\u2066 "
    "zero\u200bwidth tag\U000e0041 nbsp\u00a0 surrogate\udc80\udcff non-ASCII äöü 漢字 🚀 \\| \\` &amp; $x^2$"
)
LONG = "x = " + "very_long_identifier + " * 400

IMPORT_EXCERPT = '''\
import torch

from vllm.v1.attention.backends.mla.common import MLACommonImpl
from vllm.v1.attention.backends.mla.sparse import (
    SparseMLAAttentionImpl,
    get_mla_dims,
)

logger = init_logger(__name__)


@register_backend("flashmla_sparse")
class MacaSparseBackend(MLACommonImpl):
    """Sparse MLA for MACA."""  # NOTE(MetaX): kept apart from CUDA
'''

UPSTREAM_EXCERPT = '''\
class SparseMLACommonImpl(MLAAttentionImpl[T], Generic[T]):
    """Renamed from SparseMLAAttentionImpl; `topk` moved to the metadata."""

    def __init__(self, num_heads: int, head_size: int, scale: float, *, topk: int = 2048) -> None:
        super().__init__(num_heads, head_size, scale)
        self.topk = topk
'''


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def evidence(
    number: int,
    source: str,
    path: str,
    first: int,
    excerpt: str,
    kind: str = "source",
    command: str | None = None,
) -> Evidence:
    return Evidence(
        id=f"e{number}",
        kind=kind,
        source=source,
        path=path,
        lines=(first, first + max(len(excerpt.splitlines()), 1) - 1),
        sha256=digest(path),
        command=command,
        excerpt=excerpt,
    )


def finding(number: int, **changes: object) -> Finding:
    values: dict[str, object] = {
        "id": f"f{number:011x}",
        "check": "IMP001",
        "path": "vllm_metax/attention/flashmla_sparse.py",
        "line": 12,
        "symbol": "",
        "severity": Severity.ERROR,
        "certainty": Certainty.CERTAIN,
        "introduced": True,
        "message": "`SparseMLAAttentionImpl` is gone from `vllm.v1.attention.backends.mla.sparse`",
        "trigger": "Starting any engine: the module is imported while the platform is being resolved",
        "consequence": "ImportError before the first registration; 14 custom ops are never registered",
        "since": "0.26.0",
        "suggestion": "Import `SparseMLACommonImpl` from the same module and pass `topk=` by keyword",
        "evidence": ("e1", "e2"),
        "attribution": Attribution.REGRESSION,
        "decision": Decision.UPDATE,
        "level": Level.SOURCE,
        "cause": "`SparseMLAAttentionImpl` renamed to `SparseMLACommonImpl`",
    }
    return Finding.model_validate(values | changes)


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
        environment={"python": "3.11.7", "ty": "0.0.108"},
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


def identity(
    kind: str,
    label: str,
    name: str | None = None,
    version: str | None = None,
    revision: str | None = None,
    *,
    dirty: bool | None = None,
) -> Identity:
    return Identity(
        kind=kind,
        label=label,
        name=name,
        version=version,
        revision=revision,
        dirty=dirty,
        digest=digest(label),
    )


def hostile_report() -> Report:
    """Every text field that a source tree can reach holds markup, controls and half characters."""
    report = sample_report()
    bad = evidence(
        9, "plugin", f"vllm_metax/{HOSTILE[:60]}/a.py", 1, f"{HOSTILE}\n````\n</pre></code>\n{LONG}\nlast\n"
    )
    row = finding(
        9,
        path=f"vllm_metax/{HOSTILE[:60]}/a.py",
        line=2,
        symbol=HOSTILE,
        message=HOSTILE,
        trigger=HOSTILE,
        consequence=f"{HOSTILE}\n# not a heading\n\n- not a list",
        suggestion=HOSTILE,
        since=HOSTILE,
        cause=HOSTILE,
        silent=True,
        evidence=("e9",),
        blast_radius=(HOSTILE,),
    )
    odd = finding(10, message="`unbalanced", cause="`a|b` and `c\\|d`", path="we ird/`tick|.py", symbol="|`")
    return report.model_copy(
        update={
            "findings": (*report.findings, row, odd),
            "evidence": (*report.evidence, bad),
            "subject": identity("folder", HOSTILE, HOSTILE, HOSTILE),
            "environment": {"python": HOSTILE, HOSTILE: "x"},
            "blocked": (Blocked(what=HOSTILE, why=HOSTILE, remedy=HOSTILE),),
            "unresolved": (Unresolved(check="CAL001", path=HOSTILE, line=1, symbol=HOSTILE, reason=HOSTILE),),
            "inventory": (
                report.inventory[0].model_copy(
                    update={"key": HOSTILE, "kind": HOSTILE, "counterpart": HOSTILE}
                ),
            ),
            "dispositions": (
                report.dispositions[0].model_copy(update={"title": HOSTILE, "reason": HOSTILE}),
            ),
            "coverage": report.coverage.model_copy(update={"unchanged": (HOSTILE,), "skipped": (HOSTILE,)}),
        }
    )


def empty_report() -> Report:
    """Nothing found and nothing blocked."""
    return sample_report().model_copy(
        update={
            "findings": (),
            "unresolved": (),
            "inventory": (),
            "dispositions": (),
            "merges": (),
            "evidence": (),
            "blocked": (),
            "coverage": Coverage(plugin_files=164, checks=("CAL001", "IMP001")),
        }
    )


def large_report(errors: int, warnings: int, notes: int = 0) -> Report:
    """Many findings with two excerpts each, over a realistic number of causes and files."""
    findings: list[Finding] = []
    items: list[Evidence] = []
    severities = [Severity.ERROR] * errors + [Severity.WARNING] * warnings + [Severity.NOTE] * notes
    checks = sorted(RULES)
    for number, severity in enumerate(severities):
        path = f"vllm_metax/model_executor/layers/quantization/module_{number % 53}.py"
        items.append(evidence(2 * number + 100, "plugin", path, number + 1, IMPORT_EXCERPT))
        items.append(
            evidence(2 * number + 101, "target", f"vllm/layers/module_{number % 37}.py", 7, UPSTREAM_EXCERPT)
        )
        findings.append(
            finding(
                number + 100,
                check=checks[number % len(checks)],
                path=path,
                line=number + 5,
                symbol=f"MacaLayer{number}.process_weights_after_loading",
                severity=severity,
                introduced=number % 4 != 0,
                silent=number % 17 == 0,
                cause=f"`vllm.layers.module_{number % 71}:Layer.forward` takes `moe_config`, not `layer`",
                evidence=(f"e{2 * number + 100}", f"e{2 * number + 101}"),
            )
        )
    return sample_report().model_copy(
        update={
            "findings": tuple(findings),
            "evidence": (*sample_report().evidence, *items),
            "unresolved": tuple(
                Unresolved(
                    check="CAL001",
                    path=f"vllm_metax/m{n}.py",
                    line=n + 1,
                    symbol="f",
                    reason="callee unknown",
                )
                for n in range(len(severities))
            ),
            "coverage": sample_report().coverage.model_copy(
                update={"unchanged": tuple(f"vllm.layers.linear:Linear{n}.forward" for n in range(600))}
            ),
        }
    )

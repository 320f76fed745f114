"""Parts that the sample reports are made of."""

from __future__ import annotations

import hashlib

from agent.report import RuleInfo
from tools.findings import (
    Attribution,
    Certainty,
    Decision,
    Evidence,
    Finding,
    Identity,
    Level,
    Severity,
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

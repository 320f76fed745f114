"""ENU002: a member of one Enum class passed for another."""

from __future__ import annotations

from tests.tools.trees import Files, findings
from tools.findings import Finding, Severity

UPSTREAM: Files = {
    "oracle.py": """
    from enum import Enum

    class Backend(Enum):
        TRITON = "triton"

    def convert(w, backend: Backend):
        if backend == Backend.TRITON:
            return w.t()
        return w

    def log(backend: Backend):
        print(backend)

    def anything(backend): ...
    """
}
PLUGIN = """
from enum import Enum
from vllm import oracle

class Backend(Enum):
    TRITON = "triton"

def select() -> tuple[Backend, type]: ...

class Method:
    def __init__(self):
        self.backend, self.cls = select()

    def process(self, w):
        return {0}
"""


def check(call: str) -> list[Finding]:
    return findings({"m.py": PLUGIN.format(call)}, UPSTREAM, UPSTREAM, "ENU002")


def test_the_selected_backend_reaches_a_function_of_the_other_class() -> None:
    (found,) = check("oracle.convert(w, backend=self.backend)")
    assert "`vllm_metax.m.Backend`" in found.message
    assert "vllm.oracle:8" in found.message
    assert found.severity is Severity.WARNING
    assert found.silent
    (found,) = check("oracle.convert(w, Backend.TRITON)")
    (found,) = check("oracle.log(self.backend)")
    assert found.severity is Severity.NOTE


def test_near_misses() -> None:
    assert not check("oracle.convert(w, backend=oracle.Backend.TRITON)")
    assert not check("oracle.convert(w, oracle.Backend(self.backend.value))")
    assert not check("oracle.anything(self.backend)")
    assert not check("unknown(self.backend)")

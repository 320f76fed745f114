"""ENU001: members of two Enum classes compared or looked up."""

from __future__ import annotations

from tests.tools.trees import Files, findings
from tools.findings import Finding, Severity

UPSTREAM: Files = {
    "oracle.py": """
    from enum import Enum, IntEnum

    class Backend(Enum):
        TRITON = "triton"
        CUTLASS = "cutlass"

    class Level(IntEnum):
        LOW = 1

    class Base: ...
    """
}
COPY = """
from enum import Enum, IntEnum

class Backend(Enum):
    TRITON = "triton"
    CUTLASS = "cutlass"

class Level(IntEnum):
    LOW = 1

def select() -> tuple[Backend, type]:
    return Backend.TRITON, object

def current() -> Backend: ...
"""


def check(text: str) -> list[Finding]:
    return findings({"oracle.py": COPY, "m.py": text}, UPSTREAM, UPSTREAM, "ENU001")


def test_two_classes_of_one_name_are_compared() -> None:
    (found,) = check(
        """
        from vllm.oracle import Backend
        from vllm_metax.oracle import select

        class Method:
            def __init__(self):
                self.backend, self.cls = select()

            def convert(self):
                if self.backend == Backend.TRITON:
                    return 1
        """
    )
    assert "`vllm_metax.oracle.Backend` with `vllm.oracle.Backend`" in found.message
    assert "always False" in found.consequence
    assert found.silent
    assert found.severity is Severity.WARNING


def test_other_operators_annotations_and_returns() -> None:
    text = """
    from vllm import oracle
    from vllm_metax.oracle import Backend, current

    def f(backend: oracle.Backend):
        return {0}
    """
    (found,) = check(text.format("backend != Backend.TRITON"))
    assert "always True" in found.consequence
    assert check(text.format("backend in (Backend.TRITON, Backend.CUTLASS)"))
    assert check(text.format("current() is oracle.Backend.TRITON"))
    assert not check(text.format("backend in (Backend.TRITON, oracle.Backend.CUTLASS)"))


def test_lookups() -> None:
    text = """
    from vllm.oracle import Backend as Theirs
    from vllm_metax.oracle import Backend

    TABLE = {{Backend.TRITON: 1, Backend.CUTLASS: 2}}

    def f(backend: Theirs):
        return {0}
    """
    (found,) = check(text.format("TABLE[backend]"))
    assert found.consequence == "KeyError"
    assert found.severity is Severity.ERROR
    assert not found.silent
    (found,) = check(text.format("TABLE.get(backend)"))
    assert "default" in found.consequence
    assert found.silent
    assert check(text.format("{Theirs.TRITON: 1, Backend.TRITON: 2}"))


def test_near_misses() -> None:
    assert not check(
        """
        from vllm.oracle import Backend, Level as Theirs
        from vllm_metax.oracle import Backend as Own, Level

        TABLE = {Own.TRITON: Backend.TRITON}

        def f(backend: Backend, level: Theirs, other, own: Own):
            TABLE[own]
            Level.LOW == level          # equal by value
            backend == Backend.CUTLASS  # one class
            other == Own.TRITON         # unknown
            backend == Own.TRITON.value
            backend.value == Own.TRITON.value
            return backend == "triton"
        """
    )


def test_a_re_export_is_the_same_class() -> None:
    shim = "from vllm.oracle import Backend\n"
    text = """
    from vllm.oracle import Backend
    from vllm_metax.shim import Backend as Same

    def f(backend: Backend):
        return backend == Same.TRITON
    """
    assert not findings({"shim.py": shim, "m.py": text}, UPSTREAM, UPSTREAM, "ENU001")

from __future__ import annotations

import pytest

from tests.tools.trees import Files, findings
from tools.findings import Certainty, Finding, Severity

INIT = "import vllm_metax.patches\n"


def patched(text: str, base: Files, target: Files, *ids: str) -> list[Finding]:
    return findings({"__init__.py": INIT, "patches.py": text}, base, target, *(ids or ("PAT002",)))


KERNEL = """
import triton

@triton.jit
def greedy_kernel(out, bonus, width{more}):
    pass

def sample(out, bonus, grid):
    greedy_kernel[grid](out, bonus, 4{passed}, num_warps=1)
"""
OWN_KERNEL = """
import triton
import vllm.sampler

@triton.jit
def greedy_kernel({params}):
    pass

vllm.sampler.greedy_kernel = greedy_kernel
"""


def test_launch_passes_what_the_patched_kernel_does_not_take() -> None:
    (found,) = patched(
        OWN_KERNEL.format(params="out, bonus, width"),
        {"sampler.py": KERNEL.format(more="", passed="")},
        {"sampler.py": KERNEL.format(more=", SYNTHETIC", passed=", SYNTHETIC=True")},
    )
    assert (found.severity, found.certainty) == (Severity.ERROR, Certainty.CERTAIN)
    assert "`SYNTHETIC`" in found.message
    assert found.introduced


def test_launch_that_fits() -> None:
    same = {"sampler.py": KERNEL.format(more="", passed="")}
    assert not patched(OWN_KERNEL.format(params="out, bonus, width"), same, same)


def test_launch_by_position_in_another_order() -> None:
    (found,) = patched(
        OWN_KERNEL.format(params="out, width, bonus"),
        {"sampler.py": KERNEL.format(more="", passed="")},
        {"sampler.py": KERNEL.format(more="", passed="")},
    )
    assert found.severity is Severity.WARNING
    assert found.silent
    assert not found.introduced


ROUTER = """
class BaseRouter:
    def select(self, states, ids):
        return self._route(states{passed})

    def _route(self, states{more}):
        raise NotImplementedError

class GroupedRouter(BaseRouter):
    def _route(self, states{more}):
        return states
"""
OWN_ROUTER = """
from vllm.router import GroupedRouter

def _route(self, states{more}):
    return states

GroupedRouter._route = _route
"""


@pytest.mark.parametrize(("own", "count"), [("", 1), (", *, input_ids=None", 0), (", **kwargs", 0)])
def test_patched_method_called_from_the_base_class(own: str, count: int) -> None:
    found = patched(
        OWN_ROUTER.format(more=own),
        {"router.py": ROUTER.format(passed="", more="")},
        {"router.py": ROUTER.format(passed=", input_ids=ids", more=", *, input_ids=None")},
    )
    assert len(found) == count


def test_method_of_another_family_is_not_meant() -> None:
    other = "class Other:\n    def _route(self, a, b):\n        return a\n\ndef use(x: Other):\n    x._route(1, b=2)\n"
    files = {"router.py": ROUTER.format(passed="", more=""), "other.py": other}
    assert not patched(OWN_ROUTER.format(more=""), files, files)


def test_function_handed_on_as_a_value() -> None:
    coordinator = """
    class Proc:
        @staticmethod
        def run(address{more}):
            return address

    def start(process):
        process(target=Proc.run, kwargs={{}})
    """
    own = "from vllm.coordinator import Proc\n\ndef run(address):\n    return address\n\nProc.run = run\n"
    (found,) = patched(
        own,
        {"coordinator.py": coordinator.format(more="")},
        {"coordinator.py": coordinator.format(more=", waves=True")},
    )
    assert (found.severity, found.certainty) == (Severity.WARNING, Certainty.POSSIBLE)


LIBRARY = """
class Library:
    def comm_init(self, rank):
        return rank
{more}
"""
USER = """
from vllm.wrapper import Library

class Communicator:
    def __init__(self, library: Library):
        self.library = library
        self.library.comm_init(0)
{more}
"""
OWN_LIBRARY = """
import vllm.wrapper

class McclLibrary{bases}:
    def comm_init(self, rank):
        return rank

vllm.wrapper.Library = McclLibrary
"""
ABORT = "    def comm_abort(self, comm):\n        return comm\n"
CALL = "\n    def close(self):\n        self.library.comm_abort(1)\n"


def test_replacing_class_lacks_a_member() -> None:
    (found,) = patched(
        OWN_LIBRARY.format(bases=""),
        {"wrapper.py": LIBRARY.format(more=""), "user.py": USER.format(more="")},
        {"wrapper.py": LIBRARY.format(more=ABORT), "user.py": USER.format(more=CALL)},
        "PAT003",
    )
    assert found.severity is Severity.ERROR
    assert "`comm_abort`" in found.message


def test_replacing_class_that_derives_from_the_original() -> None:
    assert not patched(
        OWN_LIBRARY.format(bases="(vllm.wrapper.Library)"),
        {"wrapper.py": LIBRARY.format(more=""), "user.py": USER.format(more="")},
        {"wrapper.py": LIBRARY.format(more=ABORT), "user.py": USER.format(more=CALL)},
        "PAT003",
    )


def test_member_that_nobody_calls() -> None:
    files = {"wrapper.py": LIBRARY.format(more=ABORT), "user.py": USER.format(more="")}
    assert not patched(OWN_LIBRARY.format(bases=""), files, files, "PAT003")

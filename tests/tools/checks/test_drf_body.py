from __future__ import annotations

from tests.tools.trees import Files, findings
from tools.findings import Severity

WAKE = """
class Worker:
    def wake_up(self, tags):
        allocator = self.allocator()
        allocator.wake_up(tags)
        if tags is None or "weights" in tags:
            self.restore_buffers()
        if tags is None or "kv" in tags:
            self.runner.init_scales()
{last}
"""
PATCHED = """
from vllm.worker import Worker

def wake_up(self, tags):
    # vendor's allocator
    allocator = vendor_allocator()
    allocator.wake_up(tags)
    if tags is None or "weights" in tags:
        self.restore_buffers()
    if tags is None or "kv" in tags:
        self.runner.init_scales()
{last}

Worker.wake_up = wake_up
"""
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def copy_kernel(h, out, T, BT, stride_h):
    i_t = tl.program_id(0)
    offset = {index} * stride_h
    mask = tl.arange(0, BT) < T
    value = tl.load(h + offset, mask=mask)
    tl.store(out + offset, value, mask=mask)
"""


def drift(plugin: str, base: str, target: str, path: str = "worker.py") -> list[tuple[str, Severity, str]]:
    files: Files = {"__init__.py": "import vllm_metax.patches", "patches.py": plugin}
    if path != "worker.py":
        files = {path: plugin}
    return [
        (f.symbol, f.severity, f.message) for f in findings(files, {path: base}, {path: target}, "DRF001")
    ]


def test_patched_copy_lacks_a_new_call() -> None:
    found = drift(
        PATCHED.format(last=""),
        WAKE.format(last=""),
        WAKE.format(last="        self.runner.post_wake_up()"),
    )
    assert [(s, v) for s, v, _ in found] == [("wake_up", Severity.WARNING)]
    assert "self.runner.post_wake_up()" in found[0][2]


def test_copy_that_took_the_change_is_silent() -> None:
    new = WAKE.format(last="        self.runner.post_wake_up()")
    assert not drift(PATCHED.format(last="    self.runner.post_wake_up()"), WAKE.format(last=""), new)


def test_formatting_comments_logs_and_annotations_are_no_drift() -> None:
    new = WAKE.format(last="        logger.info('awake')  # told").replace(
        'if tags is None or "kv" in tags:',
        "if (\n            tags is None\n            or 'kv' in tags\n        ):",
    )
    new = new.replace("(self, tags)", "(self, tags: list[str] | None) -> None")
    assert not drift(PATCHED.format(last=""), WAKE.format(last=""), new)


def test_what_the_plugin_rewrote_is_its_own_business() -> None:
    new = WAKE.format(last="").replace("allocator = self.allocator()", "allocator = self.allocators[0]")
    assert not drift(PATCHED.format(last=""), WAKE.format(last=""), new)


def test_copy_under_a_vendor_name_at_the_same_path() -> None:
    copied = WAKE.replace("class Worker", "class MacaWorker").format(last="")
    found = drift(
        copied,
        WAKE.format(last=""),
        WAKE.format(last="        self.awake = True"),
        path="v1/worker.py",
    )
    assert [(s, v) for s, v, _ in found] == [("MacaWorker.wake_up", Severity.WARNING)]


def test_kernel_widened_to_int64() -> None:
    found = drift(
        KERNEL.format(index="i_t"),
        KERNEL.format(index="i_t"),
        KERNEL.format(index="i_t.to(tl.int64)"),
        path="ops/copy.py",
    )
    assert [(s, v) for s, v, _ in found] == [("copy_kernel", Severity.WARNING)]


def test_changes_for_another_device_are_notes() -> None:
    found = drift(
        PATCHED.format(last=""),
        WAKE.format(last=""),
        WAKE.format(last="        self.rocm_state = current_platform.is_rocm()"),
    )
    assert [v for _, v, _ in found] == [Severity.NOTE]


def test_copies_of_one_original_are_counted() -> None:
    """Four near-identical copies; one lags."""
    body = """
class {name}{base}:
    def schedule(self, requests):
        ready = [r for r in requests if r.ready]
        blocks = self.pool.allocate(len(ready))
        state = dict(zip(ready, blocks))
        self.running.extend(ready)
        return state{extra}
"""
    original = body.format(name="Scheduler", base="", extra="")
    newer = body.format(name="Scheduler", base="", extra=", self.resolver")
    lagging = body.format(name="LazyScheduler", base="(Scheduler)", extra="")
    fresh = body.format(name="{n}", base="(Scheduler)", extra=", self.resolver")
    plugin = "from vllm.core import Scheduler\n" + lagging
    plugin += "".join(fresh.replace("{n}", n) for n in ("AScheduler", "BScheduler", "CScheduler"))
    found = drift(plugin, original, newer, path="core.py")
    assert [s for s, _, _ in found] == ["LazyScheduler.schedule"]
    assert "copies of it: 4, lagging: 1" in found[0][2]


def test_layout_tuple_changed() -> None:
    shape = """
class FlashBackend:
    @staticmethod
    def get_kv_cache_shape(blocks, size, heads, head_size):
        if size % 16 != 0:
            raise ValueError("size")
        return {shape}
"""
    found = drift(
        shape.replace("FlashBackend", "MacaFlashBackend").format(shape="(2, blocks, size, heads, head_size)"),
        shape.format(shape="(2, blocks, size, heads, head_size)"),
        shape.format(shape="(blocks, 2, size, heads, head_size)"),
        path="v1/attention/flash.py",
    )
    assert [(s, v) for s, v, _ in found] == [("MacaFlashBackend.get_kv_cache_shape", Severity.WARNING)]


PLATFORMS = {
    "interface.py": """
class Platform:
    def set_device(self, device):
        raise NotImplementedError
""",
    "cuda.py": """
from vllm.interface import Platform

class CudaPlatform(Platform):
    def insert_blocks(self, src, dst, from_blocks, to_blocks):
        picked = src[{at}from_blocks]
        dst[{at}to_blocks] = picked.to(dst.device)
        return None
""",
}
OWN_PLATFORM = """
from vllm.interface import Platform

class OwnPlatform(Platform):
    def insert_blocks(self, src, dst, from_blocks, to_blocks):
{body}
"""


def upstream(at: str) -> Files:
    return {path: text.replace("{at}", at) for path, text in PLATFORMS.items()}


def test_a_method_copied_from_another_class_of_the_same_base() -> None:
    copied = OWN_PLATFORM.format(
        body="        picked = src[:, from_blocks]\n"
        "        dst[:, to_blocks] = picked.to(dst.device)\n"
        "        return None"
    )
    (found,) = findings({"platform.py": copied}, upstream(":, "), upstream(""), "DRF001")
    assert found.severity is Severity.WARNING  # it writes into what the caller handed in
    assert "copies `vllm.cuda:CudaPlatform.insert_blocks`" in found.message
    assert found.silent


def test_a_method_of_its_own_is_no_copy() -> None:
    own = OWN_PLATFORM.format(body="        return vendor.copy(src, dst, from_blocks, to_blocks)")
    assert findings({"platform.py": own}, upstream(":, "), upstream(""), "DRF001") == []

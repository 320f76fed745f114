"""Reading many files: workers end with the review, and trees read together share records."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tools.code.cache import CodeCache
from tools.code.tree import Tree, read_together
from tools.sources.snapshot import MemorySnapshot

REVIEW = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from tools.code.reading import end_with_parent
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=end_with_parent) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        time.sleep(60)
"""


def test_a_worker_ends_with_a_killed_parent(tmp_path: Path) -> None:
    script = tmp_path / "review.py"
    script.write_text(REVIEW)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 20
        while _runs(worker):
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_trees_read_together_share_the_records_of_equal_files() -> None:
    old = MemorySnapshot({"vllm/__init__.py": "", "vllm/a.py": "def f(x): ...\n", "vllm/b.py": "B = 1\n"})
    new = MemorySnapshot({"vllm/__init__.py": "", "vllm/a.py": "def f(x): ...\n", "vllm/b.py": "B = 2\n"})
    cache = CodeCache(None)
    read_together([(old, "vllm"), (new, "vllm")], cache)
    one, two = Tree(old, "vllm", "base", cache), Tree(new, "vllm", "target", cache)
    assert one.modules["vllm.a"] is two.modules["vllm.a"]
    assert one.modules["vllm.b"].assigns[0].value != two.modules["vllm.b"].assigns[0].value
    cache.close()
    assert Tree(old, "vllm", "base", cache).modules["vllm.a"] is not one.modules["vllm.a"]

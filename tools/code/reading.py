"""Files -> records, on all cores when nothing is cached."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.process import BaseProcess

import msgspec

from tools.code.cache import CodeCache
from tools.code.extract import extract
from tools.code.records import Calls, Module

Progress = Callable[[str, int, int | None], None]
"""Called with (what is being done, done, total or None)."""

_PARALLEL_FROM = 300
"""Files. Starting workers costs about 0.3 s, which is what some 80 files take."""
_CHUNK = 40
_MODULE = msgspec.msgpack.Decoder(Module)
_CALLS = msgspec.msgpack.Decoder(Calls)


@contextmanager
def no_collector() -> Iterator[None]:
    """Syntax trees and records hold no cycles; the collector walking them costs a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _extract_encoded(contents: list[tuple[str, bytes]]) -> list[tuple[str, bytes, bytes]]:
    """Runs in a worker; bytes cross the process border faster than objects."""
    encoder = msgspec.msgpack.Encoder()
    out = []
    with no_collector():
        for blob, content in contents:
            module, calls = extract(content)
            out.append((blob, encoder.encode(module), encoder.encode(calls)))
    return out


def end_with_parent() -> None:
    """Runs in a worker. One whose parent was killed would wait for work forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def read_records(
    readers: Mapping[str, Callable[[], bytes]],
    cache: CodeCache,
    progress: Progress | None = None,
    label: str = "reading",
) -> dict[str, tuple[Module, Calls]]:
    """Blob id -> records, for blob id -> reader of the content."""
    with no_collector():
        records = {blob: (module, calls) for blob, module, calls in cache.load(readers)}
        missing = [blob for blob in readers if blob not in records]
        done = len(records)
        for encoded in _extracted(missing, readers):
            cache.store({blob: (module, calls) for blob, module, calls in encoded})
            for blob, module, calls in encoded:
                records[blob] = (_MODULE.decode(module), _CALLS.decode(calls))
            done += len(encoded)
            if progress is not None:
                progress(label, done, len(readers))
    return records


def _extracted(
    missing: list[str], readers: Mapping[str, Callable[[], bytes]]
) -> Iterator[list[tuple[str, bytes, bytes]]]:
    chunks = [missing[i : i + _CHUNK] for i in range(0, len(missing), _CHUNK)]
    if len(missing) < _PARALLEL_FROM or (os.cpu_count() or 1) < 2:
        for chunk in chunks:
            yield _extract_encoded([(blob, readers[blob]()) for blob in chunk])
        return
    # Not fork: the graph and the progress display run threads.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=os.cpu_count(), mp_context=context, initializer=end_with_parent
    ) as pool:
        try:
            futures = [
                pool.submit(_extract_encoded, [(blob, readers[blob]()) for blob in chunk]) for chunk in chunks
            ]
            for future in futures:
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

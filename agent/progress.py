"""Progress on stderr: a bar on a terminal, silence elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int | None], None]
"""(what is being done, how much is done, of how much, when that is known)"""


def silent(label: str, done: int, total: int | None) -> None:
    """Shows nothing."""


@contextmanager
def shown(quiet: bool) -> Iterator[Progress]:
    """A progress callback that lives as long as the block."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def show(label: str, done: int, total: int | None) -> None:
            bar.update(task, description=label, completed=done, total=total)

        yield show

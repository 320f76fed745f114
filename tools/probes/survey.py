"""One probe from question to record: the modes, what level their results have, and the join with the source."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tools.checks.base import Context
from tools.code.reading import no_collector
from tools.code.world import World
from tools.findings import Level
from tools.probes.join import Join
from tools.probes.launch import Limits, Subject, launch
from tools.probes.record import Kind, Mode, ProbeRecord, Run
from tools.probes.subject import Source, subject_of
from tools.profiles import Profile
from tools.registry.inventory import take_inventory

_MOST_STUBS = 12
_NO_DEVICE = ("Torch not compiled with CUDA", "Found no NVIDIA driver", "No CUDA GPUs are available")
_CAPABILITY = (8, 0)
Progress = Callable[[str, int, int | None], None]


def take_probe(
    python: Path,
    plugin: Source,
    upstream: Source,
    profile: Profile,
    *,
    mode: Mode = Mode.STRICT,
    stubs: Sequence[str] = (),
    fake_capability: tuple[int, int] | None = None,
    cwd: Path | None = None,
    limits: Limits | None = None,
    command: str = "",
    progress: Progress = lambda label, done, total: None,
) -> ProbeRecord:
    """Load ``plugin`` with ``upstream`` in ``python`` and say what came of it.

    Raises SourceError when a tree cannot be laid out. What goes wrong in the process is in the record.
    """
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-subject-") as name:
        subject = subject_of(plugin, upstream, profile, Path(name))
        runs = _runs(python, subject, mode, tuple(stubs), fake_capability, cwd, limits, progress)
        run, offered = runs[-1]
        level = level_of(run, mode)
        progress("reading the sources", 0, None)
        with no_collector():
            context = Context(plugin.tree, upstream.tree, profile)
            world = World(plugin.tree, upstream.tree, profile)
            join = Join(run, subject, world, take_inventory(context), level, command)
            differences = join.findings() if mode is not Mode.TOLERANT else ()
    cited = {e for finding in differences for e in finding.evidence}
    return ProbeRecord(
        mode=mode,
        upstream=upstream.label,
        plugin=plugin.label,
        stubs=offered,
        command=command,
        level=level,
        run=run,
        earlier=tuple(r for r, _ in runs[:-1]),
        differences=differences,
        evidence=tuple(join.evidence[e] for e in sorted(cited)),
    )


def level_of(run: Run, mode: Mode) -> Level:
    """What a run shows: with stubs or guards in it, less than a reproduction."""
    if run.kind is Kind.START:
        return Level.UNTESTED
    if mode is Mode.TOLERANT or run.stubs or run.workarounds:
        return Level.SIGNATURE
    return Level.RUNTIME


def _runs(
    python: Path,
    subject: Subject,
    mode: Mode,
    stubs: tuple[str, ...],
    fake: tuple[int, int] | None,
    cwd: Path | None,
    limits: Limits | None,
    progress: Progress,
) -> list[tuple[Run, tuple[str, ...]]]:
    """(run, stubs offered), the last one being the result."""
    runs: list[tuple[Run, tuple[str, ...]]] = []
    if mode is Mode.MINIMAL:
        # Starts only: what is there afterwards is asked of the last one.
        while len(stubs) <= _MOST_STUBS:
            progress(f"starting with {', '.join(stubs) or 'no'} stubs", len(runs), None)
            run = launch(
                python, subject, stubs=stubs, fake_capability=fake, cwd=cwd, limits=limits, brief=True
            )
            wanted = wanted_stub(run, subject, stubs)
            needs_device = fake is None and _asks_for_device(run)
            if not wanted and not needs_device:
                break
            runs.append((run, stubs))
            stubs = (*stubs, wanted) if wanted else stubs
            fake = _CAPABILITY if needs_device else fake
        mode = Mode.STRICT
    progress("loading the plugin", len(runs), None)
    run = launch(python, subject, mode=mode, stubs=stubs, fake_capability=fake, cwd=cwd, limits=limits)
    return [*runs, (run, stubs)]


def wanted_stub(run: Run, subject: Subject, offered: Sequence[str]) -> str:
    """Top-level module, outside both packages, whose absence ended the start; '' when it was something else."""
    for stage in run.failed:
        assert stage.error is not None
        for raised in reversed(stage.error):
            root = (raised.module or "").partition(".")[0]
            if raised.type == "ModuleNotFoundError" and root:
                own = {subject.plugin.partition(".")[0], subject.upstream, *offered}
                return "" if root in own else root
    return ""


def _asks_for_device(run: Run) -> bool:
    return any(
        word in raised.message for stage in run.failed for raised in stage.error or () for word in _NO_DEVICE
    )

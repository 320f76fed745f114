"""``metax-upgrade probe registry``: loads the plugin in a target interpreter and shows what came of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import Exit, Stop, from_system, wrong_use

if TYPE_CHECKING:
    from agent.screen import Screen
    from agent.settings import ReviewSettings
    from tools.probes.launch import Limits
    from tools.probes.record import Mode, ProbeRecord
    from tools.probes.subject import Source
    from tools.profiles import Profile

STDOUT = "-"


def run_probe(
    settings: ReviewSettings,
    here: Path,
    *,
    mode: Mode,
    stubs: tuple[str, ...],
    fake_capability: str | None,
    start: Path | None,
    limits: Limits,
    json: str | None,
    screen: Screen,
) -> Exit:
    """Probes, prints, and writes the record where asked.

    Raises Stop: wrong use when no interpreter is named, blocked when a source cannot be read.
    """
    from agent.progress import shown
    from tools.probes.survey import take_probe
    from tools.sources.snapshot import SourceError

    if not settings.python:
        raise wrong_use(
            "--python",
            "no interpreter was given",
            "Give the one that has what vLLM needs, such as --python /opt/venv/bin/python.",
        )
    folder = here / start.expanduser() if start else here
    if not folder.is_dir():
        raise wrong_use("--cwd", f"{folder} is not a folder", "Name the folder that vLLM is started in.")
    python = Path(settings.python)
    python = python if len(python.parts) == 1 else here / python.expanduser()
    with shown(settings.quiet or json == STDOUT) as progress:
        try:
            plugin, upstream, profile = _sources(settings, here, python)
            record = take_probe(
                python,
                plugin,
                upstream,
                profile,
                mode=mode,
                stubs=stubs,
                fake_capability=_capability(fake_capability),
                cwd=folder,
                limits=limits,
                command=_command(python, plugin, upstream, mode, stubs),
                progress=progress,
            )
        except SourceError as error:
            status = Exit.USAGE if error.wrong_use else Exit.BLOCKED
            raise Stop(status, error.what, error.why, error.remedy) from None
    if json is not None:
        _write(record, json, here)
    if json != STDOUT and not screen.quiet:
        from rich.console import Console

        from agent.report.probe import print_probe

        print_probe(record, Console())
    return status_of(record, settings.fail_on.value)


def status_of(record: ProbeRecord, fail_on: str) -> Exit:
    """What the record means to a script: 1 for a failed start, or a difference at or above ``fail_on``."""
    from tools.findings import Severity

    if fail_on == "never":
        return Exit.OK
    limit = Severity(fail_on).rank
    differs = any(f.severity.rank <= limit for f in record.differences)
    return Exit.FINDINGS if differs or not record.run.started or record.run.missing else Exit.OK


def _sources(settings: ReviewSettings, here: Path, python: Path) -> tuple[Source, Source, Profile]:
    """Both packages: what is named, or else what the interpreter has installed. Raises SourceError."""
    from agent.subject import DEFAULT_PROFILE, settle
    from tools.code.cache import CodeCache
    from tools.code.tree import Tree
    from tools.probes.subject import Source
    from tools.profiles import load_profile
    from tools.sources.spec import Role, default_cache, open_source

    spec = settings.plugin
    if spec:
        spec, profile = settle(spec, settings.profile, here)
    else:
        profile = load_profile(settings.profile or DEFAULT_PROFILE)
    cache = here / settings.cache.expanduser() if settings.cache else default_cache()
    store = CodeCache(cache)

    def opened(what: str | None, package: str, role: Role) -> Source:
        named = what or f"installed:{package}"
        snapshot = open_source(
            named, role=role, profile=profile, python=python, cache=cache, offline=settings.offline
        )
        return Source(Tree(snapshot, package, role, store), installed=named.startswith("installed:"))

    try:
        return (
            opened(spec, profile.plugin_package, "plugin"),
            opened(settings.target or None, profile.upstream_package, "target"),
            profile,
        )
    finally:
        store.close()


def _capability(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    major, dot, minor = text.partition(".")
    if not (dot and major.isdigit() and minor.isdigit()):
        raise wrong_use("--fake-capability", f"{text!r} is no capability", "Give it as 8.0.")
    return int(major), int(minor)


def _command(python: Path, plugin: Source, upstream: Source, mode: Mode, stubs: tuple[str, ...]) -> str:
    parts = ["metax-upgrade probe registry", f"--python {python.name}", f"--plugin-source {plugin.label}"]
    parts += [f"--vllm-source {upstream.label}", f"--mode {mode}", *(f"--stub {name}" for name in stubs)]
    return " ".join(parts)


def _write(record: ProbeRecord, place: str, here: Path) -> None:
    from agent.store import write_atomic

    text = record.model_dump_json(indent=2) + "\n"
    if place == STDOUT:
        sys.stdout.write(text)
        return
    path = here / Path(place).expanduser()
    if path.is_dir():
        raise wrong_use("--json", f"{place} is a folder", "Name a file, or - for standard output.")
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise from_system(error) or Stop(
            Exit.BLOCKED, str(path), str(error.strerror), "Name another file."
        ) from None

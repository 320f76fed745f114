"""The preflight of one interpreter: for its own command, and for the review's step."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import Exit, Stop, from_system, wrong_use
from tools.environment.ask import InterpreterError
from tools.sources.snapshot import Snapshot, SourceError

if TYPE_CHECKING:
    from agent.progress import Progress
    from agent.screen import Screen
    from agent.settings import ReviewSettings
    from tools.preflight.record import Preflight
    from tools.profiles import Profile

STDOUT = "-"


def run_preflight(
    settings: ReviewSettings, cwd: Path, start: Path | None, json: str | None, screen: Screen
) -> Exit:
    """Collects, prints, and writes the record where asked.

    Raises Stop: wrong use when no interpreter is named, blocked when it or a source cannot be read.
    """
    from agent.progress import shown
    from tools.preflight.survey import take_preflight

    if not settings.python:
        raise wrong_use(
            "--python",
            "no interpreter was given",
            "Give the one that is to run vLLM, such as --python /opt/venv/bin/python.",
        )
    folder = cwd / start.expanduser() if start else cwd
    if not folder.is_dir():
        raise wrong_use("--cwd", f"{folder} is not a folder", "Name the folder that vLLM is started in.")
    with shown(settings.quiet or json == STDOUT) as progress:
        profile, vllm, plugin = _sources(settings, cwd, progress)
        progress("asking the interpreter", 0, None)
        try:
            record = take_preflight(Path(settings.python), profile, cwd=folder, vllm=vllm, plugin=plugin)
        except InterpreterError as error:
            raise Stop(Exit.BLOCKED, error.what, error.why, error.remedy) from None
    if json is not None:
        _write(record, json, cwd)
    if json != STDOUT and not screen.quiet:
        from rich.console import Console

        from agent.report.preflight import print_preflight

        print_preflight(record, Console())
    return status_of(record, settings.fail_on.value)


def status_of(record: Preflight, fail_on: str) -> Exit:
    """What the record means to a script: 1 for a discrepancy at or above ``fail_on``."""
    from tools.findings import Severity

    if fail_on == "never":
        return Exit.OK
    limit = Severity(fail_on).rank
    return Exit.FINDINGS if any(row.severity.rank <= limit for row in record.discrepancies) else Exit.OK


def facts_of(record: Preflight) -> dict[str, str]:
    """The record in a few lines, for the report's ``environment``."""
    from tools.preflight.places import installed_line, origin_line

    interpreter = record.interpreter
    facts = {
        "interpreter": f"{interpreter.executable} ({interpreter.implementation} {interpreter.version})",
        "working directory": interpreter.cwd,
        "mapping": record.mapping_id,
    }
    for package in record.packages:
        first = package.effective
        facts[f"import {package.name}"] = (
            f"{first.place or first.kind}, {origin_line(record, first)}" if first else "nothing answers"
        )
        if package.distributions:
            facts[f"installed {package.name}"] = "; ".join(map(installed_line, package.distributions))
    for row in record.correspondence:
        if row.imported:
            counts = (
                f"{files.count} {state}"
                for state, files in (
                    ("matching", row.matching),
                    ("changed", row.changed),
                    ("missing", row.missing),
                    ("install-only", row.install_only),
                    ("generated", row.generated),
                )
            )
            facts[f"{row.role} source and import"] = "the same place" if row.same_place else ", ".join(counts)
    for component in record.components:
        if component.distributions:
            facts[component.label] = ", ".join(f"{d.name} {d.version}" for d in component.distributions)
    return facts


def _sources(
    settings: ReviewSettings, cwd: Path, progress: Progress
) -> tuple[Profile, Snapshot | None, Snapshot | None]:
    """The profile, vLLM's source and the plugin's; None for one that nobody named and nothing suggests."""
    from agent.subject import DEFAULT_PROFILE, checkout, holds, settle
    from tools.profiles import load_profile, profile_names
    from tools.sources.spec import Role, default_cache, open_source

    spec = settings.plugin
    if not spec:
        folder = checkout(cwd) or cwd
        names = (settings.profile,) if settings.profile else profile_names()
        here = any(holds(folder, load_profile(name)) for name in names)
    if spec or here:
        spec, profile = settle(spec, settings.profile, cwd)
    else:
        profile = load_profile(settings.profile or DEFAULT_PROFILE)
    cache = cwd / settings.cache.expanduser() if settings.cache else default_cache()

    def opened(what: str | None, role: Role) -> Snapshot | None:
        if not what:
            return None
        try:
            return open_source(
                what,
                role=role,
                profile=profile,
                python=Path(settings.python) if settings.python else None,
                cache=cache,
                offline=settings.offline,
                progress=progress,
            )
        except SourceError as error:
            status = Exit.USAGE if error.wrong_use else Exit.BLOCKED
            raise Stop(status, error.what, error.why, error.remedy) from None

    return profile, opened(settings.target, "target"), opened(spec, "plugin")


def _write(record: Preflight, place: str, cwd: Path) -> None:
    from agent.store import write_atomic

    text = record.model_dump_json(indent=2) + "\n"
    if place == STDOUT:
        sys.stdout.write(text)
        return
    path = cwd / Path(place).expanduser()
    if path.is_dir():
        raise wrong_use("--json", f"{place} is a folder", "Name a file, or - for standard output.")
    try:
        write_atomic(path, text.encode())
    except OSError as error:
        raise from_system(error) or Stop(
            Exit.BLOCKED, str(path), str(error.strerror), "Name another file."
        ) from None

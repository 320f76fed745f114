"""The commands of ``metax-upgrade``. Only typer is imported here: what a command needs, it imports itself."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.errors import Exit, Stop

if TYPE_CHECKING:
    from agent.screen import Screen

app = typer.Typer(
    name="metax-upgrade",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain rich markup would take [tool.metax-upgrade] for a style and keep the line ends of a docstring.
    rich_markup_mode="markdown",
    add_completion=False,
)
sessions_app = typer.Typer(help="Earlier runs.", no_args_is_help=True)
checks_app = typer.Typer(help="What is checked.", invoke_without_command=True)
probe_app = typer.Typer(
    help="Load the plugin in a target interpreter, in a process of its own.", no_args_is_help=True
)
app.add_typer(sessions_app, name="sessions")
app.add_typer(probe_app, name="probe")
app.add_typer(checks_app, name="checks")


class Record(StrEnum):
    """What has a schema."""

    REPORT = "report"
    PREFLIGHT = "preflight"


Quiet = Annotated[bool | None, typer.Option("--quiet", "-q", help="Print errors only.")]
Envelope = Annotated[
    bool, typer.Option("--json-envelope", help="Print one JSON object on how the run ended, for scripts.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from agent import tool_version

        typer.echo(f"metax-upgrade {tool_version()}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Reviews what a vLLM upgrade breaks in an out-of-tree plugin, with evidence. Modifies nothing."""


@app.command()
def review(
    plugin: Annotated[
        str | None,
        typer.Option(
            help="PATH, PATH@REV, PATH:index, PATH:worktree, pypi:NAME==VERSION or installed:NAME. "
            "Default: the worktree of the current checkout."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(help="vLLM that the plugin stands on: vllm==X, PATH, PATH@REV or installed:vllm."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="vLLM that it moves to, in the same forms.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the report. Default: metax-upgrade-report.")
    ] = None,
    format: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FORMAT", help="md, json, sarif, html; repeatable, or with commas. Default: all."
        ),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            help="Exit with 1 if a finding is at least error, warning or note; or never. Default: error.",
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Plugin family. Default: the one whose package is found.")
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(
            metavar="INTERPRETER",
            help="Where 'installed:' looks for packages; what it would import is reported too.",
        ),
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for downloads and summaries.")] = None,
    merges: Annotated[
        bool | None,
        typer.Option("--merges", help="Merge upstream's changes into copied symbols, as report.patch."),
    ] = None,
    offline: Annotated[
        bool | None, typer.Option("--offline", help="Use no network; releases must be in the cache.")
    ] = None,
    upstream_repo: Annotated[
        Path | None,
        typer.Option(
            help="Clone of vLLM: says what each commit between base and target means for the plugin."
        ),
    ] = None,
    upstream_ref: Annotated[
        str | None,
        typer.Option(metavar="REV", help="Main line of that clone. Default: HEAD, else main."),
    ] = None,
    quiet: Quiet = None,
    json_envelope: Envelope = False,
) -> None:
    """Review what breaks in a plugin between two upstream versions.

    Exit status: 0 nothing at or above --fail-on, 1 findings at or above it, 2 wrong use, 3 something needed
    could not be read, 130 interrupted (then: metax-upgrade resume SESSION). Every option can also be set as
    METAX_UPGRADE_NAME or in [tool.metax-upgrade] of pyproject.toml.
    """
    given = {
        "plugin": plugin,
        "base": base,
        "target": target,
        "out": out,
        "format": format or None,
        "fail_on": fail_on,
        "profile": profile,
        "python": python,
        "cache": cache,
        "merges": merges,
        "offline": offline,
        "upstream_repo": upstream_repo,
        "upstream_ref": upstream_ref,
        "quiet": quiet,
    }

    def work(screen: Screen) -> Exit:
        from agent.run import start_review
        from agent.settings import load_settings

        cwd = _current_folder()
        settings = load_settings(given, cwd)
        screen.quiet = settings.quiet
        return start_review(settings, cwd, screen)

    finish(work, quiet=bool(quiet), envelope=json_envelope)


@app.command()
def preflight(
    python: Annotated[
        str | None, typer.Option(metavar="INTERPRETER", help="The interpreter that is to run vLLM.")
    ] = None,
    vllm_source: Annotated[
        str | None,
        typer.Option(
            help="vLLM to compare with: PATH, PATH@REV or vllm==X. Default: the target of the settings."
        ),
    ] = None,
    plugin_source: Annotated[
        str | None,
        typer.Option(help="The plugin, in the same forms. Default: the checkout of the current folder."),
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option(help="Folder that vLLM is started in. Default: the current one.")
    ] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the record there; - prints it instead of tables."),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(
            metavar="SEVERITY",
            help="Exit with 1 if a discrepancy is at least error, warning or note; or never. Default: error.",
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Plugin family.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for downloads.")] = None,
    offline: Annotated[bool | None, typer.Option("--offline", help="Use no network.")] = None,
    quiet: Quiet = None,
) -> None:
    """Show what an interpreter would import, and whether that is what is reviewed and edited.

    A read-only probe runs in the interpreter, with this environment and in the folder given, as vLLM would; it
    imports neither vLLM nor the plugin. Exit status: 0 collected, 1 discrepancies at or above --fail-on, 2 wrong
    use, 3 the interpreter or a source could not be read.
    """
    given = {
        "plugin": plugin_source,
        "target": vllm_source,
        "python": python,
        "fail_on": fail_on,
        "profile": profile,
        "cache": cache,
        "offline": offline,
        "quiet": quiet,
    }

    def work(screen: Screen) -> Exit:
        from agent.preflight import run_preflight
        from agent.settings import load_settings

        here = _current_folder()
        settings = load_settings(given, here)
        screen.quiet = settings.quiet
        return run_preflight(settings, here, cwd, json, screen)

    finish(work, quiet=bool(quiet))


class ProbeMode(StrEnum):
    """How the plugin is loaded; as tools.probes.record.Mode, which is not imported for a help text."""

    STRICT = "strict"
    MINIMAL = "minimal"
    TOLERANT = "tolerant"


@probe_app.callback()
def _probe() -> None:
    """Load the plugin in a target interpreter, in a process of its own."""


@probe_app.command("registry")
def probe_registry(
    python: Annotated[
        str | None, typer.Option(metavar="INTERPRETER", help="Python that has what vLLM needs.")
    ] = None,
    plugin_source: Annotated[
        str | None, typer.Option(help="PATH, PATH@REV, PATH:index ... Default: as installed there.")
    ] = None,
    vllm_source: Annotated[
        str | None, typer.Option(help="PATH, PATH@REV or vllm==X. Default: as installed there.")
    ] = None,
    mode: Annotated[
        ProbeMode,
        typer.Option(
            help="strict: as a user's start; minimal: afresh, with one stub more each time, until it starts; "
            "tolerant: every failing import in one pass, for diagnosis only."
        ),
    ] = ProbeMode.STRICT,
    stub: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE", help="Stand in for a missing module; repeatable. Never proves reachability."
        ),
    ] = None,
    fake_capability: Annotated[
        str | None,
        typer.Option(
            metavar="X.Y", help="Let torch report this CUDA capability, on machines without a device."
        ),
    ] = None,
    cwd: Annotated[
        Path | None, typer.Option(help="Folder that vLLM is started in. Default: the current one.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for one process.")] = 120,
    memory: Annotated[int, typer.Option(min=64, help="MiB of private memory for the process.")] = 16384,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the record there; - prints it instead of tables."),
    ] = None,
    fail_on: Annotated[
        str | None,
        typer.Option(metavar="SEVERITY", help="Differences that make the exit status 1. Default: error."),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Plugin family.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for downloads.")] = None,
    offline: Annotated[bool | None, typer.Option("--offline", help="Use no network.")] = None,
    quiet: Quiet = None,
) -> None:
    """Load the plugin as vLLM does and show what is registered afterwards, and where that differs from the source.

    A fresh process of the interpreter does it; a crash, a hang or a full memory there is a result. Exit status: 0 it
    starts and agrees with the source, 1 it does not, 2 wrong use, 3 a source could not be read.
    """
    given = {
        "plugin": plugin_source,
        "target": vllm_source,
        "python": python,
        "fail_on": fail_on,
        "profile": profile,
        "cache": cache,
        "offline": offline,
        "quiet": quiet,
    }

    def work(screen: Screen) -> Exit:
        from agent.probe import run_probe
        from agent.settings import load_settings
        from tools.probes.launch import Limits
        from tools.probes.record import Mode

        here = _current_folder()
        settings = load_settings(given, here)
        screen.quiet = settings.quiet
        return run_probe(
            settings,
            here,
            mode=Mode(mode.value),
            stubs=tuple(stub or ()),
            fake_capability=fake_capability,
            start=cwd,
            limits=Limits(timeout, memory),
            json=json,
            screen=screen,
        )

    finish(work, quiet=bool(quiet))


@app.command()
def recheck(
    report: Annotated[Path, typer.Argument(metavar="REPORT.json", help="report.json of an earlier review.")],
    plugin: Annotated[
        str | None, typer.Option(help="The plugin as it is now. Default: what the report says it read.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for recheck.md and recheck.json. Default: that of the report.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for downloads and summaries.")] = None,
    offline: Annotated[
        bool, typer.Option("--offline", help="Use no network; releases must be in the cache.")
    ] = False,
    quiet: Quiet = None,
) -> None:
    """Look again after edits: which findings are gone, and which differences from target nothing accounts for.

    Exit status: 0 nothing left to do, 1 something is, 2 wrong use, 3 something needed could not be read.
    """

    def work(screen: Screen) -> Exit:
        from agent.recheck import run

        return run(report, plugin, out or report.parent, cache, offline, screen)

    finish(work, quiet=bool(quiet))


@app.command()
def resume(session: str, quiet: Quiet = None, json_envelope: Envelope = False) -> None:
    """Go on with a session that was interrupted or killed."""

    def work(screen: Screen) -> Exit:
        from agent.run import resume as go_on

        return go_on(session, screen)

    finish(work, quiet=bool(quiet), envelope=json_envelope)


@app.command()
def view(
    session: Annotated[str | None, typer.Argument(help="Default: the latest that has a report.")] = None,
) -> None:
    """Read the findings of a finished session in the terminal, each with its evidence. Modifies nothing."""

    def work(screen: Screen) -> Exit:
        from agent.errors import wrong_use
        from agent.tui.session import chosen, desk_of

        found = chosen(session)
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise wrong_use("view", "this is no terminal", f"Read {', '.join(found.record.reports)} instead.")
        from agent.tui.app import UpgradeApp

        app = UpgradeApp(found.record.id, (), lambda tell: desk_of(found))
        app.run()
        if app.stopped is not None:
            raise app.stopped
        return Exit.OK

    finish(work)


@sessions_app.command("list")
def sessions_list() -> None:
    """List sessions, newest first."""

    def work(screen: Screen) -> Exit:
        from agent.sessions import list_sessions

        for record in list_sessions():
            request = record.request
            what = f"{request['plugin'] or '(checkout)'}  {request['base']} -> {request['target']}"
            typer.echo(f"{record.id}  {record.created}  {record.status:<11}  {what}")
        return Exit.OK

    finish(work)


@sessions_app.command("show")
def sessions_show(session: str) -> None:
    """Print what a session was asked and where it stands, as JSON."""

    def work(screen: Screen) -> Exit:
        import json
        from dataclasses import asdict

        from agent.sessions import load_session

        found = load_session(session)
        typer.echo(json.dumps({**asdict(found.record), "folder": str(found.folder)}, indent=2))
        return Exit.OK

    finish(work)


@checks_app.callback()
def checks(context: typer.Context) -> None:
    """List the checks."""
    if context.invoked_subcommand is not None:
        return

    def work(screen: Screen) -> Exit:
        from agent.catalogue import lines

        for line in lines():
            typer.echo(line)
        return Exit.OK

    finish(work)


@checks_app.command("show")
def checks_show(check: str) -> None:
    """Print the documentation of one check."""

    def work(screen: Screen) -> Exit:
        from agent.catalogue import page

        typer.echo(page(check))
        return Exit.OK

    finish(work)


@app.command()
def schema(
    which: Annotated[Record, typer.Argument(help="report.json, or the record of preflight.")] = Record.REPORT,
) -> None:
    """Print the JSON schema of report.json, or of the preflight record."""

    def work(screen: Screen) -> Exit:
        import json

        from tools.findings import report_schema
        from tools.preflight.record import preflight_schema

        made = report_schema() if which is Record.REPORT else preflight_schema()
        typer.echo(json.dumps(made, indent=2))
        return Exit.OK

    finish(work)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Stop(Exit.USAGE, "the current folder", "it is gone", "Change to another.") from None


def finish(work: Callable[[Screen], Exit], *, quiet: bool = False, envelope: bool = False) -> None:
    """Runs a command to its exit status: no error of the user's ever ends as a traceback."""
    from agent.screen import Screen

    screen = Screen(quiet=quiet, envelope=envelope)
    try:
        status = work(screen)
        sys.stdout.flush()
    except Stop as stop:
        status = screen.stop(stop)
    except Exception as error:  # noqa: BLE001 - the border: what nobody foresaw ends as a message and a file
        if _reader_left(error):
            raise typer.Exit(int(Exit.PIPE)) from None
        status = screen.stop(_unforeseen(error))
    except KeyboardInterrupt:
        screen.interrupted(None)
        status = Exit.INTERRUPTED
    raise typer.Exit(int(screen.close(status)))


def _reader_left(error: Exception) -> bool:
    """Whether ``error`` came of stdout being closed by its reader (``| head``); later writes then go nowhere."""
    if not isinstance(error, BrokenPipeError):
        return False
    output = sys.stdout.fileno()
    poll = select.poll()
    poll.register(output, 0)
    if not any(flags & select.POLLERR for _, flags in poll.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)
    return True


def _unforeseen(error: Exception) -> Stop:
    from agent.errors import from_system
    from agent.faults import fault
    from agent.sessions import sessions_folder

    stop = from_system(error) if isinstance(error, OSError) else None
    return stop or fault(error, sessions_folder().parent)

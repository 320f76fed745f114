"""The commands of ``metax-upgrade``. Only typer is imported here: what a command needs, it imports itself."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
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
app.add_typer(sessions_app, name="sessions")
app.add_typer(checks_app, name="checks")

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
        str | None, typer.Option(metavar="INTERPRETER", help="Where 'installed:' looks for packages.")
    ] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder for downloads and summaries.")] = None,
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
def resume(session: str, quiet: Quiet = None, json_envelope: Envelope = False) -> None:
    """Go on with a session that was interrupted or killed."""

    def work(screen: Screen) -> Exit:
        from agent.run import resume as go_on

        return go_on(session, screen)

    finish(work, quiet=bool(quiet), envelope=json_envelope)


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
def schema() -> None:
    """Print the JSON schema of report.json."""

    def work(screen: Screen) -> Exit:
        import json

        from tools.findings import report_schema

        typer.echo(json.dumps(report_schema(), indent=2))
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

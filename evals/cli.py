"""``metax-upgrade eval``: found through the entry point ``metax_upgrade.commands``, so that ``agent`` need not know it.

Only typer is imported here; what a command needs, it imports itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agent.errors import Exit, Stop, wrong_use

if TYPE_CHECKING:
    from agent.screen import Screen
    from evals.replay import Outcome
    from evals.results import Results
    from evals.schema import Case

app = typer.Typer(help="Replay past upgrades and score what the reviews say.", no_args_is_help=True)

Cases = Annotated[Path | None, typer.Option(help="Folder of case files. Default: those shipped.")]
Ids = Annotated[list[str] | None, typer.Option("--case", help="Id of a case; repeatable. Default: all.")]
Family = Annotated[str | None, typer.Option(help="history (needs clones) or index (needs none).")]
Split = Annotated[str, typer.Option(help="dev or heldout.")]
Repos = Annotated[Path | None, typer.Option(help="Folder of clones: DIR/OWNER/NAME. Or METAX_UPGRADE_REPOS.")]
Cache = Annotated[Path | None, typer.Option(help="Folder for releases and records.")]
Baseline = Annotated[
    list[str] | None,
    typer.Option(
        "--baseline",
        help="ty, ty-diff, none, or the slow pyright, mypy, griffe; repeatable. Default: ty, ty-diff.",
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for results.")]


@app.command()
def run(
    cases: Cases = None,
    case: Ids = None,
    family: Family = None,
    split: Split = "dev",
    repos: Repos = None,
    cache: Cache = None,
    baseline: Baseline = None,
    out: Out = Path("eval-results"),
    jobs: Annotated[int, typer.Option(min=1, help="Reviews at a time.")] = 2,
    timeout: Annotated[int, typer.Option(min=1, help="Seconds for one review.")] = 600,
    offline: Annotated[bool, typer.Option(help="Releases only from the cache.")] = False,
    merges: Annotated[
        bool, typer.Option("--merges", help="Also merge copied code at the start of each case (minutes).")
    ] = False,
    audit: Annotated[
        bool, typer.Option("--audit", help="Also audit the upstream commits of each case.")
    ] = False,
) -> None:
    """Run the reviews of every case and score them. Goes on where an interrupted run stopped.

    Exit status: 0 all ran, 2 wrong use, 3 something was not run or failed (results say what and why).
    """

    def work(screen: Screen) -> Exit:
        import sys

        from evals.replay import Options, replay
        from evals.repos import repos_folder
        from tools.sources.spec import default_cache

        chosen = _cases(cases, case, family, split)
        tools = _baselines(baseline)
        options = Options(
            cache or default_cache(),
            repos_folder(repos, Path.cwd()),
            tools,
            jobs,
            timeout,
            offline,
            merges,
            audit,
        )

        def said(what: str, how: str) -> None:
            print(f"{what}: {how}", file=sys.stderr)

        return _write(replay(chosen, options, said), tools, out)

    _finish(work)


@app.command()
def score(results: Annotated[Path, typer.Argument(help="Folder that `eval run` filled.")]) -> None:
    """Score a finished run again, after cases, verdicts or the rules of scoring changed. Runs no review."""

    def work(screen: Screen) -> Exit:
        from evals.results import load_results, recorded
        from evals.schema import CASES, load_cases

        old = _loaded(results, load_results)
        known = {c.id: c for c in load_cases(CASES)}
        outcomes = recorded(old, [known[c.id] for c in old.cases if c.id in known], results)
        tools = tuple(dict.fromkeys(b for o in outcomes if o.record for b in o.record.baselines))
        return _write(outcomes, tools, results, old)

    _finish(work)


@app.command()
def compare(first: Path, second: Path) -> None:
    """Show what changed from the results FIRST to SECOND. Exit status 1: a defect is no longer found."""

    def work(screen: Screen) -> Exit:
        from evals.compare import compare as compared
        from evals.compare import regressions
        from evals.results import load_results

        loaded = [_loaded(place, load_results) for place in (first, second)]
        lines = compared(*loaded)
        typer.echo("\n".join(lines) if lines else "no difference")
        return Exit.FINDINGS if regressions(*loaded) else Exit.OK

    _finish(work)


def _loaded(place: Path, load: Callable[[Path], Results]) -> Results:
    try:
        return load(place)
    except OSError as error:
        why = error.strerror or str(error)
    except ValueError:
        why = "holds no results of this version"
    raise wrong_use(str(place), why, "Give a folder that `eval run` filled.")


def _cases(folder: Path | None, ids: list[str] | None, family: str | None, split: str) -> list[Case]:
    from evals.schema import CASES, load_cases

    try:
        chosen = load_cases(folder or CASES, ids=ids or (), family=family, split=split)
    except KeyError as error:
        raise wrong_use("--case", f"no case {error.args[0]}") from None
    except ValueError as error:
        raise wrong_use("--cases", str(error)) from None
    if not chosen:
        raise wrong_use("--cases", "no case is left", "See --case, --family and --split.")
    return chosen


def _baselines(given: list[str] | None) -> tuple[str, ...]:
    from evals.baselines import BASELINES

    chosen = tuple(dict.fromkeys(given if given is not None else ("ty", "ty-diff")))
    if chosen == ("none",):
        return ()
    for name in chosen:
        if name not in BASELINES:
            raise wrong_use(
                "--baseline", f"no baseline {name!r}", f"There are: {', '.join(BASELINES)}, none."
            )
    return chosen


def _write(outcomes: list[Outcome], tools: tuple[str, ...], out: Path, old: Results | None = None) -> Exit:
    import shlex
    import sys
    from datetime import UTC, datetime

    from evals.baselines import BASELINES
    from evals.report import write_results
    from evals.results import results_of
    from tools.results import own_code

    not_run = {b: "not asked for" for b in BASELINES if b not in tools}
    if not any(o.record and o.record.merging for o in outcomes):
        not_run["merge exactness"] = "not asked for (--merges)"
    if not any(o.record and o.record.audit for o in outcomes):
        not_run["accounting of commits"] = "not asked for (--audit)"
    not_run["model calls, tokens, cost"] = "no step asks a model"
    results = results_of(
        outcomes,
        tools,
        made=old.made if old else datetime.now(UTC).date().isoformat(),
        command=old.command if old else shlex.join(["metax-upgrade", *sys.argv[1:]]),
        code=old.code if old else own_code(),
        not_run=not_run,
    )
    results = write_results(results, outcomes, out)
    typer.echo(f"{out / 'results.md'}")
    if results.complete:
        return Exit.OK
    lost = [f"{c.id} ({'; '.join(c.reasons)})" for c in results.cases if c.state != "run"]
    raise Stop(
        Exit.BLOCKED, f"{len(lost)} of {len(results.cases)} cases", f"not run whole: {', '.join(lost)}"
    )


def _finish(work: Callable[[Screen], Exit]) -> None:
    # Late, because agent.commands is what loads this module.
    from agent.commands import finish

    finish(work)

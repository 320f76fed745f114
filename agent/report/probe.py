"""The record of a probe on a terminal: stages, what is registered, what failed, where source and process differ."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agent.report.preflight import STYLES
from agent.report.text import clip, one_line
from tools.findings import Level
from tools.probes.join import counted
from tools.probes.record import Kind, Mode, ProbeRecord, Run

_LIMIT = 500
_LISTED = 40


def print_probe(record: ProbeRecord, console: Console) -> None:
    """Print what a person needs; the record holds more. What processes printed is shown as text."""
    run = record.run
    console.print(_text(f"{record.plugin} with {record.upstream}, {record.mode}", "bold"))
    console.print(
        _text(
            f"interpreter {run.interpreter.get('executable', '?')}, {run.seconds:.1f} s, {run.memory_mib} MiB"
        )
    )
    if run.kind is not Kind.COMPLETE:
        console.print(_text(f"The process did not come to its end: {run.kind} ({run.detail})", "bold red"))
    console.print()
    console.print(_stages(run))
    for stage in run.failed:
        assert stage.error is not None
        console.print(_text(f"{stage.name}:", "bold red"))
        for raised in stage.error:
            console.print(_text(f"  {raised.type}: {raised.message}"))
            for frame in raised.frames[-3:]:
                console.print(_text(f"    {frame.file}:{frame.line} in {frame.name}", "dim"))
    console.print()
    if record.mode is Mode.TOLERANT:
        _missing(run, console)
    else:
        _there(run, console)
        _modules(run, console)
    if record.differences:
        console.print(_table("Differences", ("", "check", "place", "what"), _differences(record)))
    console.print(_level(record))


def _text(text: str, style: str = "") -> Text:
    return Text(clip(one_line(text), _LIMIT), style=style)


def _table(title: str, heads: Iterable[str], rows: Iterable[tuple[Text | str, ...]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*(_text(cell) if isinstance(cell, str) else cell for cell in row))
    return table


def _stages(run: Run) -> Table:
    rows = [
        (
            Text("failed", style="bold red") if stage.error else Text("ok", style="green"),
            stage.name,
            f"{stage.seconds:.1f} s",
        )
        for stage in run.stages
    ]
    return _table("Stages", ("", "stage", "time"), rows)


def _there(run: Run, console: Console) -> None:
    counts = counted(run)
    if run.platform is not None:
        own = "" if run.platform.own else " - not the plugin's"
        console.print(_text(f"Platform: {run.platform.object}{own}", "" if run.platform.own else "bold red"))
    told = ", ".join(
        f"{number} {kind}{'' if number == 1 else 'es' if kind.endswith('ch') else 's'}"
        for kind, number in counts.items()
    )
    style = "bold red" if run.partly else ""
    console.print(_text(("Partly filled: " if run.partly else "There after the start: ") + told, style))
    calls = run.calls
    console.print(
        _text(
            f"Calls bound to live signatures: {calls.bound}, {len(calls.failed)} fail, {calls.skipped} skipped"
        )
    )
    if run.second_load is not None and run.failed and run.second_load.error is None:
        console.print(_text("A second load returns without an error and registers nothing more.", "yellow"))
    for row in run.swallowed[:10]:
        raised = row.error[0] if row.error else None
        said = f" ({raised.type}: {raised.message})" if raised else ""
        console.print(_text(f"logged {row.level} by {row.logger}: {row.message}{said}", "yellow"))
    console.print()


def _modules(run: Run, console: Console) -> None:
    rows: list[tuple[Text | str, ...]] = []
    for module in run.modules:
        if module.error:
            raised = module.error[0]
            rows.append((module.module, f"{raised.type}: {raised.message}"))
        elif module.ended not in ("loaded", "imported"):
            rows.append((module.module, module.ended))
    if rows:
        console.print(
            _table(
                f"Modules that do not import by themselves ({len(rows)})", ("module", "why"), rows[:_LISTED]
            )
        )


def _missing(run: Run, console: Console) -> None:
    rows = [
        (f"{row.importer}:{row.line}", f"{row.module} {row.name}".strip(), f"{row.type}: {row.error}")
        for row in run.missing
    ]
    console.print(_table(f"Imports that fail ({len(rows)})", ("where", "what", "why"), rows))


def _differences(record: ProbeRecord) -> Iterable[tuple[Text | str, ...]]:
    for finding in record.differences[:_LISTED]:
        severity = Text(finding.severity.value, style=STYLES[finding.severity])
        lost = f" (lost with it: {len(finding.blast_radius)})" if finding.blast_radius else ""
        yield severity, finding.check, f"{finding.path}:{finding.line}", finding.message + lost


def _level(record: ProbeRecord) -> Text:
    run = record.run
    if record.level is Level.RUNTIME:
        return _text("Level: runtime-reproduced. Nothing was replaced.")
    with_what = [f"stub {name}" for name in sorted({s.module.partition(".")[0] for s in run.stubs})]
    with_what += list(run.workarounds)
    return _text(
        f"Level: {record.level}. With {'; '.join(with_what) or 'no process'}: this proves no production reachability.",
        "yellow",
    )

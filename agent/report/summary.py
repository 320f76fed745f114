"""The end of a run on the terminal: counts, the worst findings, and where the reports lie."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent.report.text import clip, counted, one_line
from agent.report.view import View, count_by_severity, identity_name, place
from tools.findings import Finding, Report, Severity

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_MESSAGE_LIMIT = 300
_NAME_LIMIT = 100


def print_summary(report: Report, console: Console, paths: Iterable[Path] = (), *, top: int = 10) -> None:
    """Print counts, the ``top`` findings and ``paths``.

    Messages, paths and symbols come from source trees: they are put into ``Text``, so that nothing in them
    is read as console markup, and control characters are shown, never sent to the terminal.
    """
    view = View(report, {})
    subject, base, target = (
        clip(one_line(identity_name(identity)), _NAME_LIMIT)
        for identity in (report.subject, report.base, report.target)
    )
    console.print(Text(f"{subject}: {base} → {target}", style="bold"))
    if view.findings or not report.blocked:
        console.print(_counts(view))
    if view.asides:
        console.print(Text(view.asides, style="dim"))
    for blocked in report.blocked:
        text = f"{one_line(blocked.what)}: {one_line(blocked.why)}. {one_line(blocked.remedy)}"
        console.print(Text.assemble(("blocked ", "bold red"), text))
    for check in report.coverage.checks_failed:
        console.print(Text.assemble(("failed  ", "bold red"), f"check {one_line(check)}"))
    if view.findings:
        console.print()
        console.print(_findings(view.findings[:top]))
        if len(view.findings) > top:
            console.print(Text(f"… and {counted(len(view.findings) - top, 'more finding')}", style="dim"))
    else:
        console.print(Text(one_line(view.headline)))
    written = list(paths)
    if written:
        console.print()
        for path in written:
            console.print(Text(one_line(str(path))), soft_wrap=True)


def _counts(view: View) -> Padding:
    table = Table(box=None, pad_edge=False, show_header=True, header_style="dim")
    table.add_column("")
    for severity in Severity:
        table.add_column(f"{severity.value}s", justify="right")
    table.add_column("silent", justify="right")
    parts = (("introduced by the upgrade", view.introduced), ("there before", view.earlier))
    for title, findings in parts:
        cells = [
            Text(f"{number:,}", style=_STYLES[severity] if number else "dim")
            for severity, number in count_by_severity(findings).items()
        ]
        silent = sum(finding.silent for finding in findings)
        table.add_row(Text(title), *cells, Text(f"{silent:,}", style="" if silent else "dim"))
    return Padding(table, (0, 0))


def _findings(findings: Iterable[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for finding in findings:
        where = Text(one_line(place(finding.path, finding.line)), style="bold")
        if not finding.introduced:
            where.append("  there before", style="dim")
        if finding.silent:
            where.append("  silent", style="magenta")
        where.append(f"\n{clip(one_line(finding.message), _MESSAGE_LIMIT)}", style="not bold")
        table.add_row(
            Text(finding.severity.value, style=_STYLES[finding.severity]),
            Text(one_line(finding.check)),
            where,
        )
    return table

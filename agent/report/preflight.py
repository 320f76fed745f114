"""The preflight record on a terminal: five locations, components, correspondence, discrepancies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent.report.text import clip, counted, one_line
from tools.environment.answer import Candidate, Distribution
from tools.findings import Discrepancy, Severity
from tools.preflight.places import identity_line, installed_line, origin_line, provenance_line
from tools.preflight.record import Component, Correspondence, LocalSource, Package, Preflight

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_LISTED = 6
"""Paths shown of each state; the record holds more."""
_LIMIT = 600


def print_preflight(record: Preflight, console: Console) -> None:
    """Print everything that a person needs in order to confirm the mapping.

    Paths, names and versions come from an environment that somebody else may have made: they are shown as text.
    """
    console.print(_titled("Locations", _locations(record)))
    found = [component for component in record.components if component.found]
    absent = [component.label for component in record.components if not component.found]
    if found:
        console.print(_titled("Components", _components(record, found)))
    if absent:
        console.print(_plain(f"Components that are not there: {', '.join(absent)}"))
        console.print()
    if record.correspondence:
        console.print(_titled("Sources beside installed copies", _correspondence(record.correspondence)))
        for row in record.correspondence:
            _differences(row, console)
    if record.discrepancies:
        console.print(_titled("Discrepancies", discrepancy_table(record.discrepancies)))
    else:
        console.print(Text("No discrepancies: metadata, imports and sources describe the same copies."))
    console.print()
    console.print(
        Text.assemble(
            ("mapping ", "dim"),
            (record.mapping_id, "bold"),
            (", to be confirmed once; it stays until interpreter, target or origins change", "dim"),
        )
    )


def _titled(title: str, table: Table) -> Padding:
    table.title, table.title_justify, table.title_style = title, "left", "bold"
    return Padding(table, (0, 0, 1, 0))


def _plain(text: str, style: str = "") -> Text:
    return Text(clip(one_line(text), _LIMIT), style=style)


def _stacked(lines: Iterable[Text]) -> Text:
    return Text("\n").join(lines)


def _rows() -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, show_header=False, show_lines=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    return table


def _locations(record: Preflight) -> Table:
    table = _rows()
    table.add_row("interpreter", _stacked(_interpreter(record)))
    titles = {"vllm": ("vLLM source", "installed vLLM"), "plugin": ("plugin source", "installed plugin")}
    for package in record.packages:
        source, installed = titles[package.role]
        table.add_row(source, _stacked(_source(package.source)))
        table.add_row(installed, _stacked(_installed(record, package)))
    return table


def _interpreter(record: Preflight) -> Iterator[Text]:
    interpreter = record.interpreter
    yield _plain(interpreter.executable or "(no path)", "bold")
    if interpreter.real != interpreter.executable:
        yield _plain(f"a link to {interpreter.real}", "dim")
    kind = "no virtual environment"
    if interpreter.pyvenv_cfg is not None:
        shared = interpreter.pyvenv_cfg.get("include-system-site-packages") == "true"
        kind = f"virtual environment, {'with' if shared else 'without'} the packages of {interpreter.base_prefix}"
    yield _plain(f"{interpreter.implementation} {interpreter.version}, {kind}")
    yield _plain(f"prefix {interpreter.prefix}")
    yield _plain(f"working directory {interpreter.cwd}")
    switched = [name.replace("_", "-") for name, on in interpreter.flags.model_dump().items() if on]
    if switched:
        yield _plain(f"started with {', '.join(switched)}")
    for variable in record.variables:
        yield _plain(f"{variable.name}={variable.value}")


def _source(source: LocalSource | None) -> Iterator[Text]:
    if source is None:
        yield Text("not given", style="dim")
        return
    yield _plain(source.place or source.identity.label, "bold")
    yield _plain(identity_line(source.identity))
    if not source.package:
        yield _plain("holds no such package", "red")


def _installed(record: Preflight, package: Package) -> Iterator[Text]:
    first = package.effective
    if first is None:
        yield _plain(f"import {package.name}: nothing answers", "bold red")
    else:
        yield _imported(record, package.name, first)
        other = package.script[0] if package.script else None
        if other is None or other.real != first.real:
            yield _plain(f"without the current folder: {other.place if other else 'nothing'}", "yellow")
    for dist in package.distributions:
        yield _plain(installed_line(dist))
        yield _plain(provenance_line(dist), "dim")
        place = dist.packages.get(package.name)
        folder, _, name = dist.metadata.rpartition("/")
        beside = place is not None and place.rpartition("/")[0] == folder
        yield _plain(f"metadata {name} beside it" if beside else f"metadata {dist.metadata}", "dim")
        if place and (first is None or dist.real[package.name] != first.real):
            yield _plain(f"its package lies in {place}", "yellow")
    if first is not None and not package.distributions:
        yield Text("no distribution provides it", style="yellow")


def _imported(record: Preflight, name: str, first: Candidate) -> Text:
    text = Text.assemble((f"import {name}: ", "bold"), _plain(first.place or first.kind, "bold"))
    kind = "" if first.kind in ("package", "builtin") else f"{first.kind}, "
    return text.append(f"\n{kind}{one_line(origin_line(record, first))}", style="not bold")


def _components(record: Preflight, found: Iterable[Component]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("component", no_wrap=True, style="bold")
    table.add_column("distributions", overflow="fold", ratio=2)
    table.add_column("import takes", overflow="fold", ratio=3)
    for component in found:
        table.add_row(*_component(record, component))
    return table


def _component(record: Preflight, component: Component) -> tuple[Text, Text, Text]:
    dists = [_plain(_brief(dist)) for dist in component.distributions] or [Text("none", style="yellow")]
    imports = []
    for name, candidates in component.imports.items():
        if candidates:
            first = candidates[0]
            imports.append(_plain(f"{first.place or first.kind}, {origin_line(record, first)}"))
        elif any(name in dist.packages for dist in component.distributions):
            imports.append(_plain(f"{name}: nothing answers", "red"))
    return Text(component.label), _stacked(dists), _stacked(imports)


def _brief(dist: Distribution) -> str:
    return f"{dist.name} {dist.version}" + (", editable" if dist.editable else "")


def _correspondence(rows: Iterable[Correspondence]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("source and copy", overflow="fold", ratio=1)
    for name in ("matching", "changed", "missing", "install-\nonly", "gene-\nrated"):
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    for row in rows:
        label = _plain(row.role, "bold").append(f"\n{one_line(row.place)}", style="not bold")
        if row.same_place:
            label.append(", the source itself", style="green")
        elif not row.imported:
            label.append(", not what is imported", style="yellow")
        states = (row.changed, row.missing, row.install_only)
        numbers = [Text(f"{files.count:,}", style="yellow" if files.python else "") for files in states]
        table.add_row(label, f"{row.matching.count:,}", *numbers, f"{row.generated.count:,}")
    return table


def _differences(row: Correspondence, console: Console) -> None:
    for name, files in (
        ("changed", row.changed),
        ("missing", row.missing),
        ("install-only", row.install_only),
    ):
        if not files.count:
            continue
        shown = [Text("  ") + _plain(path) for path in files.paths[:_LISTED]]
        if files.count > len(shown):
            shown.append(Text(f"  … and {counted(files.count - len(shown), 'more file')}", style="dim"))
        title = _plain(f"{row.role}, {name}", "bold")
        title.append(f" ({counted(files.count, 'file')}, {files.python:,} of them Python)", style="dim")
        console.print(_stacked([title, *shown]))
        console.print()


def discrepancy_table(rows: Iterable[Discrepancy]) -> Table:
    """Each with what it means and what to do."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=1)
    for row in rows:
        text = Text.assemble((f"{one_line(row.about)}: ", "bold"), _plain(row.what))
        text.append(f"\n{clip(one_line(row.means), _LIMIT)}", style="dim")
        text.append(f"\n→ {clip(one_line(row.remedy), _LIMIT)}")
        table.add_row(Text(row.severity.value, style=STYLES[row.severity]), text)
    return table

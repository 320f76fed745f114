"""Discrepancies of the interpreter itself, its path and start-up code, and of the components."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.findings import Discrepancy, Severity
from tools.preflight.record import Component, Preflight
from tools.preflight.rows import row_of


def interpreter_rules(record: Preflight) -> Iterator[Discrepancy]:
    """What about the interpreter a reader should know before trusting it."""
    yield from _python_path(record)
    yield from _other_variables(record)
    yield from _start_up(record)
    if record.problems:
        shown = "; ".join(record.problems[:3]) + (" …" if len(record.problems) > 3 else "")
        yield row_of(
            "not-looked-at",
            "interpreter",
            Severity.WARNING,
            f"{len(record.problems)} places could not be looked at: {shown}",
            "What lies there is unknown.",
            "Check permissions and metadata there.",
        )


def _python_path(record: Preflight) -> Iterator[Discrepancy]:
    entries = [entry for row in record.variables if row.name == "PYTHONPATH" for entry in row.entries]
    if record.interpreter.flags.ignore_environment and entries:
        yield row_of(
            "variables-ignored",
            "interpreter",
            Severity.NOTE,
            "PYTHONPATH is set, and this interpreter is started so that it ignores PYTHON variables.",
            "What PYTHONPATH names is not imported.",
            "Check the wrapper that --python names.",
        )
        return
    relative = [entry.entry or "(empty)" for entry in entries if entry.relative]
    if relative:
        yield row_of(
            "relative-path",
            "interpreter",
            Severity.WARNING,
            f"PYTHONPATH has relative entries: {', '.join(relative)}.",
            "They mean another folder in every working directory; an empty one means the current folder.",
            "Make them absolute.",
        )
    missing = [row.place for row in record.path if row.source == "PYTHONPATH" and row.kind == "missing"]
    if missing:
        yield row_of(
            "missing-path",
            "interpreter",
            Severity.NOTE,
            f"PYTHONPATH names what does not exist: {', '.join(missing)}.",
            "What was meant to be imported from there is taken from elsewhere.",
            "Correct or remove the entry.",
        )


def _other_variables(record: Preflight) -> Iterator[Discrepancy]:
    values = {row.name: row.value for row in record.variables}
    interpreter = record.interpreter
    hint = values.get("VIRTUAL_ENV")
    if hint and Path(hint).resolve() != Path(interpreter.prefix).resolve():
        yield row_of(
            "virtual-env",
            "interpreter",
            Severity.NOTE,
            f"VIRTUAL_ENV says {hint}; this interpreter belongs to {interpreter.prefix}.",
            "The variable is only a hint of the shell: commands typed there may use another environment.",
            "Make sure that --python is the one meant.",
        )
    if values.get("PYTHONHOME") and not interpreter.flags.ignore_environment:
        yield row_of(
            "python-home",
            "interpreter",
            Severity.WARNING,
            f"PYTHONHOME={values['PYTHONHOME']} moves the standard library.",
            "Every interpreter that inherits it looks there, whatever its version.",
            "Unset it.",
        )
    old = tuple(map(int, interpreter.version.split(".")[:2])) < (3, 11)
    if values.get("PYTHONSAFEPATH") and old:
        yield row_of(
            "safe-path-ignored",
            "interpreter",
            Severity.NOTE,
            f"PYTHONSAFEPATH is set, and Python {interpreter.version} does not know it.",
            "The current folder is still looked at first.",
            "Start from a folder that holds no packages.",
        )


def _start_up(record: Preflight) -> Iterator[Discrepancy]:
    for file in record.pth:
        for line in file.lines:
            if line.kind == "code" and line.hook and not line.active:
                yield row_of(
                    "hook-not-active",
                    "interpreter",
                    Severity.WARNING,
                    f"{file.file} starts {line.hook}, which was not loaded.",
                    "The editable install behind it does not work: its packages come from elsewhere, or not at all.",
                    "Install the project again, or remove the file.",
                )
            elif line.kind == "path" and not line.active:
                yield row_of(
                    "dead-pth-line",
                    "interpreter",
                    Severity.NOTE,
                    f"{file.file} names {line.place}, which does not exist.",
                    "What was installed editable from there is not imported.",
                    "Install the project again, or remove the file.",
                )
    if record.customized:
        yield row_of(
            "customized",
            "interpreter",
            Severity.NOTE,
            f"{' and '.join(record.customized)} ran at start.",
            "Code that no package owns may have changed the path or import hooks.",
            "Look into it when an origin surprises.",
        )


def component_rules(record: Preflight) -> Iterator[Discrepancy]:
    """What is wrong with one component."""
    for component in record.components:
        yield from _component(component)


def _component(component: Component) -> Iterator[Discrepancy]:
    about = component.label
    for name, candidates in component.imports.items():
        owners = [dist for dist in component.distributions if name in dist.packages]
        if len(owners) > 1:
            shown = ", ".join(f"{dist.name} {dist.version} ({dist.metadata})" for dist in owners)
            yield row_of(
                "several-distributions",
                about,
                Severity.WARNING,
                f"{len(owners)} distributions provide {name}: {shown}.",
                "One overwrites or hides the other: the order of installation, or of the path, decides what runs.",
                "Keep the one that the platform needs.",
            )
        first = candidates[0] if candidates else None
        if first is None:
            for dist in owners:
                yield row_of(
                    "metadata-without-package",
                    about,
                    Severity.WARNING,
                    f"{dist.name} {dist.version} is installed, but nothing answers to `import {name}`.",
                    "Code that asks the metadata takes it for available, and fails when it imports it.",
                    "Install it again.",
                )
        elif first.kind == "namespace":
            yield row_of(
                "namespace-package",
                about,
                Severity.WARNING,
                f"`import {name}` takes the folder {first.place}, which has no `__init__.py`.",
                "The import succeeds and gives nothing: availability checks are deceived.",
                "Take the folder off the path, or start elsewhere.",
            )
        elif first.kind in ("package", "module", "extension") and not any(
            dist.real.get(name) == first.real for dist in owners
        ):
            yield row_of(
                "shadowed" if owners else "no-metadata",
                about,
                Severity.WARNING if owners else Severity.NOTE,
                f"`import {name}` takes {first.place}, "
                + (f"not what {owners[0].name} installed." if owners else "which no distribution owns."),
                "Its version is unknown: what metadata say describes another copy."
                if owners
                else "Its version is unknown.",
                "Check that it is the build meant for this platform.",
            )

"""What does not fit together in a preflight record, what that means, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tools.environment.answer import Candidate
from tools.findings import Discrepancy, Severity
from tools.preflight.installed import (
    claim_elsewhere,
    never_loaded,
    several_distributions,
    unusual_place,
)
from tools.preflight.places import origin_line
from tools.preflight.record import Correspondence, Package, Preflight
from tools.preflight.rows import error, note, row_of, warning
from tools.preflight.surroundings import component_rules, interpreter_rules

_NAMED = 3
"""Files that a sentence names; more are counted."""

Rule = Callable[[Preflight, Package], Iterable[Discrepancy]]


def discrepancies(record: Preflight) -> list[Discrepancy]:
    """Everything that does not fit, worst first, in a stable order."""
    found = [
        *(row for package in record.packages for rule in PACKAGE_RULES for row in rule(record, package)),
        *interpreter_rules(record),
        *component_rules(record),
    ]
    return sorted(found, key=lambda row: row.severity.rank)


def not_importable(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Nothing, or nothing usable, answers to the name."""
    name = package.name
    first = package.effective
    if first is None:
        if package.distributions:
            dist = package.distributions[0]
            yield error(
                "metadata-without-package",
                package.name,
                f"{dist.name} {dist.version} is installed, but nothing answers to `import {name}`.",
                "Its metadata describe a package that is not there any more.",
                f"Install it again in {record.interpreter.prefix}.",
            )
            return
        plugin = package.role == "plugin"
        yield error(
            "not-installed",
            package.name,
            f"`import {name}` finds nothing.",
            "vLLM does not load the plugin: its entry points come from installed metadata."
            if plugin
            else "Nothing can be validated with this interpreter.",
            "Install the checkout there, editable if it is edited (`pip install -e`)."
            if plugin
            else "Install the target version there, or name the interpreter that has it with --python.",
        )
    elif first.kind == "namespace":
        yield error(
            "namespace-package",
            package.name,
            f"`import {name}` takes the folder {first.place}, which has no `__init__.py`, "
            f"{origin_line(record, first)}.",
            "It is imported as an empty namespace package: every name in it is missing.",
            f"Start elsewhere, take that folder's parent off the path, or install {name}.",
        )
    elif first.kind in ("dangling", "built when imported", "unknown"):
        means = {
            "dangling": f"The editable install leads to {first.place}, where nothing lies: the checkout has moved.",
            "built when imported": "The editable install builds the project when it is imported; until then nobody "
            "can say what is imported.",
            "unknown": "That hook decides before the path is looked at, and it cannot be looked into.",
        }
        yield error(
            "origin-unknown",
            package.name,
            f"What `import {name}` takes is decided {origin_line(record, first)}.",
            means[first.kind],
            f"Install {name} again in a plain way, or confirm the origin by hand.",
        )


def depends_on_start(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """The current folder changes what is imported."""
    module, script = package.module[:1], package.script[:1]
    if [row.real for row in module] == [row.real for row in script]:
        return
    without = script[0].place if script else "nothing"
    yield warning(
        "depends-on-start",
        package.name,
        f"`python -m` in {record.interpreter.cwd} imports {name_of(module)}; a script such as `vllm` "
        f"imports {without}.",
        "What is validated depends on how it is started, and from where.",
        "Start from another folder (--cwd), or with -P or PYTHONSAFEPATH=1 (Python 3.11 or newer).",
    )


def name_of(candidates: tuple[Candidate, ...]) -> str:
    """Where the first lies."""
    return candidates[0].place if candidates else "nothing"


def metadata_elsewhere(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """What is imported is not what the metadata describe."""
    first = package.effective
    if first is None or first.kind not in ("package", "module", "extension"):
        return
    if package.owner(first) is not None:
        return
    how = origin_line(record, first)
    if package.distributions:
        dist = package.distributions[0]
        where = dist.packages.get(package.name)
        yield warning(
            "shadowed",
            package.name,
            f"`import {package.name}` takes {first.place} {how}; the metadata of {dist.name} {dist.version} "
            + (f"lead to {where}." if where else "lead to no such package."),
            "Version, provenance and entry points that tools report belong to another copy than the one that runs.",
            "Take the first copy off the path, or say that it is the one meant.",
        )
        return
    plugin = package.role == "plugin"
    yield row_of(
        "no-metadata",
        package.name,
        Severity.ERROR if plugin else Severity.WARNING,
        f"`import {package.name}` takes {first.place} {how}, and no installed distribution owns it.",
        "Without metadata there are no entry points: vLLM never loads the plugin."
        if plugin
        else "Version and provenance are unknown, and entry points of vLLM itself are missing.",
        "Install it (`pip install -e` for a checkout), or put its metadata beside it.",
    )


def hidden_copies(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Copies further down the path, when nothing above has named them."""
    first = package.effective
    if first is None or len(package.module) < 2 or package.owner(first) is None:
        return
    if len(package.distributions) > 1 or package.module[:1] != package.script[:1]:
        return
    others = ", ".join(row.place or row.via for row in package.module[1:])
    yield note(
        "other-copies",
        package.name,
        f"Behind {first.place} lie other copies of {package.name}: {others}.",
        "They are imported as soon as the first goes, or the path changes.",
        "Remove what is not needed.",
    )


def source_not_imported(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """The source under review is not the copy that would run."""
    rows = [row for row in record.correspondence if row.role == package.role and row.imported]
    if package.source is None or not rows or rows[0].same_place:
        return
    row = rows[0]
    dist = package.owner(package.effective) if package.effective else None
    plugin = package.role == "plugin"
    if not row.equal:
        versions = dist is not None and package.source.identity.version == dist.version
        yield error(
            "other-content",
            package.name,
            f"{row.place} differs from the {'plugin' if plugin else 'vLLM'} source: {difference(row)}."
            + (" Both call themselves the same version." if versions else ""),
            "What runs there is not the code that is edited."
            if plugin
            else "What runs there is not the version that the plugin is compared with.",
            f"Install the checkout editable in {record.interpreter.prefix}, or validate a staged copy of it."
            if plugin
            else "Install the target there, or name the interpreter that has it.",
        )
    elif plugin:
        yield warning(
            "copy-of-source",
            package.name,
            f"{row.place} is a copy of the plugin source, equal to it now.",
            "Edits do not reach it: validation would go on with the old code.",
            "Install the checkout editable before edits are validated.",
        )
    theirs = dist.version if dist else ""
    ours = package.source.identity.version
    if row.equal and ours and theirs and ours != theirs:
        yield note(
            "other-version-string",
            package.name,
            f"The source says version {ours}, the installed metadata {theirs}; the Python files are the same.",
            "One of the two strings is stale. Checks that read the version decide by it.",
            "Go by the content.",
        )


def difference(row: Correspondence) -> str:
    """``1 Python file changed (envs.py), 4 Python files missing``; Python files, for those decide."""
    parts = []
    for files, word in (
        (row.changed, "changed"),
        (row.missing, "missing"),
        (row.install_only, "install-only"),
    ):
        if files.python:
            names = f" ({', '.join(files.paths[: files.python])})" if files.python <= _NAMED else ""
            parts.append(f"{files.python} Python {'file' if files.python == 1 else 'files'} {word}{names}")
    return ", ".join(parts)


PACKAGE_RULES: tuple[Rule, ...] = (
    not_importable,
    depends_on_start,
    metadata_elsewhere,
    several_distributions,
    hidden_copies,
    source_not_imported,
    claim_elsewhere,
    unusual_place,
    never_loaded,
)

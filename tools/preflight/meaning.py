"""What does not fit together in a preflight record, what that means, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tools.environment.answer import Candidate
from tools.findings import Discrepancy, Severity
from tools.preflight.places import origin_line
from tools.preflight.record import Correspondence, Package, Preflight
from tools.preflight.surroundings import component_rules, interpreter_rules

Rule = Callable[[Preflight, Package], Iterable[Discrepancy]]


def discrepancies(record: Preflight) -> list[Discrepancy]:
    """Everything that does not fit, worst first, in a stable order."""
    found = [
        *(row for package in record.packages for rule in PACKAGE_RULES for row in rule(record, package)),
        *interpreter_rules(record),
        *component_rules(record),
    ]
    return sorted(found, key=lambda row: row.severity.rank)


def _error(kind: str, package: Package, what: str, means: str, remedy: str) -> Discrepancy:
    return _row(kind, package, Severity.ERROR, what, means, remedy)


def _warning(kind: str, package: Package, what: str, means: str, remedy: str) -> Discrepancy:
    return _row(kind, package, Severity.WARNING, what, means, remedy)


def _note(kind: str, package: Package, what: str, means: str, remedy: str) -> Discrepancy:
    return _row(kind, package, Severity.NOTE, what, means, remedy)


def _row(kind: str, package: Package, severity: Severity, what: str, means: str, remedy: str) -> Discrepancy:
    return Discrepancy(
        kind=kind, about=package.name, severity=severity, what=what, means=means, remedy=remedy
    )


def not_importable(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Nothing, or nothing usable, answers to the name."""
    name = package.name
    first = package.effective
    if first is None:
        if package.distributions:
            dist = package.distributions[0]
            yield _error(
                "metadata-without-package",
                package,
                f"{dist.name} {dist.version} is installed, but nothing answers to `import {name}`.",
                "Its metadata describe a package that is not there any more.",
                f"Install it again in {record.interpreter.prefix}.",
            )
            return
        plugin = package.role == "plugin"
        yield _error(
            "not-installed",
            package,
            f"`import {name}` finds nothing.",
            "vLLM does not load the plugin: its entry points come from installed metadata."
            if plugin
            else "Nothing can be validated with this interpreter.",
            "Install the checkout there, editable if it is edited (`pip install -e`)."
            if plugin
            else "Install the target version there, or name the interpreter that has it with --python.",
        )
    elif first.kind == "namespace":
        yield _error(
            "namespace-package",
            package,
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
        yield _error(
            "origin-unknown",
            package,
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
    yield _warning(
        "depends-on-start",
        package,
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
        yield _warning(
            "shadowed",
            package,
            f"`import {package.name}` takes {first.place} {how}; the metadata of {dist.name} {dist.version} "
            + (f"lead to {where}." if where else "lead to no such package."),
            "Version, provenance and entry points that tools report belong to another copy than the one that runs.",
            "Take the first copy off the path, or say that it is the one meant.",
        )
        return
    plugin = package.role == "plugin"
    yield _row(
        "no-metadata",
        package,
        Severity.ERROR if plugin else Severity.WARNING,
        f"`import {package.name}` takes {first.place} {how}, and no installed distribution owns it.",
        "Without metadata there are no entry points: vLLM never loads the plugin."
        if plugin
        else "Version and provenance are unknown, and entry points of vLLM itself are missing.",
        "Install it (`pip install -e` for a checkout), or put its metadata beside it.",
    )


def several_distributions(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Two installations of one thing."""
    if len(package.distributions) < 2:
        return
    shown = ", ".join(f"{dist.name} {dist.version} ({dist.metadata})" for dist in package.distributions)
    same = len({canonicalize_name(dist.name) for dist in package.distributions}) == 1
    first = package.effective
    owner = package.owner(first) if first else None
    yield _warning(
        "several-distributions",
        package,
        f"{len(package.distributions)} distributions provide {package.name}: {shown}.",
        (
            f"Version lookups answer {package.distributions[0].version}, the first on the path"
            if same
            else "Each may have overwritten files of the other"
        )
        + (f"; the import takes that of {owner.name} {owner.version}." if owner else "."),
        "Uninstall all of them, then install the one that is meant.",
    )


def hidden_copies(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Copies further down the path, when nothing above has named them."""
    first = package.effective
    if first is None or len(package.module) < 2 or package.owner(first) is None:
        return
    if len(package.distributions) > 1 or package.module[:1] != package.script[:1]:
        return
    others = ", ".join(row.place or row.via for row in package.module[1:])
    yield _note(
        "other-copies",
        package,
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
        yield _error(
            "other-content",
            package,
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
        yield _warning(
            "copy-of-source",
            package,
            f"{row.place} is a copy of the plugin source, equal to it now.",
            "Edits do not reach it: validation would go on with the old code.",
            "Install the checkout editable before edits are validated.",
        )
    theirs = dist.version if dist else ""
    ours = package.source.identity.version
    if row.equal and ours and theirs and ours != theirs:
        yield _note(
            "other-version-string",
            package,
            f"The source says version {ours}, the installed metadata {theirs}; the Python files are the same.",
            "One of the two strings is stale. Checks that read the version decide by it.",
            "Go by the content.",
        )


def difference(row: Correspondence) -> str:
    """``3 files changed, 1 missing, 2 install-only``; Python files, for those decide."""
    parts = [
        f"{files.python} Python {'file' if files.python == 1 else 'files'} {word}"
        for files, word in (
            (row.changed, "changed"),
            (row.missing, "missing"),
            (row.install_only, "install-only"),
        )
        if files.python
    ]
    return ", ".join(parts)


def claim_elsewhere(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """direct_url.json speaks of a folder that is not what is imported."""
    first = package.effective
    for dist in package.distributions:
        claim = dist.direct_url
        if claim is None or not claim.editable or first is None or not first.place:
            continue
        project = Path(claim.url.removeprefix("file://")).resolve()
        if not Path(first.real).is_relative_to(project):
            yield _warning(
                "claim-elsewhere",
                package,
                f"direct_url.json of {dist.name} claims an editable install of {project}; "
                f"`import {package.name}` takes {first.place}.",
                "The claim is out of date: direct_url.json does not decide what runs.",
                "Install the checkout again.",
            )


def unusual_place(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Zipped, linked, in the user's own packages, imported already, without a list of files."""
    first = package.effective
    if first is not None and first.zipped:
        yield _warning(
            "zipped",
            package,
            f"`import {package.name}` takes {first.place}, inside an archive.",
            "Code that opens files beside itself, compiled modules among them, fails.",
            "Install it unpacked.",
        )
    elif first is not None and first.place and first.real != first.place and not _only_prefix(first):
        yield _note(
            "linked",
            package,
            f"{first.place} is a link to {first.real}.",
            "Whoever changes that folder changes what is imported.",
            "Make sure that it is the tree meant.",
        )
    user = record.interpreter.user_site
    entries = [first.entry] if first else []
    if user.enabled and user.path in [*entries, *(dist.entry for dist in package.distributions)]:
        yield _warning(
            "user-site",
            package,
            f"A copy of {package.name} lies in the user's own packages ({user.path}).",
            "It counts for this user alone, and disappears under -s, -I, PYTHONNOUSERSITE or another account.",
            "Install it into the environment itself.",
        )
    if package.loaded:
        yield _warning(
            "imported-at-start",
            package,
            f"Start-up code had imported {package.name} before any program ran.",
            "A .pth file or sitecustomize imports it in every process of this interpreter, patches included.",
            "Look into the .pth files and sitecustomize listed in the record.",
        )
    for dist in package.distributions:
        if not dist.recorded and not dist.editable:
            yield _note(
                "no-file-list",
                package,
                f"{dist.name} {dist.version} has no list of its files ({dist.metadata}).",
                "Which files belong to it cannot be told.",
                "Install it again with pip.",
            )


def _only_prefix(candidate: Candidate) -> bool:
    """Whether only a folder above the path's entry is a link (``/tmp`` on some systems)."""
    return Path(candidate.entry or ".").resolve() / Path(candidate.place).name == Path(candidate.real)


def never_loaded(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """The plugin is installed, and vLLM would not call it."""
    if package.role != "plugin" or not package.distributions:
        return
    own = {canonicalize_name(dist.name) for dist in package.distributions}
    points = [point for dist in package.distributions for point in dist.entry_points]
    platform = [point for point in points if point.group == "vllm.platform_plugins"]
    if not platform:
        yield _error(
            "no-entry-points",
            package,
            f"{package.distributions[0].name} declares no `vllm.platform_plugins` entry point.",
            "vLLM never loads the platform, and nothing says so.",
            "Install the plugin again; an old editable install keeps the entry points of its day.",
        )
    allowed = next((row.value for row in record.variables if row.name == "VLLM_PLUGINS"), None)
    names = sorted({point.name for point in points})
    left_out = [] if allowed is None else [name for name in names if name not in allowed.split(",")]
    if left_out:
        yield _error(
            "plugin-switched-off",
            package,
            f"VLLM_PLUGINS={allowed} leaves out {', '.join(left_out)}.",
            "vLLM loads the plugins named there and no others.",
            "Unset VLLM_PLUGINS, or name all of the plugin's entry points in it.",
        )
    others = sorted(
        {
            point.distribution
            for point in record.plugins
            if point.group == "vllm.platform_plugins" and canonicalize_name(point.distribution) not in own
        }
    )
    if platform and others:
        yield _warning(
            "other-platform",
            package,
            f"Other distributions bring platforms too: {', '.join(others)}.",
            "vLLM stops when two platform plugins both answer.",
            "Keep them apart, or choose with VLLM_PLUGINS.",
        )


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

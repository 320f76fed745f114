"""Takes the preflight: asks the interpreter once, puts the sources beside its answer, says what does not fit."""

from __future__ import annotations

from pathlib import Path

from packaging.utils import canonicalize_name

from tools.environment.answer import Answer, Candidate, Distribution
from tools.environment.ask import SECONDS, ask
from tools.findings import Identity
from tools.preflight.components import components_of
from tools.preflight.correspondence import compare_copies, local_source
from tools.preflight.mapping import mapping_id
from tools.preflight.meaning import discrepancies
from tools.preflight.record import Component, Correspondence, LocalSource, Package, Preflight, Role
from tools.profiles import Profile
from tools.sources.redact import redacted
from tools.sources.snapshot import Snapshot, SourceError

COPIES = 3
"""Copies of one package that a source is compared with."""


def take_preflight(
    python: Path,
    profile: Profile,
    *,
    cwd: Path | None = None,
    vllm: Snapshot | None = None,
    plugin: Snapshot | None = None,
    seconds: float = SECONDS,
) -> Preflight:
    """The record for ``python`` started in ``cwd``, beside the sources given.

    Nothing is imported, written or confirmed. Raises InterpreterError when the interpreter cannot be asked.
    """
    components = components_of(profile)
    names: dict[Role, str] = {"vllm": profile.upstream_package, "plugin": profile.plugin_package}
    answer = ask(
        python,
        distributions=[
            profile.upstream_distribution,
            profile.plugin_distribution,
            *(name for known, _ in components.values() for name in known),
        ],
        imports=[*names.values(), *(name for _, imports in components.values() for name in imports)],
        cwd=cwd,
        seconds=seconds,
    )
    roles: tuple[tuple[Role, str, Snapshot | None], ...] = (
        ("vllm", profile.upstream_distribution, vllm),
        ("plugin", profile.plugin_distribution, plugin),
    )
    packages: dict[Role, Package] = {}
    compared: list[Correspondence] = []
    problems = list(answer.problems)
    for role, distribution, snapshot in roles:
        source = None if snapshot is None else _shown(local_source(snapshot, names[role]))
        packages[role] = _package(role, names[role], distribution, source, answer)
        if snapshot is None or source is None:
            continue
        if not source.package:
            problems.append(f"{source.identity.label} holds no package {names[role]}")
            continue
        for copy in copies(packages[role]):
            effective = packages[role].effective
            imported = effective is not None and effective.real == copy.real
            try:
                row = compare_copies(role, snapshot, source, copy, profile, imported=imported)
            except SourceError as error:
                problems.append(f"{copy.place} could not be compared: {redacted(error.why)}")
            else:
                compared.append(row)
    record = Preflight(
        profile=profile.name,
        python=str(python),
        interpreter=answer.interpreter,
        variables=answer.variables,
        path=answer.path,
        pth=answer.pth,
        hooks=answer.hooks,
        customized=answer.customized,
        plugins=answer.plugins,
        vllm=packages["vllm"],
        plugin=packages["plugin"],
        components=tuple(_component(label, *known, answer=answer) for label, known in components.items()),
        correspondence=tuple(compared),
        discrepancies=(),
        mapping_id="",
        problems=tuple(problems),
    )
    return record.model_copy(
        update={"discrepancies": tuple(discrepancies(record)), "mapping_id": mapping_id(record)}
    )


def copies(package: Package) -> list[Candidate]:
    """Copies of a package that an import or the metadata lead to: what is imported first."""
    found = [*package.module[:1], *package.script[:1]]
    for dist in package.distributions:
        place = dist.packages.get(package.name)
        if place and Path(place).is_dir():
            found.append(
                Candidate(
                    kind="package",
                    origin="",
                    place=place,
                    real=dist.real[package.name],
                    entry=dist.entry,
                    via="metadata",
                    zipped=False,
                )
            )
    kept: dict[str, Candidate] = {}
    for copy in found:
        if copy.kind == "package":
            kept.setdefault(copy.real, copy)
    return list(kept.values())[:COPIES]


def _shown(source: LocalSource) -> LocalSource:
    """``source`` as it may be kept: a label that is a URL has its login taken out."""
    label = source.identity.label
    if "://" not in label:
        return source
    identity: Identity = source.identity.model_copy(update={"label": redacted(label)})
    return source.model_copy(update={"identity": identity})


def _package(role: Role, name: str, distribution: str, source: LocalSource | None, answer: Answer) -> Package:
    found = answer.imports[name]
    return Package(
        role=role,
        name=name,
        source=source,
        module=found.module,
        script=found.script,
        loaded=found.loaded,
        distributions=_distributions(answer, (distribution,), (name,)),
    )


def _component(
    label: str, distributions: tuple[str, ...], imports: tuple[str, ...], *, answer: Answer
) -> Component:
    return Component(
        label=label,
        imports={name: answer.imports[name].module for name in imports},
        loaded=any(answer.imports[name].loaded for name in imports),
        distributions=_distributions(answer, distributions, imports),
    )


def _distributions(
    answer: Answer, names: tuple[str, ...], imports: tuple[str, ...]
) -> tuple[Distribution, ...]:
    wanted = {canonicalize_name(name) for name in names}
    return tuple(
        dist
        for dist in answer.distributions
        if canonicalize_name(dist.name) in wanted or any(name in dist.packages for name in imports)
    )

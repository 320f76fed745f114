"""Discrepancies of how a package is installed: twice, oddly, or so that vLLM never calls it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from tools.environment.answer import Candidate
from tools.findings import Discrepancy
from tools.preflight.record import Package, Preflight
from tools.preflight.rows import error, note, warning


def several_distributions(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Two installations of one thing."""
    if len(package.distributions) < 2:
        return
    shown = ", ".join(f"{dist.name} {dist.version} ({dist.metadata})" for dist in package.distributions)
    same = len({canonicalize_name(dist.name) for dist in package.distributions}) == 1
    first = package.effective
    owner = package.owner(first) if first else None
    yield warning(
        "several-distributions",
        package.name,
        f"{len(package.distributions)} distributions provide {package.name}: {shown}.",
        (
            f"Version lookups answer {package.distributions[0].version}, the first on the path"
            if same
            else "Each may have overwritten files of the other"
        )
        + (f"; the import takes that of {owner.name} {owner.version}." if owner else "."),
        "Uninstall all of them, then install the one that is meant.",
    )


def claim_elsewhere(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """direct_url.json speaks of a folder that is not what is imported."""
    first = package.effective
    for dist in package.distributions:
        claim = dist.direct_url
        if claim is None or not claim.editable or first is None or not first.place:
            continue
        project = Path(claim.url.removeprefix("file://")).resolve()
        if not Path(first.real).is_relative_to(project):
            yield warning(
                "claim-elsewhere",
                package.name,
                f"direct_url.json of {dist.name} claims an editable install of {project}; "
                f"`import {package.name}` takes {first.place}.",
                "The claim is out of date: direct_url.json does not decide what runs.",
                "Install the checkout again.",
            )


def unusual_place(record: Preflight, package: Package) -> Iterator[Discrepancy]:
    """Zipped, linked, in the user's own packages, imported already, without a list of files."""
    first = package.effective
    if first is not None and first.zipped:
        yield warning(
            "zipped",
            package.name,
            f"`import {package.name}` takes {first.place}, inside an archive.",
            "Code that opens files beside itself, compiled modules among them, fails.",
            "Install it unpacked.",
        )
    elif first is not None and first.place and first.real != first.place and not _only_prefix(first):
        yield note(
            "linked",
            package.name,
            f"{first.place} is a link to {first.real}.",
            "Whoever changes that folder changes what is imported.",
            "Make sure that it is the tree meant.",
        )
    user = record.interpreter.user_site
    entries = [first.entry] if first else []
    if user.enabled and user.path in [*entries, *(dist.entry for dist in package.distributions)]:
        yield warning(
            "user-site",
            package.name,
            f"A copy of {package.name} lies in the user's own packages ({user.path}).",
            "It counts for this user alone, and disappears under -s, -I, PYTHONNOUSERSITE or another account.",
            "Install it into the environment itself.",
        )
    if package.loaded:
        yield warning(
            "imported-at-start",
            package.name,
            f"Start-up code had imported {package.name} before any program ran.",
            "A .pth file or sitecustomize imports it in every process of this interpreter, patches included.",
            "Look into the .pth files and sitecustomize listed in the record.",
        )
    for dist in package.distributions:
        if not dist.recorded and not dist.editable:
            yield note(
                "no-file-list",
                package.name,
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
        yield error(
            "no-entry-points",
            package.name,
            f"{package.distributions[0].name} declares no `vllm.platform_plugins` entry point.",
            "vLLM never loads the platform, and nothing says so.",
            "Install the plugin again; an old editable install keeps the entry points of its day.",
        )
    allowed = next((row.value for row in record.variables if row.name == "VLLM_PLUGINS"), None)
    names = sorted({point.name for point in points})
    left_out = [] if allowed is None else [name for name in names if name not in allowed.split(",")]
    if left_out:
        yield error(
            "plugin-switched-off",
            package.name,
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
        yield warning(
            "other-platform",
            package.name,
            f"Other distributions bring platforms too: {', '.join(others)}.",
            "vLLM stops when two platform plugins both answer.",
            "Keep them apart, or choose with VLLM_PLUGINS.",
        )

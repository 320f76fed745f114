"""Prepares what a probe loads: source trees on disk with the metadata that an installation would have, and what the
static reading of them asks of the running process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.code.records import Call
from tools.code.tree import Tree
from tools.code.world import Kind, World
from tools.probes.launch import Subject
from tools.profiles import Profile
from tools.registry.entry_points import EntryPoint, entry_points
from tools.sources.snapshot import Snapshot

REGISTRIES = (
    "model_executor.custom_op",
    "model_executor.layers.quantization",
    "model_executor.models.registry",
    "model_executor.kernels.linear",
    "model_executor.layers.quantization.kernels.mixed_precision",
    "model_executor.layers.quantization.kernels.scaled_mm",
    "v1.attention.backends.registry",
    "v1.attention.selector",
    "attention.backends.registry",
    "attention.selector",
)
"""Modules of vLLM that hold registries, in the releases from 0.10 on; below the package."""


@dataclass(frozen=True)
class Source:
    """One package to load: as installed in the interpreter, or from a tree."""

    tree: Tree
    installed: bool

    @property
    def label(self) -> str:
        """For records."""
        return self.tree.snapshot.identity.label


def subject_of(plugin: Source, upstream: Source, profile: Profile, folder: Path) -> Subject:
    """What to load, with trees that are not installed laid out below ``folder``.

    A worktree or folder is imported where it lies; revisions, the index and archives are exported, so that what is
    loaded is exactly what was named. Raises SourceError when a tree cannot be written there.
    """
    roots: list[str] = []
    expected: dict[str, str] = {}
    for source, name in ((plugin, "plugin"), (upstream, "upstream")):
        if source.installed:
            continue
        place = _laid_out(source.tree, folder / name)
        roots.append(str(place))
        expected[source.tree.package] = str(place)
    metadata = folder / "metadata"
    if not upstream.installed:
        _distribution(metadata, profile.upstream_package, upstream.tree.snapshot, ())
    if not plugin.installed:
        declared = entry_points(plugin.tree, profile)
        _distribution(metadata, profile.plugin_package, plugin.tree.snapshot, declared)
    if metadata.exists():
        roots.append(str(metadata))
    world = World(plugin.tree, upstream.tree, profile)
    return Subject(
        upstream=profile.upstream_package,
        plugin=profile.plugin_package,
        modules=tuple(sorted(m for m in plugin.tree.modules if not _is_test(m))),
        calls=tuple(_calls(world)),
        registries=tuple(f"{profile.upstream_package}.{name}" for name in REGISTRIES),
        roots=tuple(roots),
        expected=expected,
    )


def _laid_out(tree: Tree, folder: Path) -> Path:
    """Folder from which the package of ``tree`` can be imported."""
    snapshot = tree.snapshot
    if snapshot.root is None:
        snapshot.materialize(folder, f"{tree.prefix}{tree.package.replace('.', '/')}")
        return folder / tree.prefix
    return snapshot.root / tree.prefix


def _distribution(folder: Path, package: str, snapshot: Snapshot, declared: tuple[EntryPoint, ...]) -> None:
    """Metadata of an installed distribution: its version, and the entry points by which vLLM finds plugins."""
    # vLLM turns features off for a version that it cannot parse, or that names another device.
    version = snapshot.identity.version or "0.0.0"
    place = folder / f"{package}-{version}.dist-info"
    place.mkdir(parents=True)
    name = package.replace("_", "-")
    (place / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    groups: dict[str, list[EntryPoint]] = {}
    for point in declared:
        groups.setdefault(point.group, []).append(point)
    lines = []
    for group, points in groups.items():
        lines += [f"[{group}]", *(f"{p.name or package} = {p.target}" for p in points), ""]
    if lines:
        (place / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")


def _is_test(module: str) -> bool:
    return any(
        part in ("test", "tests", "conftest") or part.startswith("test_") for part in module.split(".")
    )


def _calls(world: World) -> Iterator[tuple[str, int, str, str, int, tuple[str, ...], bool]]:
    """Calls of functions and classes of both packages by a name that is global in the calling module."""
    for module in sorted(world.plugin.modules):
        if _is_test(module):
            continue
        names = world.plugin.namespace(module).names
        for call in world.plugin.calls(module):
            if _plain(call, names) and world.name(module, "", call.callee).kind in (
                Kind.CLASS,
                Kind.FUNCTION,
            ):
                open_ended = call.star or call.kwstar
                yield module, call.line, call.scope, call.callee, call.nargs, call.keywords, open_ended


def _plain(call: Call, names: object) -> bool:
    parts = call.callee.split(".")
    return all(p.isidentifier() for p in parts) and parts[0] in names  # type: ignore[operator]

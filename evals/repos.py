"""Where the repositories of the cases lie on this machine, and what to tell ``open_source`` to get a tree of them.

A repository ``OWNER/NAME`` is looked for at ``DIR/OWNER/NAME`` (and ``NAME.git``), bare or not. ``DIR`` comes from
``--repos``, the variable METAX_UPGRADE_REPOS, or ``repos`` in ``[tool.metax-upgrade-eval]`` of the current folder's
pyproject.toml.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

from evals.schema import Case, Defect, Upstream
from tools.sources.repository import find_repository
from tools.sources.snapshot import SourceError

VARIABLE = "METAX_UPGRADE_REPOS"
TABLE = "metax-upgrade-eval"


class NotRun(Exception):
    """Something that a case needs is not here; the text says what."""


def repos_folder(given: Path | None, cwd: Path) -> Path | None:
    """The folder of clones: as given, else from the environment, else from the config file."""
    if given is not None:
        return given.expanduser()
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE]).expanduser()
    try:
        table = tomllib.loads((cwd / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    written = table.get("tool", {}).get(TABLE, {}).get("repos")
    return cwd / Path(written).expanduser() if isinstance(written, str) else None


def clone_of(repository: str, folder: Path | None) -> Path:
    """The clone of ``repository``. Raises NotRun."""
    if folder is None:
        raise NotRun(f"needs a clone of {repository}; say with --repos where clones are")
    for name in (repository, f"{repository}.git"):
        place = folder / name
        try:
            # The repository must begin here: a folder inside someone's checkout is no clone.
            found = find_repository(place) if place.is_dir() else None
        except SourceError as error:
            raise NotRun(f"the clone of {repository} cannot be read: {error.why}") from None
        if found is not None and not found.prefix:
            return place
    raise NotRun(f"no clone of {repository} below the folder of clones")


def upstream_spec(version: Upstream, case: Case, folder: Path | None) -> str:
    """How to name ``version`` to ``open_source``. Raises NotRun."""
    if version.sdist:
        return f"vllm=={version.release}"
    return f"{clone_of(case.upstream, folder)}@{version.commit}"


def plugin_spec(case: Case, revision: str, folder: Path | None) -> str:
    """How to name the plugin at ``revision`` (a commit, or a release in the family ``index``). Raises NotRun."""
    if case.family == "index":
        return f"pypi:{case.plugin}=={revision}"
    return f"{clone_of(case.plugin, folder)}@{revision}"


@dataclass(frozen=True)
class Review:
    """One review to run: the plugin at a revision, between two upstream versions."""

    case: Case
    revision: str
    target: Upstream
    defects: tuple[Defect, ...]
    whole: bool
    """True for the review at the case's start, from which change recall is measured."""

    @property
    def name(self) -> str:
        """Readable and unique within the case."""
        revision = self.revision[:10] if self.case.family == "history" else self.revision
        return f"{revision}-{self.case.base.release}-{self.target.release}"


def reviews_of(case: Case) -> list[Review]:
    """One for each (commit, target) at which defects are placed, and one for the start of the upgrade."""
    places: dict[tuple[str, str], list[Defect]] = {(case.before, case.target.release): []}
    targets = {case.target.release: case.target}
    for defect in case.defects:
        targets[defect.target.release] = defect.target
        places.setdefault((defect.before_commit, defect.target.release), []).append(defect)
    first = (case.before, case.target.release)
    return [
        Review(case, revision, targets[release], tuple(defects), (revision, release) == first)
        for (revision, release), defects in places.items()
    ]

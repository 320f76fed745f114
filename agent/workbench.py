"""What one process has open while it works on a session: snapshots and parsed trees, never checkpointed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from agent.state import ROLES, ReviewState, Role
from agent.store import Store
from tools.profiles import Profile, load_profile
from tools.sources.redact import redacted
from tools.sources.snapshot import Snapshot, SourceError

if TYPE_CHECKING:
    from tools.review import Trees

    from agent.progress import Progress


class SourceChanged(SourceError):
    """A source is no longer what it was when the review began."""

    def __init__(self, role: Role, label: str) -> None:
        super().__init__(
            f"the {role} ({label})",
            "it changed since the review began, so parts of the report would speak of different code",
            "Put it back as it was, or start a new review.",
        )


class Workbench:
    """Opens what a step asks for, once a process, and holds it to the identities already recorded."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self.store, self.progress = store, progress
        self._snapshots: dict[Role, Snapshot] = {}
        self._trees: Trees | None = None

    def profile(self, state: ReviewState) -> Profile:
        """The settled profile."""
        return load_profile(state["profile"])

    def cache(self, state: ReviewState) -> Path:
        """Folder of downloads and summaries."""
        from tools.sources.spec import default_cache

        given = state["request"]["cache"]
        return Path(given) if given else default_cache()

    def spec(self, state: ReviewState, role: Role) -> str:
        """Specification of one source."""
        return state["plugin"] if role == "plugin" else state["request"][role]

    def snapshot(self, state: ReviewState, role: Role) -> Snapshot:
        """The source of ``role``. Raises SourceError, and SourceChanged when it is not what was recorded."""
        if role not in self._snapshots:
            self._snapshots[role] = self._open(state, role)
        return self._snapshots[role]

    def trees(self, state: ReviewState) -> Trees:
        """All three sources, parsed."""
        from tools.review import load_trees

        if self._trees is None:
            plugin, base, target = (self.snapshot(state, role) for role in ROLES)
            profile, cache = self.profile(state), self.cache(state)
            self._trees = load_trees(plugin, base, target, profile, cache, self.progress)
        return self._trees

    def verify(self, state: ReviewState) -> None:
        """Raises SourceChanged when a recorded source differs from what it is now."""
        for role in ROLES:
            if role in state.get("identities", {}):
                self.snapshot(state, role)

    def recheck(self, state: ReviewState) -> list[SourceChanged]:
        """Looks at the sources that can change under a running review once more."""
        changed = []
        for role in ROLES:
            recorded = state.get("identities", {}).get(role)
            if recorded and recorded["kind"] in ("worktree", "index", "folder", "installed"):
                try:
                    self._open(state, role)
                except SourceChanged as error:
                    changed.append(error)
        return changed

    def _open(self, state: ReviewState, role: Role) -> Snapshot:
        from tools.sources.spec import open_source

        request = state["request"]
        spec = self.spec(state, role)
        os.chdir(request["cwd"])
        snapshot = open_source(
            spec,
            role=role,
            profile=self.profile(state),
            python=Path(request["python"]) if request["python"] else None,
            cache=self.cache(state),
            offline=request["offline"],
            progress=self.progress,
        )
        recorded = state.get("identities", {}).get(role)
        if recorded and recorded["digest"] != snapshot.identity.digest:
            raise SourceChanged(role, redacted(spec))
        return snapshot

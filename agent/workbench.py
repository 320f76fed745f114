"""What one process has open while it works on a session: snapshots and parsed trees, never checkpointed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import Stop
from agent.state import ROLES, BlockedEntry, Request, ReviewState, Role
from agent.store import Store
from agent.subject import settle, without_login
from tools.profiles import Profile, load_profile
from tools.results import ResultCache
from tools.sources.redact import redacted
from tools.sources.snapshot import Snapshot, SourceError

if TYPE_CHECKING:
    from agent.progress import Progress
    from tools.review import Anchors, Trees


REMEMBERED = ("inventory", "compare", "check")
"""Steps whose results depend on nothing but the sources."""


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
        self.timings: dict[str, float] = {}
        """Seconds of what is done once for several steps."""
        self._snapshots: dict[Role, Snapshot | SourceError] = {}
        self._trees: Trees | SourceError | None = None
        self._anchors: tuple[Anchors, str] | None = None
        self._ahead: threading.Thread | None = None
        self._opened = threading.Event()
        self._fault: Exception | None = None

    def read_ahead(self, request: Request) -> None:
        """Begins to read what ``request`` will need, while the caller imports the graph's library.

        Steps find what was read, errors included; nothing is decided here.
        """
        self._ahead = threading.Thread(target=self._read_ahead, args=(request,), daemon=True)
        self._ahead.start()

    def abandon(self) -> None:
        """Ends the processes that still read, so that the command ends at once."""
        for child in multiprocessing.active_children():
            child.terminate()

    def profile(self, state: ReviewState) -> Profile:
        """The settled profile."""
        return load_profile(state["profile"])

    def cache(self, state: ReviewState) -> Path:
        """Folder of downloads and summaries."""
        from tools.sources.spec import default_cache

        given = state["request"]["cache"]
        return Path(state["request"]["cwd"]) / Path(given).expanduser() if given else default_cache()

    def spec(self, state: ReviewState, role: Role) -> str:
        """Specification of one source."""
        return state["plugin"] if role == "plugin" else state["request"][role]

    def snapshot(self, state: ReviewState, role: Role) -> Snapshot:
        """The source of ``role``. Raises SourceError, and SourceChanged when it is not what was recorded."""
        self._wait_opened()
        if role not in self._snapshots:
            self._snapshots[role] = self._open(state, role)
        snapshot = self._snapshots[role]
        if isinstance(snapshot, SourceError):
            raise snapshot
        self._hold(state, role, snapshot)
        return snapshot

    def trees(self, state: ReviewState) -> Trees:
        """All three sources, parsed."""
        self._wait_read()
        if self._trees is None:
            self._trees = self._load(state, [self.snapshot(state, role) for role in ROLES])
        if isinstance(self._trees, SourceError):
            raise self._trees
        return self._trees

    def remembered(
        self,
        state: ReviewState,
        step: str,
        compute: Callable[[Trees], dict[str, str]],
        whole: Callable[[dict[str, str]], bool] = bool,
        extra: str = "",
    ) -> dict[str, str]:
        """What ``compute`` gives for these sources; worked out only if no earlier review did.

        A result that is not ``whole`` is not kept: the next review may have more luck. ``extra`` is what it
        depends on besides the sources.
        """
        sources = [self.snapshot(state, role) for role in ROLES]
        results, profile = ResultCache(self.cache(state)), self.profile(state)
        kept = results.get(step, sources, profile, extra)
        if kept is None:
            kept = compute(self.trees(state))
            if whole(kept):
                results.put(step, sources, profile, kept, extra)
        return kept

    def anchors(self, state: ReviewState) -> tuple[Anchors, str]:
        """Commits of the upstream repository that stand for base and target. Raises SourceError."""
        if self._anchors is None:
            from tools.review import audit_key

            request = state["request"]
            base, target = (self.snapshot(state, role) for role in ROLES[1:])
            self._anchors = audit_key(
                Path(request["upstream_repo"] or ""),
                request["upstream_ref"],
                base,
                target,
                self.profile(state),
                self.cache(state),
            )
        return self._anchors

    @staticmethod
    def entry(error: SourceError) -> BlockedEntry:
        """``error`` as the state keeps it, without logins."""
        return {
            "what": redacted(error.what),
            "why": redacted(error.why),
            "remedy": redacted(error.remedy),
            "wrong_use": False,
        }

    def notes(self) -> list[str]:
        """What cost time but no result, such as a cache that cannot be written."""
        return (
            list(self._trees.notes)
            if self._trees is not None and not isinstance(self._trees, SourceError)
            else []
        )

    def verify(self, state: ReviewState) -> None:
        """Raises SourceChanged when a recorded source differs from what it is now."""
        for role in ROLES:
            if role in state.get("identities", {}):
                self.snapshot(state, role)

    def recheck(self, state: ReviewState) -> list[SourceError]:
        """Looks at the sources that can change under a running review once more."""
        changed: list[SourceError] = []
        for role in ROLES:
            recorded = state.get("identities", {}).get(role)
            if recorded and recorded["kind"] in ("worktree", "index", "folder", "installed"):
                try:
                    self._hold(state, role, self._open(state, role))
                except SourceError as error:
                    changed.append(error)
        return changed

    def _open(self, state: ReviewState, role: Role) -> Snapshot:
        from tools.sources.spec import open_source

        request = state["request"]
        spec = self.spec(state, role)
        os.chdir(request["cwd"])
        return open_source(
            spec,
            role=role,
            profile=self.profile(state),
            python=Path(request["python"]) if request["python"] else None,
            cache=self.cache(state),
            offline=request["offline"],
            progress=self.progress,
        )

    def _load(self, state: ReviewState, snapshots: list[Snapshot]) -> Trees:
        from tools.review import load_trees

        plugin, base, target = snapshots
        profile, cache = self.profile(state), self.cache(state)
        begun = time.perf_counter()
        trees = load_trees(plugin, base, target, profile, cache, self.progress)
        self.timings["reading"] = round(time.perf_counter() - begun, 3)
        return trees

    def _hold(self, state: ReviewState, role: Role, snapshot: Snapshot) -> None:
        recorded = state.get("identities", {}).get(role)
        if recorded and recorded["digest"] != snapshot.identity.digest:
            raise SourceChanged(role, without_login(self.spec(state, role)))

    def _all_remembered(self, state: ReviewState, opened: list[Snapshot]) -> bool:
        """True when no step will need the trees."""
        results, profile = ResultCache(self.cache(state)), self.profile(state)
        steps = (*REMEMBERED, "merge") if state["request"].get("merges") else REMEMBERED
        return all(results.get(step, opened, profile) is not None for step in steps)

    def _wait_opened(self) -> None:
        if self._ahead is not None:
            self._opened.wait()
        if self._fault is not None:
            raise self._fault

    def _wait_read(self) -> None:
        if self._ahead is not None:
            self._ahead.join()
            self._ahead = None
        if self._fault is not None:
            raise self._fault

    def _read_ahead(self, request: Request) -> None:
        # Ctrl-C reaches every process of the terminal. Those started here inherit the mask, and end when this
        # process tells them to, instead of each with a traceback of its own. The tracker of multiprocessing
        # lifts the mask when it starts, so it starts first.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            spec, profile = settle(request["plugin"] or None, request["profile"], Path(request["cwd"]))
            state: ReviewState = {"request": request, "plugin": spec, "profile": profile.name}
            opened = []
            for role in ROLES:
                try:
                    opened.append(self._open(state, role))
                except SourceError as error:
                    self._snapshots[role] = error
                else:
                    self._snapshots[role] = opened[-1]
            self._opened.set()
            if len(opened) == len(ROLES) and not self._all_remembered(state, opened):
                try:
                    self._trees = self._load(state, opened)
                except SourceError as error:
                    self._trees = error
        except Stop:
            return  # the first step meets the same and says it
        except Exception as error:  # noqa: BLE001 - the border of a thread: raised again where the result is used
            self._fault = error
        finally:
            self._opened.set()

"""A snapshot with some files replaced in memory: what the tree would be if edits were applied. Nothing is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tools.findings import Identity
from tools.sources.snapshot import Skipped, Snapshot, blob_id, tree_digest


class Overlay(Snapshot):
    """``under`` with ``edits`` (path -> content) on top; paths that ``under`` lacks are added."""

    def __init__(self, under: Snapshot, edits: Mapping[str, bytes]) -> None:
        self._under, self._edits = under, dict(edits)
        self._blobs = {path: blob_id(content) for path, content in self._edits.items()}

    @cached_property
    def _paths(self) -> tuple[str, ...]:
        return tuple(sorted({*self._under.paths(), *self._edits}))

    @cached_property
    def identity(self) -> Identity:
        """That of the tree below, with the digest of the edited one."""
        digest = tree_digest([(path, self.blob(path)) for path in self._paths])
        return self._under.identity.model_copy(update={"digest": digest})

    @property
    def skipped(self) -> Sequence[Skipped]:
        return [item for item in self._under.skipped if item.path not in self._edits]

    def paths(self) -> Sequence[str]:
        return self._paths

    def read(self, path: str) -> bytes:
        edited = self._edits.get(path)
        return self._under.read(path) if edited is None else edited

    def blob(self, path: str) -> str:
        known = self._blobs.get(path)
        return self._under.blob(path) if known is None else known

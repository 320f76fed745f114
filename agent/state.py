"""State of the graph: ids and plain data only, so that any later version can read a checkpoint."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

Role = Literal["plugin", "base", "target"]
ROLES: tuple[Role, ...] = ("plugin", "base", "target")


class Request(TypedDict):
    """What the user asked for; paths are relative to ``cwd``."""

    plugin: str
    base: str
    target: str
    out: str
    format: list[str]
    fail_on: str
    profile: str | None
    python: str | None
    cache: str | None
    offline: bool
    upstream_repo: str | None
    upstream_ref: str | None
    cwd: str
    merges: NotRequired[bool]
    """Absent in sessions of before there were merges."""


class BlockedEntry(TypedDict):
    """Something needed that could not be read; ``wrong_use`` when the request itself is at fault."""

    what: str
    why: str
    remedy: str
    wrong_use: bool


def merged(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Reducer: the later step adds its keys."""
    return {**old, **new}


def added(old: list[Any], new: list[Any]) -> list[Any]:
    """Reducer: entries of later steps come after those of earlier ones, each once."""
    return [*old, *(item for item in new if item not in old)]


class ReviewState(TypedDict, total=False):
    """One review. A step returns the part it adds."""

    request: Request
    profile: str
    """Name of the profile that was settled on."""
    plugin: str
    """Specification of the plugin that was settled on."""
    identities: Annotated[dict[str, dict[str, Any]], merged]
    """Role -> identity of the snapshot, as plain data."""
    environment: dict[str, str]
    discrepancies: list[dict[str, Any]]
    """Of the environment, as plain data."""
    results: Annotated[dict[str, str], merged]
    """Step -> id of its result in the session's store."""
    timings: Annotated[dict[str, float], merged]
    """Step -> seconds."""
    blocked: list[BlockedEntry]
    held: Annotated[list[BlockedEntry], added]
    """What blocked one step and not the ones after it."""
    notes: list[str]
    """For the person at the screen: what cost time but no result."""
    written: list[str]
    """The report's files."""

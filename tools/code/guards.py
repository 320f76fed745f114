"""Conditions around a statement that the target's version decides."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

_VERSION_IS = re.compile(r"(?P<negated>not\s+)?\w*version_is\(\s*[\"'](?P<version>[^\"']+)[\"']\s*\)")
"""``vllm_version_is("0.11.0")`` and the like: plugins that serve two releases guard with it."""


def version_conditions(guard: str) -> Iterator[tuple[bool, str]]:
    """(wanted, version) of each enclosing version test: the code runs when 'is version' is ``wanted``."""
    for part in guard.split(";"):
        kind, _, test = part.partition(":")
        if kind not in ("if", "else"):
            continue
        match = _VERSION_IS.fullmatch(test.strip())
        if match is not None:
            wanted = (kind == "if") != bool(match["negated"])
            yield wanted, match["version"]


def excluded_by_version(guard: str, version: str | None) -> bool:
    """True when a version test shows that the code does not run on ``version``."""
    if version is None:
        return False
    return any(_same(version, other) != wanted for wanted, other in version_conditions(guard))


def _same(left: str, right: str) -> bool:
    try:
        return Version(left).release == Version(right).release
    except InvalidVersion:
        return left == right

"""Statements that replace a table of upstream with all its keys."""

from __future__ import annotations

import re

from tools.registry.sites import Registration
from tools.registry.subject import Subject


def whole_table(subject: Subject, item: Registration) -> tuple[str, str]:
    """(difference, what is thrown away) of an assignment that replaces a table of upstream."""
    owner = item.owner
    assert owner is not None
    named = ", ".join(f"`{c.qualname}`" for c in item.listed) or "what could not be read"
    difference = f"replaces the whole table by one for out-of-tree platforms: {named}"
    bindings = subject.upstream.namespace(owner.module).names.get(owner.qualname)
    lines = subject.upstream.lines(owner.module)
    keys = [k for a in (bindings.assigns if bindings else ()) for k in _keys_of(lines[a.line - 1 :])]
    lost = [k for k in dict.fromkeys(keys) if k != "OOT"]
    if not lost:
        return difference, ""
    return difference, (
        f"it throws away upstream's entries for {', '.join(lost)}: assign the key OOT of the table instead"
    )


def _keys_of(lines: list[str]) -> list[str]:
    """Platforms named as keys of a table that starts with the first of ``lines``."""
    end = next((i for i, line in enumerate(lines) if line.startswith("}")), len(lines))
    return re.findall(r"PlatformEnum\.(\w+)\s*:", "\n".join(lines[:end]))

"""The checks' own docstrings as one document: ``python -m tools.checks.pages > docs/checks.md``."""

from __future__ import annotations

import sys
from itertools import groupby

from tools.checks.base import Check, all_checks

FAMILIES = {
    "ABS": "abstract and required members",
    "ATT": "attributes, config fields, enum members",
    "CAL": "calls that do not bind",
    "DEP": "what the target needs of torch and native ops",
    "DRF": "copied code behind its counterpart",
    "ENU": "enum identity",
    "EXC": "exceptions that handlers miss",
    "IMP": "imports",
    "INI": "inherited state and constructors",
    "LAY": "weight layout and conversions",
    "LOD": "plugin loading",
    "MRO": "inherited lookups",
    "NAM": "names",
    "OVR": "overrides and stand-ins",
    "PAT": "patches",
    "PLT": "platform hooks and gates",
    "REG": "registrations",
    "RET": "return contracts",
    "VER": "version and model guards",
}


def table() -> str:
    """One line a family with its checks, for README."""
    lines = ["| family | checks |", "|---|---|"]
    for family, checks in groupby(all_checks(), key=_family):
        listed = "; ".join(f"{c.id} {_lower(c.title)}" for c in checks)
        lines.append(f"| **{family}** {FAMILIES[family]} | {listed} |")
    return "\n".join(lines) + "\n"


def document() -> str:
    """Every page, by family."""
    parts = [
        "# Checks\n",
        "Made from the docstrings of `tools/checks/` by `python -m tools.checks.pages`; do not edit.\n",
    ]
    for family, checks in groupby(all_checks(), key=_family):
        parts.append(f"## {family}: {FAMILIES[family]}\n")
        for check in checks:
            parts.append(f"### {check.id} {check.title}\n")
            parts.append(f"Worst severity: {check.severity}.\n")
            parts.append(check.doc + "\n")
    return "\n".join(parts)


def _family(check: Check) -> str:
    return check.id[:3]


def _lower(title: str) -> str:
    """First letter small, unless the word is a name."""
    word = title.split()[0]
    named = not word.isalpha() or (word.isupper() and word != "A")
    return title if named else title[0].lower() + title[1:]


if __name__ == "__main__":
    sys.stdout.write(document())

"""What a case is: one past upgrade, with the defects that it left behind. One JSON file each in ``evals/cases``.

Cases hold facts only: commits, paths, names, and what is wrong there in our own words.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, model_validator

from tools.findings import Frozen

CASES = Path(__file__).parent / "cases"
SCHEMA = Path(__file__).parent / "case.schema.json"

Cause = Literal[
    "abstract-method",
    "attr-removed",
    "config-field",
    "copied-logic-drift",
    "enum",
    "env",
    "import-moved",
    "import-removed",
    "inherited-state",
    "kernel-api",
    "layout",
    "missing-override",
    "other",
    "platform-hook",
    "registry-key",
    "registry-order",
    "return-contract",
    "signature-call",
    "signature-override",
    "super-init",
    "weight-loading",
]


class Record(Frozen):
    """Base of the records of a case; docstrings of fields become descriptions in the schema."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Upstream(Record):
    """One version of what the plugin plugs into."""

    release: str
    commit: str | None = None
    """Commit of upstream's main line whose Python tree is nearest to the release."""
    sdist: bool = True
    """False when the index has no source archive of the release; then the tree of ``commit`` stands for it."""

    @model_validator(mode="after")
    def _obtainable(self) -> Upstream:
        if not self.sdist and self.commit is None:
            raise ValueError(f"{self.release} has neither a source archive nor a commit")
        return self


class Location(Record):
    """A further place of the same defect."""

    file: str
    symbol: str
    line: int = Field(ge=1)
    repaired_here: bool
    """Whether the same commit repaired it too."""


class Defect(Record):
    """Something the upgrade broke, present at ``before_commit`` and repaired by ``fix_commit``."""

    id: str
    stage: Literal["upgrade", "followup"]
    """``upgrade``: repaired by the upgrade's own commits; ``followup``: missed then, repaired later."""
    before_commit: str
    fix_commit: str
    target: Upstream
    """The version whose tree shows the defect."""
    file: str
    symbol: str
    """``Qual.name`` in ``file``, the imported name, or ``<module>``."""
    line: int = Field(ge=1)
    cause: Cause
    static: Literal["yes", "partly", "no"]
    """Whether careful reading of both trees can decide it."""
    upstream_symbol: str | None = None
    """``module:Qual.name`` behind it."""
    upstream_commit: str | None = None
    rule: str = ""
    """What one would look for to find it."""
    symptom: str = ""
    fix: str = ""
    confidence: Literal["high", "medium", "low"] = "high"
    also: tuple[Location, ...] = ()
    note: str = ""
    """Remarks, among them what was found wrong in the row when it was checked against the trees."""


class Case(Record):
    """One past upgrade of one plugin."""

    id: str
    family: Literal["history", "index"]
    """``history``: commits of a repository; ``index``: releases on the package index."""
    split: Literal["dev", "heldout"]
    plugin: str
    """Repository as OWNER/NAME, or the distribution's name for the family ``index``."""
    upstream: str
    """Repository as OWNER/NAME; needed only for versions without a source archive."""
    profile: str
    before: str
    """Commit (family ``history``) or release (``index``) before the upgrade."""
    after: str
    settled: str
    """After the repairs that followed."""
    base: Upstream
    target: Upstream
    defects: tuple[Defect, ...] = ()
    notes: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Case:
        ids = [d.id for d in self.defects]
        if len(ids) != len(set(ids)):
            raise ValueError(f"{self.id}: defects with the same id")
        if self.family == "index" and self.defects:
            raise ValueError(f"{self.id}: defects are placed by commits, which releases do not have")
        return self


def load_cases(
    folder: Path = CASES, *, ids: Collection[str] = (), family: str | None = None, split: str | None = None
) -> list[Case]:
    """Cases of ``folder`` by id, filtered. Raises KeyError for ids that do not exist, ValueError for bad files."""
    cases = []
    for path in sorted(folder.glob("*.json")):
        case = Case.model_validate_json(path.read_bytes())
        if case.id != path.stem:
            raise ValueError(f"{path.name} holds the case {case.id}")
        cases.append(case)
    unknown = sorted(set(ids) - {c.id for c in cases})
    if unknown:
        raise KeyError(", ".join(unknown))
    return [
        c
        for c in cases
        if (not ids or c.id in ids) and family in (None, c.family) and split in (None, c.split)
    ]


def case_schema() -> dict[str, Any]:
    """JSON schema of a case file."""
    schema = Case.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Case of an upgrade",
        **schema,
    }


if __name__ == "__main__":
    SCHEMA.write_text(json.dumps(case_schema(), indent=2) + "\n", encoding="utf-8")

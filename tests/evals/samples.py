"""Small cases, records and repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from evals.records import NeedsWork, ReviewRecord, Row, ToolRun
from evals.replay import Outcome
from evals.repos import reviews_of
from evals.schema import Case


def defect(name: str, **over: Any) -> dict[str, Any]:
    """A defect as a case file states it."""
    return {
        "id": name,
        "stage": "followup",
        "before_commit": "b" * 40,
        "fix_commit": "c" * 40,
        "target": {"release": "2.0"},
        "file": "vllm_metax/a.py",
        "symbol": "C.run",
        "line": 40,
        "cause": "signature-call",
        "static": "yes",
        **over,
    }


def case(*defects: dict[str, Any], **over: Any) -> Case:
    """A case of the family ``history``."""
    return Case.model_validate(
        {
            "id": "one",
            "family": "history",
            "split": "dev",
            "plugin": "owner/plugin",
            "upstream": "owner/upstream",
            "profile": "metax",
            "before": "a" * 40,
            "after": "b" * 40,
            "settled": "d" * 40,
            "base": {"release": "1.0"},
            "target": {"release": "2.0"},
            "defects": list(defects),
            **over,
        }
    )


def row(check: str = "CAL001", line: int = 40, symbol: str = "C.run", **over: Any) -> Row:
    """A finding."""
    fields: dict[str, Any] = {
        "path": "vllm_metax/a.py",
        "line": line,
        "symbols": (symbol,) if symbol else (),
        "family": check[:3],
        "message": "m",
        "check": check,
        "id": f"{check}-{symbol}-{line}",
        "resolved": symbol,
    }
    return Row(**{**fields, **over})


def record(*findings: Row, **over: Any) -> ReviewRecord:
    """What a review left."""
    fields: dict[str, Any] = {
        "code": "code",
        "findings": findings,
        "unresolved": 0,
        "checks_failed": (),
        "wall": 2.0,
        "peak_mib": 100.0,
        "baselines": {"ty": ToolRun()},
        "changes": {},
        "symbols": 10,
        "symbols_changed": 2,
        "settled": "d" * 40,
        "needs": None,
    }
    return ReviewRecord(**{**fields, **over})


def outcomes(of: Case, *records: ReviewRecord | None) -> list[Outcome]:
    """Reviews of ``of`` with their records in order; None where nothing ran."""
    return [
        Outcome(review, found, "" if found else "no clone")
        for review, found in zip(reviews_of(of), records, strict=True)
    ]


def needs(**parts: tuple[str, ...]) -> NeedsWork:
    """What the report says of the symbols of one file."""
    return NeedsWork(**{k: {"vllm_metax/a.py": v} for k, v in parts.items()})


def git(folder: Path, *arguments: str) -> str:
    """Run git and give what it prints."""
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> str:
    """Write ``files`` and commit everything."""
    for name, text in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


def repository(folder: Path) -> Path:
    """An empty one."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    return folder

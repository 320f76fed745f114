"""Case files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from evals.causes import FAMILIES
from evals.repos import reviews_of
from evals.schema import CASES, SCHEMA, Cause, case_schema, load_cases
from tests.evals.samples import case, defect
from tools.checks.base import all_checks


def test_schema_in_the_repository_is_current() -> None:
    written = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert written == case_schema(), "run: python -m evals.schema"


def test_shipped_cases_are_valid_and_normal() -> None:
    validator = Draft202012Validator(case_schema())
    for path in CASES.glob("*.json"):
        assert not list(validator.iter_errors(json.loads(path.read_text(encoding="utf-8")))), path.name
    cases = load_cases()
    assert {c.family for c in cases} == {"history", "index"}
    ids = [d.id for c in cases for d in c.defects]
    assert len(ids) == len(set(ids)) >= 200
    for c in cases:
        for d in c.defects:
            assert len(d.before_commit) == len(d.fix_commit) == 40, d.id


def test_every_cause_has_families_of_checks() -> None:
    causes = set(Cause.__args__)
    assert set(FAMILIES) == causes - {"other"}
    assert set().union(*FAMILIES.values()) <= {c.id[:3] for c in all_checks()}


def test_filters() -> None:
    assert {c.family for c in load_cases(family="index")} == {"index"}
    assert load_cases(split="heldout") == []
    assert [c.id for c in load_cases(ids=["metax-0.25.0-0.26.0"])] == ["metax-0.25.0-0.26.0"]
    with pytest.raises(KeyError, match="nonsense"):
        load_cases(ids=["nonsense"])


def test_bad_cases_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="neither a source archive nor a commit"):
        case(base={"release": "1.0", "sdist": False})
    with pytest.raises(ValidationError, match="same id"):
        case(defect("x"), defect("x"))
    with pytest.raises(ValidationError, match="placed by commits"):
        case(defect("x"), family="index")
    (tmp_path / "two.json").write_text(case().model_dump_json(), encoding="utf-8")
    with pytest.raises(ValueError, match="holds the case one"):
        load_cases(tmp_path)


def test_one_review_for_each_place_and_one_for_the_start() -> None:
    other = defect("z", before_commit="a" * 40, target={"release": "2.1"})
    reviews = reviews_of(case(defect("x"), defect("y"), other))
    assert [(r.revision[0], r.target.release, len(r.defects), r.whole) for r in reviews] == [
        ("a", "2.0", 0, True),
        ("b", "2.0", 2, False),
        ("a", "2.1", 1, False),
    ]
    assert len({r.name for r in reviews}) == 3

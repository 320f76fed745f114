"""report.json and its published schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from agent.report import as_json, render
from tests.agent.report.records import HOSTILE
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report
from tools.findings import Report, report_schema

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"


def loaded(report: Report) -> Any:
    return json.loads(render(report, "json"))


def test_the_published_schema_is_the_generated_one() -> None:
    command = "python -c 'from agent.report.as_json import schema_text; print(schema_text(), end=\"\")'"
    assert SCHEMA.read_text(encoding="utf-8") == as_json.schema_text(), (
        f"run {command} > docs/report.schema.json"
    )


@pytest.mark.parametrize("report", [sample_report(), hostile_report(), empty_report(), large_report(2, 2)])
def test_reports_validate(report: Report) -> None:
    jsonschema.Draft202012Validator(report_schema()).validate(loaded(report))


@pytest.mark.parametrize(
    ("place", "needed"),
    [
        ((), "tool_version"),
        ((), "subject"),
        (("findings", 0), "evidence"),
        (("evidence", 0), "source"),
        (("base",), "digest"),
        (("unresolved", 0), "reason"),
    ],
)
def test_a_missing_and_an_extra_field_do_not_validate(place: tuple[str | int, ...], needed: str) -> None:
    validator = jsonschema.Draft202012Validator(report_schema())
    for extra in (True, False):
        data = loaded(sample_report())
        record = data
        for step in place:
            record = record[step]
        if extra:
            record["surprise"] = 1
        else:
            del record[needed]
        assert not validator.is_valid(data)


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(report_schema())


def test_reading_it_back_gives_the_report() -> None:
    content = render(sample_report(), "json")
    assert Report.model_validate_json(content) == sample_report()
    assert content.endswith(b"}\n")
    assert "漢字" in render(hostile_report(), "json").decode()


def test_lone_surrogates_survive() -> None:
    finding = next(item for item in loaded(hostile_report())["findings"] if item["id"] == "f00000000009")
    assert finding["symbol"] == HOSTILE

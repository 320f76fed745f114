"""report.sarif against the official schema, and against what code scanning asks beyond it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from agent.report import render
from tests.agent.report.records import RULES, finding
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import empty_report, hostile_report, large_report
from tools.findings import Report

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))


def run_of(report: Report) -> Any:
    return json.loads(render(report, "sarif", rules=RULES))["runs"][0]


@pytest.mark.parametrize("report", [sample_report(), hostile_report(), empty_report(), large_report(3, 3, 3)])
@pytest.mark.parametrize("rules", [RULES, {}], ids=["rules", "no rules"])
def test_validates_against_the_official_schema(report: Report, rules: dict[str, Any]) -> None:
    log = json.loads(render(report, "sarif", rules=rules))
    jsonschema.Draft4Validator(SCHEMA).validate(log)
    assert log["version"] == "2.1.0"
    assert log["$schema"] == SCHEMA["id"]


def test_the_schema_would_notice() -> None:
    log = json.loads(render(sample_report(), "sarif"))
    log["runs"][0]["results"][0]["surprise"] = 1
    assert not jsonschema.Draft4Validator(SCHEMA).is_valid(log)


def test_one_rule_a_check_and_each_result_points_at_its_own() -> None:
    run = run_of(sample_report())
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted(RULES)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    imports = rules[[rule["id"] for rule in rules].index("IMP001")]
    assert imports["shortDescription"]["text"] == RULES["IMP001"].title
    assert imports["help"]["markdown"] == RULES["IMP001"].help.strip()
    assert imports["defaultConfiguration"]["level"] == "error"


def test_a_result_says_where_what_and_since_when() -> None:
    results = {
        item["partialFingerprints"]["findingId/v1"]: item for item in run_of(sample_report())["results"]
    }
    result = results["f00000000003"]
    location = result["locations"][0]
    assert location["physicalLocation"]["artifactLocation"] == {
        "uri": "vllm_metax/quant_config/unquantized.py",
        "uriBaseId": "SRCROOT",
    }
    assert location["physicalLocation"]["region"]["startLine"] == 88
    assert location["logicalLocations"][0]["fullyQualifiedName"] == "MacaUnquantizedMethod.process_weights"
    assert result["level"] == "error"
    assert result["baselineState"] == "new"
    assert result["properties"]["introduced"] is True
    assert result["properties"]["certainty"] == "certain"
    assert [
        item["physicalLocation"]["artifactLocation"]["uriBaseId"] for item in result["relatedLocations"]
    ] == [
        "UPSTREAM_BASE",
        "UPSTREAM_TARGET",
    ]
    assert results["f00000000005"]["baselineState"] == "unchanged"
    assert results["f00000000004"]["properties"]["silent"] is True


def test_every_base_of_a_uri_is_declared() -> None:
    run = run_of(sample_report())
    text = json.dumps(run["results"])
    for name in ("SRCROOT", "UPSTREAM_BASE", "UPSTREAM_TARGET"):
        assert name in run["originalUriBaseIds"]
        assert name in text


def test_a_context_region_encloses_its_region() -> None:
    for result in run_of(large_report(30, 0))["results"]:
        place = result["locations"][0]["physicalLocation"]
        if "contextRegion" in place:
            context = place["contextRegion"]
            assert context["startLine"] <= place["region"]["startLine"] <= context["endLine"]


def test_what_was_blocked_is_not_a_success() -> None:
    (invocation,) = run_of(sample_report())["invocations"]
    assert invocation["executionSuccessful"] is False
    texts = [note["message"]["text"] for note in invocation["toolExecutionNotifications"]]
    assert any("vllm 0.25.1" in text for text in texts)
    assert any("OVR002" in text for text in texts)
    (invocation,) = run_of(empty_report())["invocations"]
    assert invocation == {"executionSuccessful": True}


def test_the_run_is_named_after_the_upgrade() -> None:
    assert run_of(sample_report())["automationDetails"]["id"] == "metax-upgrade/metax/0.25.0-to-0.26.0/"


def test_odd_paths_become_uris_and_brackets_stay_text() -> None:
    odd = finding(77, path="we ird/[x]\udc80ü.py", message="see [here](http://evil.example)")
    report = sample_report().model_copy(update={"findings": (odd,)})
    (result,) = run_of(report)["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "we%20ird/%5Bx%5D%80%C3%BC.py"
    assert result["message"]["text"].startswith("see \\[here\\](http://evil.example)")

"""The whole command on releases from the package index."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.agent.report.browser import Browser, find_chromium
from tests.end_to_end.conftest import review

pytestmark = pytest.mark.index
ROOT = Path(__file__).parents[2]


def at(report: dict[str, Any], path: str, check: str) -> list[dict[str, Any]]:
    """Findings of ``check`` in the plugin file ``path``."""
    return [f for f in report["findings"] if f["path"] == f"vllm_ascend/{path}" and f["check"] == check]


def test_every_check_ran(report: dict[str, Any]) -> None:
    assert report["coverage"]["checks_failed"] == []
    assert len(report["coverage"]["checks"]) > 50
    assert report["coverage"]["upstream_files_target"] > 1000
    assert report["blocked"] == []


def test_names_that_left_vllm_utils_and_where_they_went(report: dict[str, Any]) -> None:
    found = at(report, "patch/platform/patch_message_queue.py", "IMP001")
    assert {(f["symbol"], f["severity"], f["introduced"]) for f in found} >= {
        ("get_ip", "error", True),
        ("get_mp_context", "error", True),
    }
    assert len({f["cause"] for f in found}) == 1
    assert any("from vllm.utils.network_utils import get_ip" in f["suggestion"] for f in found)
    assert any("from vllm.utils.system_utils import get_mp_context" in f["suggestion"] for f in found)


def test_constructor_that_requires_more(report: dict[str, Any]) -> None:
    (found,) = [
        f for f in at(report, "core/recompute_scheduler.py", "CAL001") if "KVCacheManager`" in f["message"]
    ]
    assert "requires `hash_block_size`" in found["message"]
    assert found["symbol"] == "RecomputeScheduler.__init__"


def test_unpacking_of_what_returns_one_value_more(report: dict[str, Any]) -> None:
    found = at(report, "ops/common_fused_moe.py", "RET001")
    assert [f["symbol"] for f in found] == ["AscendFusedMoE.__init__"] * 2
    assert all("3 values" in f["message"] for f in found)


def test_override_that_a_caller_of_the_target_breaks(report: dict[str, Any]) -> None:
    (found,) = [
        f for f in at(report, "platform.py", "OVR001") if f["symbol"].endswith("get_attn_backend_cls")
    ]
    assert found["severity"] == "error"
    cited = {e["id"]: e for e in report["evidence"]}
    assert any(cited[e]["path"] == "vllm/attention/selector.py" for e in found["evidence"])


def test_environment_variable_that_is_gone(report: dict[str, Any]) -> None:
    (found,) = at(report, "patch/platform/patch_config.py", "ATT001")
    assert "`VLLM_USE_V1`" in found["message"]


def test_evidence_quotes_what_the_sources_say(report: dict[str, Any], cache: Path) -> None:
    trees = {
        "plugin": next((cache / "releases").glob("vllm-ascend/0.11.0/**/vllm_ascend")).parent,
        "target": next((cache / "releases").glob("vllm/0.13.0/**/vllm")).parent,
        "base": next((cache / "releases").glob("vllm/0.11.0/**/vllm")).parent,
    }
    checked = 0
    for evidence in report["evidence"]:
        if evidence["kind"] == "source" and evidence["source"] in trees and evidence["path"].endswith(".py"):
            text = (trees[evidence["source"]] / evidence["path"]).read_text(encoding="utf-8")
            first, last = evidence["lines"]
            assert "\n".join(text.split("\n")[first - 1 : last]) == evidence["excerpt"], evidence["id"]
            checked += 1
    assert checked > 200


def test_findings_cite_evidence_and_stay_apart(report: dict[str, Any]) -> None:
    known = {e["id"] for e in report["evidence"]}
    ids = [f["id"] for f in report["findings"]]
    assert len(ids) == len(set(ids))
    assert all(f["evidence"] and set(f["evidence"]) <= known for f in report["findings"])


def test_report_follows_the_published_schema(report: dict[str, Any]) -> None:
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)


def test_a_second_run_gives_the_same_bytes(reviewed: Path, cache: Path, tmp_path: Path) -> None:
    """Offline, with nothing kept but the releases: all of it is worked out again."""
    fresh = tmp_path / "cache"
    shutil.copytree(cache / "releases", fresh / "releases", symlinks=True)
    done = review(tmp_path / "out", tmp_path / "state", fresh, "--offline")
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "out/report.sarif").read_bytes() == (reviewed / "report.sarif").read_bytes()
    one, two = (json.loads((d / "report.json").read_text("utf-8")) for d in (reviewed, tmp_path / "out"))
    assert {**one, "timings": {}} == {**two, "timings": {}}


def test_a_warm_run_gives_the_same_bytes(reviewed: Path, cache: Path, tmp_path: Path) -> None:
    """What earlier reviews left in the cache changes nothing but the time."""
    done = review(tmp_path / "out", tmp_path / "state", cache, "--offline", "--format", "sarif")
    assert done.returncode == 1, done.stderr
    assert (tmp_path / "out/report.sarif").read_bytes() == (reviewed / "report.sarif").read_bytes()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens(reviewed: Path, scheme: str, tmp_path: Path) -> None:
    program = find_chromium()
    assert program is not None, "Chromium is needed (on Debian: apt-get install chromium)"
    with Browser(program, tmp_path / "profile") as browser:
        browser.open((reviewed / "report.html").as_uri(), scheme=scheme)
        assert browser.problems == []
        assert browser.js("document.querySelectorAll('[id^=F]').length") > 100


def test_merges_apply_and_a_recheck_tells_what_they_repair(
    tmp_path: Path, cache: Path, reviewed: Path
) -> None:
    done = review(
        tmp_path / "out", tmp_path / "state", cache, "--merges", "--format", "json", "--fail-on", "never"
    )
    assert done.returncode == 0, done.stderr
    merged = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    plain = json.loads((reviewed / "report.json").read_text(encoding="utf-8"))
    assert merged["findings"] == plain["findings"]
    assert plain["merges"] == []
    states = {row["state"] for row in merged["merges"]}
    assert {"clean and checked", "clean but doubtful"} <= states
    plugin = tmp_path / "plugin"
    shutil.copytree(next((cache / "releases").glob("vllm-ascend/0.11.0/**/vllm_ascend")).parent, plugin)
    patch = tmp_path / "out" / "report.patch"
    for command in (["init", "-q"], ["apply", "--check", str(patch)], ["apply", str(patch)]):
        subprocess.run(["git", *command], cwd=plugin, check=True)
    again = subprocess.run(
        [
            sys.executable,
            "-m",
            "agent",
            "recheck",
            str(tmp_path / "out" / "report.json"),
            "--plugin",
            str(plugin),
        ],
        env={**os.environ, "METAX_UPGRADE_CACHE": str(cache), "METAX_UPGRADE_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stderr
    result = json.loads((tmp_path / "out" / "recheck.json").read_text(encoding="utf-8"))
    assert {f["status"] for f in result["fates"]} >= {"fixed", "still present"}
    assert len(result["fates"]) == len(plain["findings"])
    assert any(d["account"] == "unaccounted" for d in result["differences"])

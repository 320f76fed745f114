"""A review with an upstream repository, from the command line to the reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.tools.history.repos import Upstream
from tests.tools.sources.helpers import make_repo

HOSTILE = "Rename f | **bold** <script>alert(1)</script> \x1b[31mred `tick (#9)"
PLUGIN: dict[str, bytes | str] = {
    "vllm_metax/__init__.py": "def register():\n    return None\n",
    "vllm_metax/a.py": "from vllm.a import f\n\n\ndef g():\n    return f(1)\n",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    make_repo(tmp_path / "plugin", PLUGIN)
    up = Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "vllm/a.py": "def f(x):\n    return x\n"})
    up.git("tag", "start")
    up.commit("docs", {"docs/x.md": "x"})
    up.commit(HOSTILE, {"vllm/a.py": "def renamed(x):\n    return x\n"})
    return tmp_path


def review(place: Path, *options: str, target: str = "HEAD") -> tuple[int, str, dict[str, Any]]:
    done = subprocess.run(
        [
            sys.executable, "-m", "agent", "review", "--quiet", "--plugin", "plugin", "--profile", "metax",
            "--base", "up@start", "--target", f"up@{target}", "--out", "out", *options,
        ],
        cwd=place,
        env={
            **os.environ,
            "METAX_UPGRADE_CACHE": str(place / "cache"),
            "METAX_UPGRADE_STATE": str(place / "state"),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    report = place / "out/report.json"
    return done.returncode, done.stderr, json.loads(report.read_text()) if report.exists() else {}


def test_commits_files_and_since(place: Path) -> None:
    status, errors, report = review(place, "--upstream-repo", "up")
    assert (status, errors) == (1, "")
    assert report["coverage"]["commits"].startswith("2 of 2 commits of ")
    rows = {d["title"]: d for d in report["dispositions"]}
    assert rows["docs"]["disposition"] == "outside the plugin's reach"
    cause = rows[HOSTILE]
    assert cause["disposition"] == "needs a MetaX merge"
    (finding,) = [f for f in report["findings"] if f["check"] == "IMP001"]
    assert finding["since"] == f"{cause['commit'][:12]} (#9)"
    assert cause["findings"] == [finding["id"]] or finding["id"] in cause["findings"]
    patch = next(e for e in report["evidence"] if e["id"] in cause["evidence"])
    assert patch["kind"] == "patch"
    assert "+def renamed(x):" in patch["excerpt"]
    assert next((f["path"], f["state"]) for f in report["files"]) == ("vllm/a.py", "changed")
    schema = json.loads((Path(__file__).parents[2] / "docs/report.schema.json").read_text())
    jsonschema.validate(report, schema)
    for name in ("report.md", "report.html"):
        text = (place / "out" / name).read_text()
        assert "<script>alert" not in text
        assert "\x1b" not in text
        assert "needs a MetaX merge" in text
    assert "**bold**" not in (place / "out/report.md").read_text()


def test_a_second_review_says_the_same(place: Path) -> None:
    first = review(place, "--upstream-repo", "up")[2]
    second = review(place, "--upstream-repo", "up")[2]
    assert {**first, "timings": 0} == {**second, "timings": 0}


def test_without_a_repository_it_says_how_to_get_the_audit(place: Path) -> None:
    _, _, report = review(place)
    assert report["dispositions"] == report["files"] == []
    assert "--upstream-repo" in report["coverage"]["commits"]
    (finding,) = [f for f in report["findings"] if f["check"] == "IMP001"]
    assert finding["since"].startswith("between ")


@pytest.mark.parametrize("given", ["nowhere", "plain"])
def test_what_is_no_repository_is_wrong_use(place: Path, given: str) -> None:
    (place / "plain").mkdir()
    status, errors, report = review(place, "--upstream-repo", given)
    assert status == 2
    assert given in errors
    assert not report


def test_a_history_that_ends_in_the_range_blocks_the_audit_alone(place: Path) -> None:
    clone = place / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth=1", (place / "up").as_uri(), str(clone)], check=True)
    status, errors, report = review(place, "--upstream-repo", "shallow")
    assert status == 3
    assert [f["check"] for f in report["findings"]]
    assert report["blocked"]
    assert report["dispositions"] == []
    assert errors


def test_a_plugin_cannot_name_the_repository(place: Path) -> None:
    (place / "plugin/pyproject.toml").write_text('[tool.metax-upgrade]\nupstream-repo = "/"\n')
    status, errors, _ = review(place)
    assert status == 2
    assert "'upstream-repo' cannot be set by the plugin" in errors

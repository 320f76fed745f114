"""Exit statuses and messages of the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.conftest import BASE, Place, git, write_tree


def report_of(place: Place, out: str = "out") -> dict[str, object]:
    loaded: dict[str, object] = json.loads((place.root / out / "report.json").read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("warning", 1), ("note", 1), ("never", 0)])
def test_status_follows_fail_on(place: Place, fail_on: str, status: int) -> None:
    done = place.run(*place.review, "--fail-on", fail_on)
    assert done.returncode == status, done.stderr
    assert sorted(path.name for path in (place.root / "out").iterdir() if path.suffix != "") == [
        "report.html",
        "report.json",
        "report.md",
        "report.sarif",
    ]


def test_status_is_0_below_the_limit(place: Place) -> None:
    write_tree(place.root / "plugin", {"vllm_metax/__init__.py": ""})
    done = place.call(*place.review, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert place.call(*place.review, "--format", "json", "--fail-on", "warning").returncode == 1
    assert "out/report.json" in done.stdout


def test_quiet_prints_nothing(place: Place) -> None:
    done = place.call(*place.review, "--quiet", "--format", "json")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


def test_without_a_terminal_there_is_no_progress(place: Place) -> None:
    done = place.call(*place.review, "--format", "json")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("session review-")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["review", "--target", "target", "--plugin", "plugin"], "--base"),
        (["review", "--base", "base", "--plugin", "plugin"], "--target"),
        (["review", "--base", "base", "--target", "target", "--plugin", "nowhere"], "nowhere"),
        (["review", "--base", "base", "--target", "vllm>=3", "--plugin", "plugin"], "vllm>=3"),
        (["review", "--base", "base", "--target", "target"], "vllm_metax"),
        (["review", "--plugin", "plugin", "--base", "base", "--target", "target", "--format", "pdf"], "pdf"),
        (["review", "--plugin", "plugin", "--base", "base", "--target", "target", "--out", "file"], "file"),
        (["review", "--wrong"], "--wrong"),
        (["resume", "review-0101-aaaa"], "no sessions yet"),
        (["resume", "../../etc"], "../../etc"),
        (["checks", "show", "XXX999"], "FAK001"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_use_is_2_and_leaves_no_session(place: Place, arguments: list[str], says: str) -> None:
    (place.root / "file").touch()
    done = place.call(*arguments)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not (place.state / "sessions").exists() or place.sessions() == []


def test_what_cannot_be_read_is_3_and_in_every_report(place: Place) -> None:
    git(place.root / "target", "init", "-q")
    git(place.root / "target", "add", ".")
    git(place.root / "target", "commit", "-qm", "x")
    done = place.call(
        "review", "--plugin", "plugin", "--base", "base", "--target", "target@v9", "--out", "out"
    )
    assert done.returncode == 3, done.stderr
    assert "v9" in done.stderr
    assert "Traceback" not in done.stderr
    report = report_of(place)
    blocked = report["blocked"]
    assert isinstance(blocked, list)
    assert {"what", "why", "remedy"} == set(blocked[0])
    assert isinstance(report["subject"], dict)
    assert len(str(report["subject"]["digest"])) == 64
    assert isinstance(report["target"], dict)
    assert report["target"]["digest"] == ""
    for name in ("report.md", "report.html", "report.sarif"):
        assert "v9" in (place.root / "out" / name).read_text(encoding="utf-8")


def test_a_blocked_session_is_resumed_from_the_start(place: Place) -> None:
    (place.root / "target").rename(place.root / "away")
    (place.root / "target").mkdir()
    git(place.root / "target", "init", "-q")
    done = place.call(
        "review", "--plugin", "plugin", "--base", "base", "--target", "target@v9", "--out", "out"
    )
    assert done.returncode == 3
    write_tree(place.root / "target", BASE)
    git(place.root / "target", "add", ".")
    git(place.root / "target", "commit", "-qm", "x")
    git(place.root / "target", "tag", "v9")
    resumed = place.call("resume", place.sessions()[0].name)
    assert resumed.returncode == 1, resumed.stderr
    assert report_of(place)["blocked"] == []


def test_in_a_checkout_its_worktree_is_reviewed(place: Place) -> None:
    plugin = place.root / "plugin"
    git(plugin, "init", "-q")
    done = place.call("review", "--base", "../base", "--target", "../target", cwd=plugin)
    assert done.returncode == 1, done.stderr
    subject = report_of(place, "plugin/metax-upgrade-report")["subject"]
    assert isinstance(subject, dict)
    assert subject["kind"] == "worktree"
    # The report does not become part of the next review.
    again = place.call(
        "review", "--base", "../../base", "--target", "../../target", cwd=plugin / "vllm_metax"
    )
    assert again.returncode == 1, again.stderr
    second = report_of(place, "plugin/vllm_metax/metax-upgrade-report")["subject"]
    assert isinstance(second, dict)
    assert second["digest"] == subject["digest"]


def test_the_profile_is_chosen_by_the_package(place: Place) -> None:
    (place.root / "plugin" / "vllm_metax").rename(place.root / "plugin" / "vllm_ascend")
    place.call(*place.review, "--format", "json")
    assert report_of(place)["profile"] == "vllm-ascend"


def test_a_profile_that_does_not_fit_the_checkout(place: Place) -> None:
    arguments = ["review", "--base", "../base", "--target", "../target", "--profile", "vllm-ascend"]
    done = place.call(*arguments, cwd=place.root / "plugin")
    assert done.returncode == 2
    assert "vllm_ascend" in done.stderr


def test_an_envelope_for_scripts(place: Place) -> None:
    done = place.call(*place.review, "--json-envelope", "--format", "json")
    envelope = json.loads(done.stdout)
    assert envelope["termination"] == "findings"
    assert envelope["exit_status"] == done.returncode == 1
    assert envelope["findings"] == {"error": 1, "note": 1, "warning": 1}
    assert envelope["session"] == place.sessions()[0].name
    refused = place.call("review", "--json-envelope")
    envelope = json.loads(refused.stdout)
    assert envelope["termination"] == "wrong use"
    assert envelope["problems"][0]["what"]


def test_a_check_that_failed_is_tried_again(place: Place) -> None:
    assert "check FAK001" in place.call(*place.review, FAKE_FAILED="1").stderr
    assert "check FAK001" not in place.call(*place.review).stderr


def test_a_relative_cache_folder_is_the_same_from_everywhere(place: Place) -> None:
    assert place.call(*place.review, "--cache", "mine", "--format", "json").returncode == 1
    assert list((place.root / "mine" / "results").iterdir())


def test_a_fault_of_ours_is_a_message_and_a_file(place: Place) -> None:
    done = place.call(*place.review, FAKE_FAULT="1")
    assert done.returncode == 70
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr
    text = (place.sessions()[0] / "traceback.txt").read_text(encoding="utf-8")
    assert "RuntimeError" in text
    assert "secret" not in text


def test_credentials_reach_nothing(place: Place) -> None:
    done = place.call(
        "review", "--plugin", "https://me:hunter2@host/x.git", "--base", "base", "--target", "target"
    )
    assert done.returncode == 2
    assert "hunter2" not in done.stderr + done.stdout
    # A specification that can be opened and looks like one with credentials: a folder of that name.
    odd = "x:" + os.sep * 2 + "me:hunter2@host"
    write_tree(place.root / "x:" / "me:hunter2@host", BASE)
    place.call("review", "--plugin", "plugin", "--base", odd, "--target", "target", "--out", "out")
    for path in place.state.rglob("*"):
        assert path.is_dir() or b"hunter2" not in path.read_bytes(), path


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="needs a read-only folder")
def test_a_state_folder_that_cannot_be_written(place: Place) -> None:
    done = place.call(*place.review, METAX_UPGRADE_STATE="/proc/metax")
    assert done.returncode == 3, done.stderr
    assert "METAX_UPGRADE_STATE" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_folder_that_cannot_be_written(place: Place) -> None:
    done = place.call(*place.review[:-1], "/proc/metax")
    assert done.returncode == 3, done.stderr
    assert "--out" in done.stderr
    assert "Traceback" not in done.stderr


def test_checks_sessions_schema_version(place: Place) -> None:
    assert place.call("checks").stdout == "FAK001  A line that says it breaks\n"
    assert "Reads comments." in place.call("checks", "show", "fak001").stdout
    assert json.loads(place.call("schema").stdout)["title"].startswith("metax-upgrade report")
    assert place.call("--version").stdout.startswith("metax-upgrade ")
    assert place.call("sessions", "list").stdout == ""
    place.call(*place.review, "--format", "json")
    name = place.sessions()[0].name
    assert place.call("sessions", "list").stdout.startswith(f"{name}  ")
    shown = json.loads(place.call("sessions", "show", name).stdout)
    assert shown["status"] == "finished"


@pytest.mark.parametrize("arguments", [["checks"], ["checks", "show", "FAK001"], ["schema"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_leaves_is_no_fault(place: Place, arguments: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "tests.agent.driver", *arguments],
            cwd=place.root,
            env=place.environment(PYTHONUNBUFFERED=unbuffered),
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_help_names_the_table_of_settings(place: Place) -> None:
    assert "[tool.metax-upgrade]" in place.call("review", "--help").stdout


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from agent.commands import app\n"
        "try: app(['review', '--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('langgraph', 'langchain_core', 'pydantic_settings', 'git', 'tools', 'sqlite3')],"
        " file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "--fail-on" in done.stdout

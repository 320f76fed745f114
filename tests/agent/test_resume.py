"""A session survives a kill at any point, and speaks of the same sources when it goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.graph import STEPS
from tests.agent.conftest import Place, write_tree

POINTS = [f"{step.name}:{when}" for step in STEPS for when in ("before", "after")]
SAVING = [f"saving:{number}" for number in range(len(STEPS) + 2)]


def listen_to_interrupts() -> None:
    """As in a terminal: what a shell starts in the background ignores SIGINT, and its children with it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def hang(place: Place, where: str) -> subprocess.Popen[str]:
    """A review that has come to ``where`` and waits there."""
    mark = place.root.parent / "mark"
    mark.unlink(missing_ok=True)
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.agent.driver", *place.review],
        cwd=place.root,
        env=place.environment(HANG=where, HANG_MARK=str(mark)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=listen_to_interrupts,
    )
    deadline = time.monotonic() + 60
    while not mark.exists():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return child


def bytes_of(place: Place) -> dict[str, bytes]:
    """The reports without their timings."""
    found = {}
    for path in sorted((place.root / "out").glob("report.*")):
        content = path.read_bytes()
        if path.suffix == ".json":
            content = json.dumps({**json.loads(content), "timings": {}}).encode()
        if path.suffix in (".json", ".sarif"):
            found[path.name] = content
    assert found
    return found


@pytest.mark.parametrize("where", [*POINTS, *SAVING])
def test_resumed_after_a_kill(place: Place, where: str) -> None:
    child = hang(place, where)
    child.kill()
    child.communicate()
    name = place.sessions()[0].name
    resumed = place.run("resume", name)
    assert resumed.returncode == 1, resumed.stderr
    got = bytes_of(place)
    assert place.call(*place.review).returncode == 1
    assert got == bytes_of(place)


@pytest.mark.parametrize("where", ["scope:before", "preflight:after", "check:before", "report:before"])
def test_interrupted(place: Place, where: str) -> None:
    child = hang(place, where)
    os.killpg(child.pid, signal.SIGINT)
    try:
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    name = place.sessions()[0].name
    assert child.returncode == 130, errors
    assert f"metax-upgrade resume {name}" in errors
    assert "Traceback" not in errors
    assert place.call("resume", name, "--quiet").returncode == 1


def test_interrupted_before_a_session(place: Place) -> None:
    child = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import agent.commands as c, os, signal\n"
            "import agent.settings as s\n"
            "s.load_settings = lambda *a: os.kill(os.getpid(), signal.SIGINT)\n"
            "c.app(['review'])",
        ],
        cwd=place.root,
        env=place.environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listen_to_interrupts,
    )
    _, errors = child.communicate(timeout=60)
    assert child.returncode == 130
    assert "Nothing was begun" in errors


@pytest.mark.parametrize("role", ["plugin", "base", "target"])
def test_changed_sources_are_named(place: Place, role: str) -> None:
    child = hang(place, "check:before")
    child.kill()
    child.communicate()
    package = "vllm_metax" if role == "plugin" else "vllm"
    write_tree(place.root / role, {f"{package}/__init__.py": "changed = True\n"})
    resumed = place.call("resume", place.sessions()[0].name)
    assert resumed.returncode == 3
    assert f"the {role} ({role})" in resumed.stderr
    assert "start a new review" in resumed.stderr


def test_a_change_during_the_review_is_reported(place: Place) -> None:
    child = hang(place, "check:after")
    write_tree(place.root / "plugin", {"vllm_metax/new.py": ""})
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    resumed = place.call("resume", place.sessions()[0].name)
    assert resumed.returncode == 3


def test_two_processes_do_not_share_a_session(place: Place) -> None:
    child = hang(place, "check:before")
    try:
        second = place.call("resume", place.sessions()[0].name)
    finally:
        child.kill()
        child.communicate()
    assert second.returncode == 2
    assert "another process" in second.stderr


def test_a_finished_session_says_how_it_ended(place: Place) -> None:
    first = place.call(*place.review)
    again = place.call("resume", place.sessions()[0].name)
    assert (again.returncode, again.stdout) == (first.returncode, first.stdout)


def test_damaged_sessions(place: Place) -> None:
    child = hang(place, "check:before")
    child.kill()
    child.communicate()
    folder = place.sessions()[0]
    for stored in (folder / "store").iterdir():
        stored.write_text("{}", encoding="utf-8")
    done = place.call("resume", folder.name)
    assert done.returncode == 3, done.stderr
    assert "start a new review" in done.stderr.lower()
    (folder / "checkpoints.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 100)
    for extra in folder.glob("checkpoints.sqlite-*"):
        extra.unlink()
    done = place.call("resume", folder.name)
    assert done.returncode == 3, done.stderr
    (folder / "session.json").write_text("{", encoding="utf-8")
    done = place.call("resume", folder.name)
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stderr


def test_the_checkpoint_file_is_private(place: Place) -> None:
    place.call(*place.review, "--quiet")
    assert place.sessions()[0].stat().st_mode & 0o077 == 0
    assert Path(place.sessions()[0] / "checkpoints.sqlite").is_file()

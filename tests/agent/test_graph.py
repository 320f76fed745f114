"""What the graph keeps and what it does not: plain data in, nothing out to the network."""

from __future__ import annotations

import json
import os
import pty
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from agent.graph import STEPS, config_for, open_graph
from agent.progress import silent
from agent.sessions import Session, load_session
from agent.store import Store
from agent.workbench import Workbench
from tests.agent.conftest import Place, git, write_tree
from tests.agent.test_cli import report_of


def finished(place: Place) -> Session:
    assert place.call(*place.review, "--format", "json").returncode == 1
    return load_session(place.sessions()[0].name)


def test_checkpoints_hold_plain_data_of_every_step(place: Place) -> None:
    session = finished(place)
    bench = Workbench(Store(session.folder / "store"), silent)
    with open_graph(session.checkpoints, bench) as graph:
        history = list(graph.get_state_history(config_for(session.thread)))
    assert [state.next for state in reversed(history)] == [
        ("__start__",),
        *((step.name,) for step in STEPS),
        (),
    ]
    for state in history:
        assert json.loads(json.dumps(state.values)) == state.values
    # Small: what is large lies beside it.
    assert len(json.dumps(history[0].values)) < 4000


def test_nothing_is_traced(place: Place) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        done = place.run(
            *place.review,
            LANGSMITH_TRACING="true",
            LANGCHAIN_TRACING_V2="true",
            LANGSMITH_ENDPOINT=url,
            LANGSMITH_API_KEY="k",
        )
        assert done.returncode == 1, done.stderr
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize("size", [0, 10_000, 30_000, 60_000])
def test_a_full_disk(place: Place, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.agent.driver", *place.review],
        cwd=place.root,
        env=place.environment(),
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert done.returncode in (3, 1 if size > 50_000 else 3), done.stderr
    assert "Traceback" not in done.stderr
    if size and done.returncode == 3:
        assert place.call("resume", place.sessions()[0].name).returncode == 1


def test_progress_on_a_terminal(place: Place) -> None:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.agent.driver", *place.review],
        cwd=place.root,
        env=place.environment(TERM="xterm", COLUMNS="100"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    # While it runs: a terminal that nobody reads makes it wait.
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    printed, _ = child.communicate()
    assert child.returncode == 1
    assert b"writing the report" in shown
    assert b"\x1b" not in printed


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # EIO: everything was read and the other end is closed
        return b""


def test_a_path_with_two_slashes_and_a_revision(place: Place) -> None:
    plugin = place.root / "plugin"
    git(plugin, "init", "-q")
    git(plugin, "add", ".")
    git(plugin, "commit", "-qm", "x")
    git(plugin, "tag", "v1")
    write_tree(plugin, {"vllm_metax/__init__.py": ""})
    odd = f"{place.root}//plugin@v1"
    done = place.call(
        "review", "--plugin", odd, "--base", "base", "--target", "target", "--out", "out", "--format", "json"
    )
    assert done.returncode == 1, done.stderr
    subject = report_of(place)["subject"]
    assert isinstance(subject, dict)
    assert subject["label"] == odd


def test_stored_results_are_whole(tmp_path: Path) -> None:
    store = Store(tmp_path)
    key = store.put("text")
    assert store.put("text") == key
    assert store.get(key) == "text"
    assert [path.name for path in tmp_path.iterdir()] == [f"{key}.json"]

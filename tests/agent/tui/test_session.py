"""A session on disk, opened in the app."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.errors import Stop
from agent.sessions import load_session
from agent.tui.panes import Tab
from agent.tui.session import chosen, desk_of
from tests.end_to_end.conftest import review


def test_without_a_review_there_is_nothing_to_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METAX_UPGRADE_STATE", str(tmp_path))
    with pytest.raises(Stop, match="no session has a report"):
        chosen(None)
    with pytest.raises(Stop, match="there is none"):
        chosen("review-0101-aaaa")


def test_a_review_can_be_read_with_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "own/vllm_metax/__init__.py": "from vllm.a import old\n",
        "base/vllm/__init__.py": "",
        "base/vllm/a.py": "def old(): ...\n",
        "target/vllm/__init__.py": "",
        "target/vllm/a.py": "def new(): ...\n",
    }
    for name, text in files.items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    state = tmp_path / "state"
    sources = {
        f"--{r}": str(tmp_path / f) for r, f in (("plugin", "own"), ("base", "base"), ("target", "target"))
    }
    options = [part for pair in sources.items() for part in pair]
    done = review(tmp_path / "out", state, tmp_path / "cache", *options, "--profile", "metax")
    assert done.returncode == 1, done.stderr
    monkeypatch.setenv("METAX_UPGRADE_STATE", str(state))
    session = chosen(None)
    desk = desk_of(session)
    (found,) = [f for f in desk.report.findings if f.check == "IMP001"]
    assert desk.pane(found, Tab.LOCAL).text == files["own/vllm_metax/__init__.py"]
    assert "vllm/a.py" in desk.pane(found, Tab.TARGET).title
    assert load_session(session.record.id).record.reports

    # A report of another version is said to be one.
    monkeypatch.setattr(session.store, "get", lambda key: '{"unknown": 1}')
    with pytest.raises(Stop, match="another version"):
        desk_of(session)

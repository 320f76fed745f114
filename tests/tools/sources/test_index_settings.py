"""The user's own index settings."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.tools.sources.helpers import write
from tools.sources import index_settings as module
from tools.sources.index_settings import IndexSettings, index_settings


@pytest.fixture(autouse=True)
def _no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ETC", tmp_path / "etc")


def settings(home: Path, **variables: str) -> IndexSettings:
    """With ``home`` for everything that would be the user's or the machine's."""
    env = {"HOME": str(home), "XDG_CONFIG_DIRS": str(home / "xdg"), **variables}
    return index_settings(home / "venv/bin/python", env)


def test_nothing_set(tmp_path: Path) -> None:
    assert settings(tmp_path) == IndexSettings()


def test_variables_win_over_files_and_pip_over_uv(tmp_path: Path) -> None:
    write(tmp_path, {".config/pip/pip.conf": "[global]\nindex-url = https://file.example/simple\n"})
    uv = {"UV_DEFAULT_INDEX": "corp=https://uv.example/simple", "UV_INDEX_URL": "https://old.example/simple"}
    assert settings(tmp_path).index == "https://file.example/simple"
    assert settings(tmp_path, UV_INDEX_URL=uv["UV_INDEX_URL"]).index == "https://old.example/simple"
    assert settings(tmp_path, **uv).index == "https://uv.example/simple"
    assert settings(tmp_path, PIP_INDEX_URL="https://pip.example/s", **uv).index == "https://pip.example/s"


def test_lists_and_switches(tmp_path: Path) -> None:
    found = settings(
        tmp_path,
        PIP_EXTRA_INDEX_URL="https://a.example/s https://b.example/s",
        UV_INDEX="n=https://c.example/s https://a.example/s",
        PIP_FIND_LINKS="/wheels /more",
        PIP_NO_INDEX="1",
        PIP_TRUSTED_HOST="h1 h2:8080",
        PIP_CERT="/ca.pem",
        PIP_DEFAULT_TIMEOUT="60",
    )
    assert found.extra == ("https://a.example/s", "https://b.example/s", "https://c.example/s")
    assert found.find_links == ("/wheels", "/more")
    assert found.trusted_hosts == ("h1", "h2:8080")
    assert (found.no_index, found.certificates, found.timeout) == (True, "/ca.pem", 60.0)
    assert settings(tmp_path, PIP_NO_INDEX="0").no_index is False
    assert settings(tmp_path, PIP_TIMEOUT="soon").timeout == 15.0


def test_a_broken_file_does_not_hide_the_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "venv/pip.conf": "index-url = no section\n",
            ".pip/pip.conf": "[global]\nindex-url=https://ok.example/s\n",
        },
    )
    assert settings(tmp_path).index == "https://ok.example/s"


@pytest.mark.skipif(find_spec("pip") is None, reason="compares with pip")
def test_the_order_of_files_is_the_order_of_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # pip reads the machine's own file too
    places = ["named.conf", ".config/pip/pip.conf", ".pip/pip.conf", "xdg/pip/pip.conf"]
    env = {"HOME": str(tmp_path), "XDG_CONFIG_DIRS": str(tmp_path / "xdg"), "PATH": "/usr/bin:/bin"}
    env["PIP_CONFIG_FILE"] = str(tmp_path / "named.conf")
    for number, place in enumerate(places):
        text = f"[global]\nindex-url = https://{number}.example/s\n[download]\ntimeout = {number}\n"
        write(tmp_path, {place: text})
    while places:
        listed = subprocess.run(
            [sys.executable, "-m", "pip", "config", "list"],
            env=env,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ours = index_settings(None, env)
        assert f"global.index-url='{ours.index}'" in listed
        assert f"download.timeout='{ours.timeout:.0f}'" in listed
        (tmp_path / places.pop(0)).unlink()
        env.pop("PIP_CONFIG_FILE", None)

"""A tiny plugin, two tiny upstream versions and a state folder of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from agent.commands import app
from tests.agent import fake_review

REPO = Path(__file__).parents[2]
PLUGIN = {
    "vllm_metax/__init__.py": "# BREAKS error register\n",
    "vllm_metax/ops/moe.py": "x = 1\n# BREAKS warning FusedMoE\n# BREAKS note helper\n",
}
BASE = {"vllm/__init__.py": "", "vllm/envs.py": "A = 1\n", "vllm/moe.py": "class FusedMoE: ...\n"}
TARGET = {"vllm/__init__.py": "", "vllm/envs.py": "A = 1\n", "vllm/moe.py": "def FusedMoE(): ...\n"}


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    """Writes ``files`` below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def git(folder: Path, *arguments: str) -> str:
    """Runs git with an identity and without the machine's settings."""
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
    }
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


class Ended(NamedTuple):
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Place:
    """A working folder with ``plugin``, ``base`` and ``target`` in it."""

    root: Path
    state: Path
    patch: pytest.MonkeyPatch

    @property
    def review(self) -> list[str]:
        """Arguments of an ordinary review."""
        return ["review", "--plugin", "plugin", "--base", "base", "--target", "target", "--out", "out"]

    def environment(self, **extra: str) -> dict[str, str]:
        """Of a child process."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith("METAX_UPGRADE_")}
        own = {"METAX_UPGRADE_STATE": str(self.state), "METAX_UPGRADE_CACHE": str(self.root / "cache")}
        return {**clean, **own, "PYTHONPATH": str(REPO), **extra}

    def call(self, *arguments: str, cwd: Path | None = None, **extra: str) -> Ended:
        """The same in this process, which saves the imports."""
        with self.patch.context() as patch:
            patch.chdir(cwd or self.root)
            for name, value in extra.items():
                patch.setenv(name, value)
            result = CliRunner().invoke(app, list(arguments), prog_name="metax-upgrade")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)

    def run(self, *arguments: str, cwd: Path | None = None, **extra: str) -> subprocess.CompletedProcess[str]:
        """``metax-upgrade ARGUMENTS`` in a process of its own, over the stand-in for the tools."""
        return subprocess.run(
            [sys.executable, "-m", "tests.agent.driver", *arguments],
            cwd=cwd or self.root,
            env=self.environment(**extra),
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def sessions(self) -> list[Path]:
        """Session folders."""
        return sorted((self.state / "sessions").iterdir())


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """The current folder for the test; also where the stand-in for the tools is in effect."""
    root = tmp_path / "work"
    write_tree(root / "plugin", PLUGIN)
    write_tree(root / "base", BASE)
    write_tree(root / "target", TARGET)
    for name in [name for name in os.environ if name.startswith("METAX_UPGRADE_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("METAX_UPGRADE_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("METAX_UPGRADE_CACHE", str(root / "cache"))
    monkeypatch.setitem(sys.modules, "tools.review", fake_review)
    before = Path.cwd()
    monkeypatch.chdir(root)
    yield Place(root, tmp_path / "state", monkeypatch)
    os.chdir(before)

"""The probe is one file for Python 3.9 and newer, on the standard library alone."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.environment.venvs import TRAP
from tests.tools.sources.helpers import write
from tools.environment import probe
from tools.environment.ask import InterpreterError, ask

SOURCE = Path(probe.__file__).read_text(encoding="utf-8")


def interpreters() -> list[Path]:
    """Every other interpreter of this machine: on the path, and those of pyenv."""
    found = [Path(place) for n in range(6, 16) if (place := shutil.which(f"python3.{n}"))]
    found += [Path(place) for place in ("/usr/bin/python2", "/usr/bin/python3") if Path(place).exists()]
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += sorted(versions.glob("*/bin/python"))
    return [place for place in found if "shims" not in place.parts]


def test_it_is_python_3_9() -> None:
    tree = ast.parse(SOURCE, feature_version=(3, 9))
    modules = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        )
    }
    assert modules <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.Match | ast.TryStar) for node in ast.walk(tree))


@pytest.mark.parametrize("python", interpreters(), ids=str)
def test_it_answers_in_every_interpreter_of_this_machine(python: Path, tmp_path: Path) -> None:
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if version.returncode:
        pytest.skip("a name without an interpreter behind it")
    write(tmp_path, {"vllm/__init__.py": TRAP})
    if tuple(map(int, version.stdout.split("."))) < (3, 9):
        with pytest.raises(
            InterpreterError, match=rf"is Python {version.stdout.strip()}\.\d+, and 3\.9 is the oldest"
        ):
            ask(python, imports=["vllm"], cwd=tmp_path)
        return
    answer = ask(python, imports=["vllm"], cwd=tmp_path)
    assert answer.interpreter.version.startswith(version.stdout.strip())
    assert answer.imports["vllm"].module[0].place == str(tmp_path / "vllm")
    assert answer.problems == ()


def test_it_runs_as_a_file_by_hand(tmp_path: Path) -> None:
    write(tmp_path, {"vllm/__init__.py": TRAP})
    done = subprocess.run(
        [sys.executable, "-B", probe.__file__], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout)
    assert answer["imports"]["vllm"]["module"][0]["place"] == str(tmp_path / "vllm")
    assert answer["path"][0]["source"] == "current folder"


def test_importing_it_changes_nothing() -> None:
    code = "import sys; before = list(sys.path), list(sys.meta_path); import tools.environment.probe; "
    code += "assert before == (list(sys.path), list(sys.meta_path))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(probe.__file__).parents[2])

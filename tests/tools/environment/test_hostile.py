"""Interpreters and environments that are broken or mean harm: a result, never a hang, a leak or an import."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.tools.environment.venvs import TRAP, Venv
from tests.tools.sources.helpers import write
from tools.environment import ask as asking
from tools.environment.ask import InterpreterError, ask
from tools.environment.probe import Scrubber

SECRET = "hunter2-s3cret"


def refused(python: Path, **options: object) -> InterpreterError:
    with pytest.raises(InterpreterError) as caught:
        ask(python, imports=["vllm"], **options)  # type: ignore[arg-type]
    assert caught.value.remedy
    return caught.value


def script(place: Path, text: str, mode: int = 0o755) -> Path:
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(mode)
    return place


def test_credentials_never_come_out(place: Venv, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"https://someone:{SECRET}@host.example/simple"
    place.vllm(
        meta={
            "direct_url.json": json.dumps(
                {"url": f"git+{url}?token={SECRET}#x={SECRET}", "vcs_info": {"vcs": "git"}}
            )
        }
    )
    write(place.site, {"url.pth": f"import os; os.environ.get('{url}')\n{url}/there\n"})
    monkeypatch.setenv("PYTHONPATH", f"{url}:/plain:https://{SECRET}@host.example:https://u:pw@h/x")
    monkeypatch.setenv("PIP_INDEX_URL", url)
    monkeypatch.setenv("HF_TOKEN", "hf-not-for-anyone")
    monkeypatch.setenv("VIRTUAL_ENV", f"/tmp/{SECRET}/venv")
    text = place.ask(start).model_dump_json()
    assert SECRET not in text
    assert "pw@" not in text
    assert "hf-not-for-anyone" not in text
    assert "host.example" in text, "what is no secret stays"
    assert "/plain" in text


def test_a_short_password_is_no_reason_to_garble_paths() -> None:
    scrub = Scrubber({"PIP_INDEX_URL": "https://vllm:vllm@host/"}, "/")
    assert scrub.text("/opt/vllm/x https://vllm:vllm@host/y?z") == "/opt/vllm/x https://***@host/y"


def test_nothing_is_imported_that_could_end_or_raise(place: Venv, start: Path) -> None:
    place.vllm()
    place.plugin()
    place.install("torch", {"torch/__init__.py": "import os\nos._exit(3)\n"})
    answer = place.ask(start)
    assert {name: found.loaded for name, found in answer.imports.items()} == {
        "vllm": False,
        "vllm_metax": False,
        "torch": False,
    }
    assert all(found.module for found in answer.imports.values())


def test_modules_that_shadow_the_standard_library_are_not_run(
    place: Venv, start: Path, tmp_path: Path
) -> None:
    names = ("json", "ast", "re", "csv", "email", "zipfile", "urllib", "platform", "pathlib", "sysconfig")
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')\n"
    write(start, {f"{name}.py": trap for name in names})
    write(start, {"importlib/__init__.py": trap, "importlib/metadata.py": trap})
    assert place.ask(start).problems == ()
    assert not (tmp_path / "sprung").exists()


def test_start_up_code_that_prints(place: Venv, start: Path) -> None:
    noise = (
        "import sys, os\nprint('{\"probe\": 1}' * 1000)\nsys.stderr.write('loud')\nprint('no end', end='')\n"
    )
    write(place.site, {"sitecustomize.py": noise})
    answer = place.ask(start)
    assert answer.customized == ("sitecustomize",)


def test_start_up_code_that_raises(place: Venv, start: Path) -> None:
    write(
        place.site,
        {"sitecustomize.py": "raise RuntimeError('out of luck')\n", "x.pth": "import nowhere_at_all\n"},
    )
    place.vllm()
    assert place.ask(start).imports["vllm"].module


def test_start_up_code_that_ends_the_interpreter(place: Venv, start: Path) -> None:
    write(place.site, {"sitecustomize.py": "raise SystemExit('no licence')\n"})
    assert "no licence" in refused(place.python, cwd=start).why


def test_start_up_code_that_imports_the_package(place: Venv, start: Path) -> None:
    place.install("torch", {"torch/__init__.py": ""})
    write(place.site, {"eager.pth": "import torch\n"})
    assert place.ask(start).imports["torch"].loaded


def test_output_without_end(place: Venv, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "LIMIT", 1 << 20)
    write(place.site, {"sitecustomize.py": "import os\nwhile True: os.write(1, b'x' * 65536)\n"})
    assert "printed more than" in refused(place.python, cwd=start).why


def test_huge_metadata_is_cut(place: Venv, start: Path) -> None:
    place.vllm(meta={"direct_url.json": json.dumps({"url": "file:///" + "x" * 3_000_000})})
    write(place.site, {"long.pth": "/" + "y" * 1_000_000 + "\n"})
    assert len(place.ask(start).model_dump_json()) < 50_000


def test_an_interpreter_that_hangs_is_ended_with_all_it_started(start: Path, tmp_path: Path) -> None:
    mark = tmp_path / "child"
    python = script(tmp_path / "python", f"sleep 60 &\necho $! > {mark}\nwait")
    begun = time.monotonic()
    assert "did not answer in 1 s" in refused(python, cwd=start, seconds=1).why
    assert time.monotonic() - begun < 20
    assert gone(int(mark.read_text()))


def test_what_an_interpreter_leaves_running_is_ended_and_not_waited_for(
    place: Venv, start: Path, tmp_path: Path
) -> None:
    mark = tmp_path / "child"
    code = f"import subprocess\nopen({str(mark)!r}, 'w').write(str(subprocess.Popen(['sleep', '60']).pid))\n"
    write(place.site, {"sitecustomize.py": code})
    begun = time.monotonic()
    place.ask(start)
    assert time.monotonic() - begun < 20
    assert gone(int(mark.read_text()))


def gone(process: int) -> bool:
    """Whether the process is over; whoever inherits it may take a moment to reap it."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_interpreters_that_are_none(start: Path, tmp_path: Path) -> None:
    assert "No such file" in refused(tmp_path / "none", cwd=start).why
    assert "cannot be run" in refused(tmp_path, cwd=start).why
    assert "Permission denied" in refused(script(tmp_path / "locked", "", 0o644), cwd=start).why
    text = tmp_path / "text"
    text.write_bytes(b"\x00\x01 not a program")
    text.chmod(0o755)
    assert "cannot be run" in refused(text, cwd=start).why
    assert "did not answer as Python does" in refused(script(tmp_path / "quiet", "exit 0"), cwd=start).why
    assert (
        "no such library"
        in refused(script(tmp_path / "sick", "echo no such library >&2; exit 127"), cwd=start).why
    )
    assert "signal 9" in refused(script(tmp_path / "killed", "kill -9 $$"), cwd=start).why
    assert "no such folder" in refused(tmp_path / "none", cwd=tmp_path / "gone").why


def test_an_answer_of_another_shape(start: Path, tmp_path: Path) -> None:
    # $6 and $7 are what the runner marks an answer with; whoever forges one still has to fit the contract.
    liar = script(tmp_path / "liar", 'for last; do :; done; printf "%s{\\"probe\\": 2}%s" "$last" "$last"')
    assert "cannot be understood" in refused(liar, cwd=start).why


def test_what_it_says_on_stderr_is_shown_without_credentials(start: Path, tmp_path: Path) -> None:
    sick = script(tmp_path / "sick", f"echo 'cannot reach https://me:{SECRET}@host/x' >&2; exit 1")
    error = refused(sick, cwd=start)
    assert "https://***@host/x" in error.why


def test_broken_metadata_hides_nothing_else(place: Venv, start: Path) -> None:
    place.vllm()
    write(
        place.site,
        {"torch-1.dist-info/METADATA": b"Name: torch\nVersion: \xff\xfe\n", "empty-1.dist-info/x": ""},
    )
    answer = place.ask(start)
    assert "vllm" in {dist.name for dist in answer.distributions}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_entry_that_cannot_be_read(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked = tmp_path / "locked"
    write(locked, {"vllm/__init__.py": TRAP})
    locked.chmod(0)
    monkeypatch.setenv("PYTHONPATH", str(locked))
    try:
        assert place.ask(start).imports["vllm"].module == ()
    finally:
        locked.chmod(0o755)

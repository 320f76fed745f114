"""What a probe finds in a process that really loads a plugin, and what it makes of processes that go wrong."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.tools.probes.fakes import PLUGIN, PROFILE, opened, sources
from tools.findings import Level, Severity
from tools.probes.launch import Limits, launch
from tools.probes.record import Kind, Mode, ProbeRecord
from tools.probes.subject import subject_of
from tools.probes.survey import take_probe

PYTHON = Path(sys.executable)


def probe(
    folder: Path, plugin: dict[str, str] | None = None, vllm: dict[str, str] | None = None, **how: Any
) -> ProbeRecord:
    own, theirs = sources(folder, plugin, vllm)
    return take_probe(PYTHON, own, theirs, PROFILE, command="probe", **how)


def checks(record: ProbeRecord) -> list[tuple[str, str, int]]:
    return [(f.check, f.path, f.line) for f in record.differences]


def registered(record: ProbeRecord) -> dict[str, str]:
    return {row.key: row.object for row in record.run.registered}


def test_a_start_that_goes_well(tmp_path: Path) -> None:
    record = probe(tmp_path)
    run = record.run
    assert (run.kind, run.failed, record.level) == (Kind.COMPLETE, (), Level.RUNTIME)
    assert run.platform is not None
    assert run.platform.object == "vllm_metax.platform:MacaPlatform"
    assert run.platform.own
    assert registered(record) == {
        "awq": "vllm_metax.quant:MacaAWQConfig",
        "SiluAndMul": "vllm_metax.ops:MacaSiluAndMul",
        "Deep": "vllm_metax.deep:Deep",
    }
    assert record.differences == ()
    assert run.calls.bound >= 1
    assert run.origins.elsewhere == ()
    assert set(run.origins.folders) == {"vllm", "vllm_metax"}


def test_a_start_that_fails_leaves_registries_partly_filled(tmp_path: Path) -> None:
    record = probe(tmp_path, {"ops.py": "from vllm.ops import gone\n"})
    assert record.run.partly
    assert registered(record) == {"awq": "vllm_metax.quant:MacaAWQConfig"}
    found = {f.check: f for f in record.differences}
    start = found["RUN001"]
    assert (start.path, start.line, start.severity) == ("vllm_metax/ops.py", 1, Severity.ERROR)
    assert "cannot import name 'gone'" in start.message
    assert "partly filled" in start.consequence
    assert "model Deep" in start.blast_radius
    assert start.level is Level.RUNTIME
    # Upstream marks plugins as loaded before it loads them.
    assert found["RUN008"].silent
    cited = {e.id: e for e in record.evidence}
    assert "vllm_metax/ops.py:1 in <module>" in cited[start.evidence[0]].excerpt


def test_a_plugin_module_that_raises_is_logged_and_swallowed(tmp_path: Path) -> None:
    record = probe(tmp_path, {"__init__.py": "raise RuntimeError('no driver')\n"})
    assert record.run.platform is not None
    assert not record.run.platform.own
    heard = [row for row in record.run.swallowed if row.error]
    assert heard
    assert heard[0].error is not None
    assert heard[0].error[0].message == "no driver"


def test_registered_in_the_source_and_gone_at_run_time(tmp_path: Path) -> None:
    drop = dedent(PLUGIN["models.py"])
    drop += "from vllm.model_executor import custom_op\ncustom_op.op_registry_oot.clear()\n"
    record = probe(tmp_path, {"models.py": drop})
    ((check, path, line),) = [c for c in checks(record) if c[0] == "RUN002"]
    assert (path, line) == ("vllm_metax/ops.py", 4)
    assert check == "RUN002"


def test_another_class_is_in_force(tmp_path: Path) -> None:
    swap = dedent(PLUGIN["models.py"]) + "from vllm.model_executor import custom_op\n"
    swap += "class Other: ...\ncustom_op.op_registry_oot['Silu' + 'AndMul'] = Other\n"
    found = {f.check: f for f in probe(tmp_path, {"models.py": swap}).differences}
    assert "vllm_metax.models:Other" in found["RUN003"].message
    assert found["RUN003"].path == "vllm_metax/ops.py"


def test_a_class_path_that_leads_to_nothing(tmp_path: Path) -> None:
    record = probe(tmp_path, {"deep.py": "class Renamed: ...\n"})
    ((_, path, line),) = [c for c in checks(record) if c[0] == "RUN006"]
    assert (path, line) == ("vllm_metax/models.py", 3)


def test_a_path_that_needs_a_component_is_no_fault_of_the_plugin(tmp_path: Path) -> None:
    record = probe(tmp_path, {"deep.py": "import no_such_component\nclass Deep: ...\n"})
    (found,) = [f for f in record.differences if f.check == "RUN006"]
    assert (found.severity, found.attribution) == (Severity.WARNING, "environment mismatch")


def test_a_call_that_the_live_signature_does_not_take(tmp_path: Path) -> None:
    record = probe(
        tmp_path, vllm={"ops.py": "def scale(x, factor, *, out):\n    return x\ndef fill(x):\n    return x\n"}
    )
    (found,) = [f for f in record.differences if f.check == "RUN005"]
    assert (found.path, found.line, found.symbol) == ("vllm_metax/ops.py", 7, "MacaSiluAndMul.forward")
    assert "missing a required" in found.message


def test_a_name_that_a_patch_did_not_reach(tmp_path: Path) -> None:
    patch = "import vllm.ops\nimport vllm.user\ndef own(x):\n    return x\nvllm.ops.fill = own\n"
    record = probe(tmp_path, {"models.py": patch})
    assert [(p.target, p.object) for p in record.run.patched] == [("vllm.ops:fill", "vllm_metax.models:own")]
    (found,) = [f for f in record.differences if f.check == "RUN007"]
    assert "`vllm.user.fill` is still the unpatched `vllm.ops:fill`" in found.message
    assert found.silent


def test_every_module_by_itself(tmp_path: Path) -> None:
    files = {"a.py": "import vllm_metax.b\n", "b.py": "1 / 0\n", "c.py": "import os\nos._exit(3)\n"}
    modules = {m.module: m for m in probe(tmp_path, files).run.modules}
    assert modules["vllm_metax.quant"].ended == "loaded"
    assert modules["vllm_metax.deep"].error is None
    for name in ("a", "b"):
        error = modules[f"vllm_metax.{name}"].error
        assert error is not None
        assert error[0].type == "ZeroDivisionError"
    assert modules["vllm_metax.c"].ended.startswith("ended with status")


# ---- stubs and modes ----

NEEDS = {"quant.py": "import flash_attn\nfrom mcoplib import ops\n" + dedent(PLUGIN["quant.py"])}


def test_stubs_only_when_asked_and_never_proof(tmp_path: Path) -> None:
    assert probe(tmp_path / "none", NEEDS).run.failed
    record = probe(tmp_path / "two", NEEDS, stubs=("flash_attn", "mcoplib"))
    assert record.run.started
    assert record.level is Level.SIGNATURE
    asked = {s.module: s.asked_by for s in record.run.stubs}
    assert set(asked) == {"flash_attn", "mcoplib"}
    assert asked["mcoplib"].endswith("vllm_metax/quant.py:2")


def test_the_smallest_set_of_stubs_is_found_by_starting_afresh(tmp_path: Path) -> None:
    record = probe(tmp_path, NEEDS, mode=Mode.MINIMAL)
    assert record.run.started
    assert record.stubs == ("flash_attn", "mcoplib")
    assert len(record.earlier) == 2
    assert all(run.failed for run in record.earlier)


def test_no_stub_for_what_is_the_plugins_own_fault(tmp_path: Path) -> None:
    record = probe(tmp_path, {"quant.py": "import vllm_metax.gone\n"}, mode=Mode.MINIMAL)
    assert record.stubs == ()
    assert record.run.failed


def test_tolerant_finds_every_failing_import_in_one_pass(tmp_path: Path) -> None:
    files = {
        "quant.py": "from vllm.ops import one\nfrom vllm.gone import two, three\n",
        "ops.py": "def late():\n    from vllm.ops import four\nlate()\n",
        "deep.py": "import vllm.nowhere\ntry:\n    import tolerated\nexcept ImportError:\n    tolerated = None\n",
    }
    record = probe(tmp_path, files, mode=Mode.TOLERANT)
    missing = {(m.importer, m.line, m.name or m.module) for m in record.run.missing}
    assert missing == {
        ("vllm_metax.quant", 1, "one"),
        ("vllm_metax.quant", 2, "two"),
        ("vllm_metax.quant", 2, "three"),
        ("vllm_metax.ops", 2, "four"),
        ("vllm_metax.deep", 1, "vllm.nowhere"),
    }
    assert record.level is Level.SIGNATURE
    assert record.differences == ()


# ---- processes that go wrong ----


@pytest.mark.parametrize(
    ("code", "kind", "detail"),
    [
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
            Kind.CRASH,
            "signal SIGSEGV during general plugins",
        ),
        ("import os\nos._exit(7)\n", Kind.CRASH, "exit status 7 during general plugins"),
        ("import time\ntime.sleep(600)\n", Kind.TIME, "during general plugins"),
        ("import os\nwhile True:\n    os.write(1, b'x' * 1000000)\n", Kind.OUTPUT, "during general plugins"),
        ("held = [bytes(50_000_000) for _ in range(100)]\n", Kind.MEMORY, "MemoryError"),
    ],
)
def test_a_crash_a_hang_and_a_flood_are_results(tmp_path: Path, code: str, kind: Kind, detail: str) -> None:
    begun = time.monotonic()
    record = probe(tmp_path, {"quant.py": code}, limits=Limits(seconds=8, memory_mib=1024))
    assert (record.run.kind, record.run.detail) == (kind, detail)
    assert time.monotonic() - begun < 60
    assert not record.run.started
    # What was known before is kept.
    assert record.run.stages[0].error is None


def test_an_exit_of_the_plugin_is_a_failed_stage(tmp_path: Path) -> None:
    record = probe(tmp_path, {"quant.py": "raise SystemExit('no licence')\n"})
    assert record.run.kind is Kind.COMPLETE
    (stage,) = record.run.failed
    assert stage.error is not None
    assert (stage.error[0].type, stage.error[0].message) == ("SystemExit", "no licence")


def test_nothing_is_left_running(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    start = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'], start_new_session=True)\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
    )
    probe(tmp_path, {"quant.py": start})
    pid = int(note.read_text())
    deadline = time.monotonic() + 10
    while _runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("python", ["missing", "text"])
def test_an_interpreter_that_is_none(tmp_path: Path, python: str) -> None:
    place = tmp_path / python
    if python == "text":
        place.write_text("#!/bin/sh\necho hello\n")
        place.chmod(0o755)
    own, theirs = sources(tmp_path)
    run = launch(place, subject_of(own, theirs, PROFILE, tmp_path / "laid"))
    assert run.kind is Kind.START
    assert run.detail


def test_secrets_do_not_reach_the_record(tmp_path: Path) -> None:
    record = probe(tmp_path, {"quant.py": "raise RuntimeError('https://me:s3cret-token@host/x')\n"})
    assert "s3cret-token" not in record.model_dump_json()


# ---- what is loaded ----


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def test_a_staged_subject_is_loaded_from_the_index(tmp_path: Path) -> None:
    sources(tmp_path, {"quant.py": "raise RuntimeError('staged')\n"})
    folder = tmp_path / "own"
    git(folder, "init", "-q")
    git(folder, "add", ".")
    # The repair is not staged: it must not help.
    (folder / "vllm_metax" / "quant.py").write_text("")
    own, theirs = opened(f"{folder}:index", "plugin"), opened(str(tmp_path / "theirs"), "target")
    record = take_probe(PYTHON, own, theirs, PROFILE)
    (stage,) = record.run.failed
    assert stage.error is not None
    assert stage.error[0].message == "staged"
    assert record.run.origins.elsewhere == ()
    (place,) = record.run.origins.folders["vllm_metax"]
    assert not Path(place).is_relative_to(folder)


def test_a_module_from_elsewhere_is_told(tmp_path: Path) -> None:
    path = "import sys\nsys.modules.pop('vllm_metax.deep', None)\nimport importlib.util as u\n"
    path += f"spec = u.spec_from_file_location('vllm_metax.deep', {str(tmp_path / 'other' / 'deep.py')!r})\n"
    path += "module = u.module_from_spec(spec)\nsys.modules['vllm_metax.deep'] = module\n"
    path += "spec.loader.exec_module(module)\n"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "deep.py").write_text("class Deep: ...\n")
    record = probe(tmp_path, {"models.py": path})
    assert [e.module for e in record.run.origins.elsewhere] == ["vllm_metax.deep"]


def test_inactive_registrations_are_not_expected(tmp_path: Path) -> None:
    files = {"unused.py": PLUGIN["quant.py"].replace('"awq"', '"gptq"')}
    assert not [c for c in checks(probe(tmp_path, files)) if c[0] == "RUN002"]


def test_the_child_is_python_3_9() -> None:
    text = (Path(__file__).parents[3] / "tools" / "probes" / "child.py").read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 9))
    assert "import tools" not in text
    assert "from tools" not in text

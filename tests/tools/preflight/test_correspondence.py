"""Contents of a source beside those of a copy."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.tools.environment.venvs import TRAP, Venv
from tests.tools.preflight.survey import kinds, one, surveyed
from tests.tools.sources.helpers import PROFILE, make_repo, opened, run_git, write
from tools.environment.answer import Candidate
from tools.findings import Severity
from tools.preflight.correspondence import SHOWN, compare_copies, local_source
from tools.preflight.record import Correspondence
from tools.sources.snapshot import MemorySnapshot, Snapshot

SOURCE: dict[str, bytes | str] = {
    "vllm/__init__.py": TRAP,
    "vllm/same.py": "a = 1\n",
    "vllm/edited.py": "a = 1\n",
    "vllm/new.py": "",
    "vllm/ops.cu": "kernel",
    "vllm/_version.py": "source",
    "README.md": "outside the package",
}
COPY: dict[str, bytes | str] = {
    "vllm/__init__.py": TRAP,
    "vllm/same.py": "a = 1\n",
    "vllm/edited.py": "a = 2\n",
    "vllm/stale.py": "",
    "vllm/_version.py": "build",
    "vllm/_C.abi3.so": b"\0",
    "vllm/vllm_flash_attn/layers.py": "",
    "vllm/__pycache__/same.pyc": b"\0",
}


def compared(snapshot: Snapshot, place: Path, *, zipped: bool = False) -> Correspondence:
    copy = Candidate(
        kind="package",
        origin="",
        place=str(place),
        real=str(place.resolve()),
        entry="",
        via="path",
        zipped=zipped,
    )
    source = local_source(snapshot, "vllm")
    return compare_copies("vllm", snapshot, source, copy, PROFILE, imported=True)


def states(row: Correspondence) -> dict[str, tuple[str, ...]]:
    return {
        "matching": row.matching.paths,
        "changed": row.changed.paths,
        "missing": row.missing.paths,
        "install_only": row.install_only.paths,
        "generated": row.generated.paths,
    }


EXPECTED = {
    "matching": ("__init__.py", "same.py"),
    "changed": ("edited.py",),
    "missing": ("new.py", "ops.cu"),
    "install_only": ("stale.py",),
    "generated": ("_version.py", "vllm_flash_attn/layers.py", "_C.abi3.so"),
}


def test_every_state(tmp_path: Path) -> None:
    write(tmp_path / "copy", COPY)
    row = compared(MemorySnapshot(SOURCE), tmp_path / "copy/vllm")
    assert states(row) == EXPECTED
    assert (row.missing.count, row.missing.python) == (2, 1)
    assert not row.equal
    assert not row.same_place


def test_a_zipped_copy_is_compared_alike(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.whl", "w") as archive:
        for path, content in COPY.items():
            archive.writestr(path, content)
    assert states(compared(MemorySnapshot(SOURCE), tmp_path / "v.whl/vllm", zipped=True)) == EXPECTED


def test_a_source_below_src_and_what_is_generated_in_it(tmp_path: Path) -> None:
    snapshot = MemorySnapshot(
        {"src/vllm/__init__.py": "", "tests/vllm/__init__.py": "", "src/vllm/_version.py": ""}
    )
    write(tmp_path, {"vllm/__init__.py": ""})
    row = compared(snapshot, tmp_path / "vllm")
    assert states(row)["matching"] == ("__init__.py",)
    assert states(row)["generated"] == ("_version.py",)
    assert row.equal


def test_files_too_large_to_compare_are_never_called_equal(tmp_path: Path) -> None:
    large = b"x" * (5 << 20)
    write(tmp_path / "source", {"vllm/__init__.py": "", "vllm/table.bin": large})
    write(tmp_path / "copy", {"vllm/__init__.py": "", "vllm/table.bin": large})
    row = compared(opened(tmp_path / "source"), tmp_path / "copy/vllm")
    assert states(row)["changed"] == ("table.bin",)
    assert row.equal, "Python decides"


def test_long_lists_are_cut_and_counted(tmp_path: Path) -> None:
    write(tmp_path / "copy", {"vllm/__init__.py": ""})
    files: dict[str, bytes | str] = {"vllm/__init__.py": ""}
    files |= {f"vllm/a{n}.json": "" for n in range(SHOWN)}
    files |= {f"vllm/z{n}.py": "" for n in range(3)}
    row = compared(MemorySnapshot(files), tmp_path / "copy/vllm")
    assert (row.missing.count, row.missing.python, len(row.missing.paths)) == (SHOWN + 3, 3, SHOWN)
    assert row.missing.paths[:3] == ("z0.py", "z1.py", "z2.py"), "Python first"


def test_an_equal_copy_of_the_target_is_no_discrepancy(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    write(tmp_path / "vllm-src", {"vllm/__init__.py": TRAP, "vllm/envs.py": "A = 1\n"})
    record = surveyed(place, start, vllm=tmp_path / "vllm-src")
    assert kinds(record, "vllm") == []
    (row,) = record.correspondence
    assert row.imported
    assert row.equal


def test_one_version_and_other_content(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm("0.26.0")
    info = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.26.0\n"
    write(tmp_path / "src", {"PKG-INFO": info, "vllm/__init__.py": TRAP, "vllm/envs.py": "A = 2\n"})
    row = one(surveyed(place, start, vllm=tmp_path / "src"), "other-content")
    assert row.severity is Severity.ERROR
    assert "1 Python file changed (envs.py)" in row.what
    assert "Both call themselves the same version" in row.what


def test_other_version_and_the_same_content(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm("0.26.0")
    info = "Metadata-Version: 2.1\nName: vllm\nVersion: 0.26.1\n"
    write(tmp_path / "src", {"PKG-INFO": info, "vllm/__init__.py": TRAP, "vllm/envs.py": "A = 1\n"})
    record = surveyed(place, start, vllm=tmp_path / "src")
    assert one(record, "other-version-string").severity is Severity.NOTE
    assert "other-content" not in kinds(record)


def test_the_identity_of_a_checkout(place: Venv, start: Path, tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "plugin", {"vllm_metax/__init__.py": TRAP})
    head = run_git(repo, "rev-parse", "HEAD")
    place.editable("vllm-metax", "vllm_metax", repo)
    clean = surveyed(place, start, plugin=repo).plugin.source
    assert clean is not None
    assert (clean.identity.revision, clean.identity.dirty) == (head, False)
    assert clean.place == str(repo / "vllm_metax")
    write(repo, {"vllm_metax/__init__.py": "changed = 1\n"})
    record = surveyed(place, start, plugin=repo)
    assert record.plugin.source is not None
    assert record.plugin.source.identity.dirty is True
    assert record.plugin.source.identity.digest != clean.identity.digest
    (row,) = record.correspondence
    assert row.same_place
    assert row.equal
    assert kinds(record, "vllm_metax") == []


def test_a_copy_of_the_plugin_stays_behind_edits(place: Venv, start: Path, tmp_path: Path) -> None:
    place.plugin()
    write(tmp_path / "src", {"vllm_metax/__init__.py": TRAP})
    assert one(surveyed(place, start, plugin=tmp_path / "src"), "copy-of-source").severity is Severity.WARNING
    write(tmp_path / "src", {"vllm_metax/__init__.py": "edited = 1\n"})
    assert (
        "code that is edited" in one(surveyed(place, start, plugin=tmp_path / "src"), "other-content").means
    )


def test_an_editable_install_of_another_checkout(place: Venv, start: Path, tmp_path: Path) -> None:
    write(tmp_path / "old", {"vllm_metax/__init__.py": "old = 1\n"})
    write(tmp_path / "new", {"vllm_metax/__init__.py": "new = 1\n"})
    place.editable("vllm-metax", "vllm_metax", tmp_path / "old")
    row = one(surveyed(place, start, plugin=tmp_path / "new"), "other-content")
    assert str(tmp_path / "old/vllm_metax") in row.what


def test_a_source_without_the_package(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    write(tmp_path / "src", {"README.md": "nothing here"})
    record = surveyed(place, start, vllm=tmp_path / "src")
    assert record.correspondence == ()
    assert "holds no package vllm" in one(record, "not-looked-at").what

"""Installed distributions, found by another interpreter and never imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, opened, refused, write

TRAP = "raise SystemExit('imported')\n"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A virtual environment without pip: its interpreter and its site-packages."""
    place = tmp_path_factory.mktemp("env") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    return place / "bin" / "python", next((place / "lib").glob("python*")) / "site-packages"


def install(
    site: Path, name: str, files: dict[str, bytes | str], extra: dict[str, bytes | str] | None = None
) -> None:
    """What an installer would leave: ``files`` and metadata with a record of them."""
    info = f"{name.replace('-', '_')}-1.2.dist-info"
    metadata = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n",
        f"{info}/entry_points.txt": "[vllm.platform_plugins]\nx = y:z\n",
        **{f"{info}/{path}": content for path, content in (extra or {}).items()},
    }
    listed = "".join(f"{path},,\n" for path in [*files, *metadata, f"{info}/RECORD", "../../../bin/tool"])
    write(site, {**files, **metadata, f"{info}/RECORD": listed})


def test_an_installed_package_with_its_metadata(environment: tuple[Path, Path]) -> None:
    python, site = environment
    files: dict[str, bytes | str] = {
        "plain_pkg/__init__.py": TRAP,
        "plain_pkg/sub/data.json": "{}",
        "plain_one.py": TRAP,
    }
    install(site, "Plain-Pkg", files)
    write(site, {"plain_pkg/__pycache__/x.pyc": "c", "unrelated/__init__.py": "u"})
    snapshot = opened("installed:plain.PKG", python=python)
    identity = snapshot.identity
    assert (identity.kind, identity.name, identity.version) == ("installed", "Plain-Pkg", "1.2")
    found = contents(snapshot)
    assert {path for path in found if "dist-info" not in path} == set(files)
    assert found["Plain_Pkg-1.2.dist-info/entry_points.txt"].startswith(b"[vllm.platform_plugins]")
    assert snapshot.root is None


def test_an_editable_install_by_a_path_file(environment: tuple[Path, Path], tmp_path: Path) -> None:
    python, site = environment
    write(tmp_path / "src", {"by_path/__init__.py": TRAP, "by_path/a.py": "a", "other/__init__.py": TRAP})
    direct = {"url": tmp_path.as_uri(), "dir_info": {"editable": True}}
    install(
        site,
        "by-path",
        {"__editable__.by_path-1.2.pth": f"{tmp_path}/src\nimport sys\n"},
        {"direct_url.json": json.dumps(direct)},
    )
    snapshot = opened("installed:by-path", python=python)
    assert {path for path in snapshot.paths() if "dist-info" not in path} == {
        "by_path/__init__.py",
        "by_path/a.py",
    }
    assert getattr(snapshot, "editable") is True  # noqa: B009


def test_an_editable_install_by_a_finder(environment: tuple[Path, Path], tmp_path: Path) -> None:
    python, site = environment
    write(tmp_path / "deep", {"__init__.py": TRAP, "b.py": "b"})
    finder = f"MAPPING: dict[str, str] = {{'by_finder': {str(tmp_path / 'deep')!r}}}\n{TRAP}"
    install(site, "by-finder", {"__editable___by_finder_finder.py": finder})
    snapshot = opened("installed:by-finder", python=python)
    assert {path for path in snapshot.paths() if "dist-info" not in path} == {
        "by_finder/__init__.py",
        "by_finder/b.py",
    }


def test_nothing_in_the_current_folder_runs(
    environment: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python, site = environment
    install(site, "here-pkg", {"here_pkg/__init__.py": TRAP})
    trap = f"open({str(tmp_path / 'sprung')!r}, 'w')\n"
    write(tmp_path, {"json.py": trap, "ast.py": trap, "site.py": trap, "importlib/__init__.py": trap})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONSTARTUP", str(tmp_path / "json.py"))
    assert opened("installed:here-pkg", python=python).paths()
    assert not (tmp_path / "sprung").exists()


def test_a_distribution_that_is_not_there(environment: tuple[Path, Path]) -> None:
    python, site = environment
    install(site, "vllm-metax", {"vllm_metax/__init__.py": TRAP})
    error = refused(lambda: opened("installed:vllm_metx", python=python))
    assert "vllm-metax" in error.remedy
    assert str(python) in error.why
    assert not error.wrong_use


def test_this_interpreter_is_asked_when_none_is_given() -> None:
    assert "pytest/__init__.py" in opened("installed:pytest").paths()


def test_interpreters_that_are_none(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'cannot open shared object' >&2\nexit 127\n")
    broken.chmod(0o755)
    liar = tmp_path / "liar"
    liar.write_text("#!/bin/sh\necho hello\n")
    liar.chmod(0o755)
    assert "cannot be run" in refused(lambda: opened("installed:x", python=tmp_path / "none")).why
    assert "cannot be run" in refused(lambda: opened("installed:x", python=tmp_path)).why
    assert "shared object" in refused(lambda: opened("installed:x", python=broken)).why
    assert "did not answer as Python" in refused(lambda: opened("installed:x", python=liar)).why


def test_packages_that_vanished(environment: tuple[Path, Path]) -> None:
    python, site = environment
    install(site, "ghost", {"ghost/__init__.py": ""})
    (site / "ghost/__init__.py").unlink()
    (site / "ghost").rmdir()
    assert "not where its metadata says" in refused(lambda: opened("installed:ghost", python=python)).why

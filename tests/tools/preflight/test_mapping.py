"""One confirmation holds until interpreter, target or mapping change, and not until the next edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from tests.tools.environment.venvs import TRAP, Venv, make_venv
from tests.tools.preflight.survey import surveyed
from tests.tools.sources.helpers import make_repo, run_git, write
from tools.preflight.mapping import questions
from tools.preflight.record import Preflight, preflight_schema


class World:
    """An environment with vLLM and the plugin installed editable, and the sources of both."""

    def __init__(self, place: Venv, start: Path, root: Path) -> None:
        self.place, self.start, self.root = place, start, root
        self.plugin = make_repo(root / "plugin", {"vllm_metax/__init__.py": TRAP})
        self.vllm = root / "vllm-src"
        write(self.vllm, {"vllm/__init__.py": TRAP, "vllm/envs.py": "A = 1\n"})
        place.vllm()
        place.editable("vllm-metax", "vllm_metax", self.plugin)

    def record(self) -> Preflight:
        return surveyed(self.place, self.start, self.vllm, self.plugin)


@pytest.fixture
def world(place: Venv, start: Path, tmp_path: Path) -> World:
    return World(place, start, tmp_path)


def edit(world: World) -> None:
    write(world.plugin, {"vllm_metax/__init__.py": "edited = 1\n", "vllm_metax/new.py": ""})


def commit(world: World) -> None:
    edit(world)
    run_git(world.plugin, "add", "-A")
    run_git(world.plugin, "commit", "-qm", "second")


def start_elsewhere(world: World) -> None:
    world.start = world.root / "elsewhere"
    world.start.mkdir()


def component(world: World) -> None:
    world.place.install("torch", {"torch/__init__.py": TRAP})


def other_interpreter(world: World) -> None:
    other = World(make_venv(world.root / "other"), world.start, world.root / "more")
    world.place = other.place


def other_target(world: World) -> None:
    write(world.vllm, {"vllm/envs.py": "A = 2\n"})


def other_copy(world: World) -> None:
    write(world.place.site, {"vllm/envs.py": "A = 3\n"})


def upgraded(world: World) -> None:
    world.place.vllm("0.27.0")


def shadowed(world: World) -> None:
    write(world.start, {"vllm/__init__.py": TRAP})


def other_checkout(world: World) -> None:
    world.plugin = make_repo(world.root / "second", {"vllm_metax/__init__.py": TRAP})


@pytest.mark.parametrize("change", [edit, commit, start_elsewhere, component])
def test_it_stays(world: World, change: Callable[[World], None]) -> None:
    before = world.record().mapping_id
    change(world)
    assert world.record().mapping_id == before


@pytest.mark.parametrize(
    "change", [other_interpreter, other_target, other_copy, upgraded, shadowed, other_checkout]
)
def test_it_changes(world: World, change: Callable[[World], None]) -> None:
    before = world.record().mapping_id
    change(world)
    assert world.record().mapping_id != before


def test_the_same_environment_gives_the_same_record(world: World) -> None:
    assert world.record().model_dump_json() == world.record().model_dump_json()


def test_the_question_names_target_checkout_and_imports(world: World) -> None:
    record = world.record()
    question = questions(record)
    answers = {row.question: (row.answer, row.because) for row in question.rows}
    assert question.mapping_id == record.mapping_id
    assert answers["Comparison target"][0] == str(world.vllm / "vllm")
    assert answers["Checkout to edit"][0] == str(world.plugin / "vllm_metax")
    assert answers["Validation runs"][0] == str(world.place.python)
    where, why = answers["It imports vllm from"]
    assert where == str(world.place.site / "vllm")
    assert why == "from site-packages; vllm 0.26.0, same content"
    assert answers["It imports vllm_metax from"][1].endswith("vllm-metax 1.0, the source itself")
    assert question.doubts == ()
    assert "skip the question" in question.choices


def test_the_question_holds_what_speaks_against_yes(world: World) -> None:
    other_target(world)
    shadowed(world)
    doubts = questions(world.record()).doubts
    assert len(doubts) > 1
    assert "differs from the vLLM source" in doubts[0]


def test_the_question_says_what_is_not_there(place: Venv, start: Path) -> None:
    answers = {row.question: row.answer for row in questions(surveyed(place, start)).rows}
    assert answers["Comparison target"] == "not given"
    assert answers["It imports vllm from"] == "nowhere"


def test_the_record_fits_its_published_schema(world: World) -> None:
    published = json.loads(
        (Path(__file__).parents[3] / "docs/preflight.schema.json").read_text(encoding="utf-8")
    )
    assert published == preflight_schema(), "run metax-upgrade schema preflight > docs/preflight.schema.json"
    jsonschema.Draft202012Validator.check_schema(published)
    text = world.record().model_dump_json()
    jsonschema.Draft202012Validator(published).validate(json.loads(text))
    assert Preflight.model_validate_json(text) == world.record()

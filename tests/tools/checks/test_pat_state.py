from __future__ import annotations

import pytest

from tests.tools.trees import findings
from tools.findings import Certainty, Severity

INIT = "import vllm_metax.patches\n"

BOUND = """
import vllm.ops

def chunk_rule(q):
    return q

vllm.ops.chunk_rule = chunk_rule
"""
OPS = "def chunk_rule(q):\n    return q + 1\n"
MODEL = "from vllm.ops import chunk_rule\n\ndef forward(q):\n    return chunk_rule(q)\n"
LATE = "def forward(q):\n    from vllm.ops import chunk_rule\n    return chunk_rule(q)\n"
LOADER = "import vllm.model\n\ndef start():\n    load_general_plugins()\n"
PLUGIN = {"__init__.py": INIT, "patches.py": BOUND}


def test_name_bound_before_the_patch() -> None:
    files = {"ops.py": OPS, "model.py": MODEL, "engine.py": LOADER}
    (found,) = findings(PLUGIN, files, files, "PAT004")
    assert "`vllm.model`" in found.message
    assert (found.severity, found.certainty) == (Severity.WARNING, Certainty.LIKELY)
    assert found.silent
    assert not found.introduced


def test_new_caller_binds_the_unpatched_helper() -> None:
    """Unknown order of imports: possible, and only a note; but new."""
    (found,) = findings(PLUGIN, {"ops.py": OPS}, {"ops.py": OPS, "encoder.py": MODEL}, "PAT004")
    assert found.introduced
    assert (found.severity, found.certainty) == (Severity.NOTE, Certainty.POSSIBLE)


@pytest.mark.parametrize("importer", [LATE, "from vllm.ops import chunk_rule\n"])
def test_late_import_and_unused_name_are_reached(importer: str) -> None:
    files = {"ops.py": OPS, "model.py": importer, "engine.py": LOADER}
    assert not findings(PLUGIN, files, files, "PAT004")


def test_importer_that_is_patched_too() -> None:
    plugin = {**PLUGIN, "patches.py": BOUND + "import vllm.model\nvllm.model.chunk_rule = chunk_rule\n"}
    files = {"ops.py": OPS, "model.py": MODEL, "engine.py": LOADER}
    assert not findings(plugin, files, files, "PAT004")


MUTATED = "from vllm import routing\n\nrouting.BACKENDS.{call}\n"


@pytest.mark.parametrize(
    ("call", "old", "new", "count"),
    [
        ('add("maca")', '{"a"}', '("a",)', 1),
        ('append("maca")', '["a"]', '("a",)', 1),
        ('update(maca="x")', '{"a": 1}', '["a"]', 1),
        ('add("maca")', '{"a"}', '{"a", "b"}', 0),
        ('add("maca")', '{"a"}', "compute()", 0),
    ],
)
def test_container_became_another_type(call: str, old: str, new: str, count: int) -> None:
    plugin = {"__init__.py": INIT, "patches.py": MUTATED.format(call=call)}
    found = findings(
        plugin, {"routing.py": f"BACKENDS = {old}\n"}, {"routing.py": f"BACKENDS = {new}\n"}, "PAT005"
    )
    assert [f.severity for f in found] == [Severity.ERROR] * count


CONFIG = """
class Config:
    def update_nested(self, target, values):
        for key, value in values.items():
            setattr(target, key, value)
{end}
"""
OWN = """
from vllm.config import Config

def update_nested(self, target, values):
    for key, value in values.items():
        setattr(target, key, value)
{end}

Config.update_nested = update_nested
"""


def test_template_line_left_at_the_end() -> None:
    files = {"config.py": CONFIG.format(end="")}
    plugin = {"__init__.py": INIT, "patches.py": OWN.format(end='    raise NotImplementedError("finish me")')}
    (found,) = findings(plugin, files, files, "PAT007")
    assert found.severity is Severity.ERROR


@pytest.mark.parametrize(
    ("own", "original"),
    [
        ("", ""),
        ("        if key:\n            return key\n    raise NotImplementedError(key)", ""),
        ("    raise NotImplementedError", "        raise NotImplementedError"),
    ],
)
def test_dispatch_and_originals_that_raise_are_no_template(own: str, original: str) -> None:
    files = {"config.py": CONFIG.format(end=original)}
    assert not findings({"__init__.py": INIT, "patches.py": OWN.format(end=own)}, files, files, "PAT007")


def test_copy_without_newer_validation() -> None:
    old = CONFIG.format(end="")
    new = old.replace(
        "        for key, value",
        "        if not values:\n            raise ValueError('empty')\n        for key, value",
    )
    plugin = {"__init__.py": INIT, "patches.py": OWN.format(end="")}
    (found,) = findings(plugin, {"config.py": old}, {"config.py": new}, "PAT006")
    assert "raise ValueError" in found.message
    assert not findings(plugin, {"config.py": old}, {"config.py": new}, "DRF001")
    assert not findings(plugin, {"config.py": new}, {"config.py": new}, "PAT006")

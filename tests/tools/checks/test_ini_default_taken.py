"""INI003: getattr defaults for fields that are gone."""

from __future__ import annotations

from tests.tools.trees import findings

BASE = {"config.py": "class RopeConfig:\n    rope_theta: float = 1e4\n    dim: int = 64\n"}
TARGET = {"config.py": "class RopeConfig:\n    rope_parameters: dict = None\n    dim: int = 64\n"}
PLUGIN = {
    "rope.py": """
    from vllm.config import RopeConfig

    def theta(config: RopeConfig):
        return getattr(config, "rope_theta", 1e6)
    """
}


def test_the_default_is_always_taken() -> None:
    (found,) = findings(PLUGIN, BASE, TARGET, "INI003")
    assert found.silent
    assert "1000000.0" in found.message or "1e6" in found.message


def test_nothing_while_the_field_exists_or_for_a_field_never_there() -> None:
    assert not findings(PLUGIN, BASE, BASE, "INI003")
    other = {"rope.py": PLUGIN["rope.py"].replace("rope_theta", "rope_scale")}
    assert not findings(other, BASE, TARGET, "INI003")


def test_nothing_when_the_type_is_unknown() -> None:
    plugin = {"rope.py": PLUGIN["rope.py"].replace("config: RopeConfig", "config")}
    assert not findings(plugin, BASE, TARGET, "INI003")

"""REG003: attention backends that the enum does not know."""

from __future__ import annotations

from tests.tools.trees import findings

UPSTREAM = {
    "registry.py": """
        from enum import Enum
        class BackendEnum(Enum):
            FLASH = "vllm.flash.Flash"
            TREE = "vllm.flash.Tree"
            CUSTOM = None
        def register_backend(backend, class_path=None): ...
        """,
    "layer.py": """
        from vllm.registry import BackendEnum
        class Attention:
            def __init__(self, backend):
                self.backend = BackendEnum[backend.get_name()]
        """,
}
PLUGIN = """
from vllm.registry import BackendEnum, register_backend

@register_backend(BackendEnum.{member})
class Backend:
    @staticmethod
    def get_name():
        return "{name}"
"""


def plugin(member: str = "CUSTOM", name: str = "CUSTOM") -> dict[str, str]:
    """A plugin that registers for ``member`` and calls itself ``name``."""
    return {"attention.py": PLUGIN.format(member=member, name=name)}


def test_name_of_its_own() -> None:
    (found,) = findings(plugin(name="ACME"), UPSTREAM, UPSTREAM, "REG003")
    assert found.symbol == "Backend.get_name"
    assert "Unknown attention backend: 'ACME'" in found.consequence


def test_name_of_its_own_behind_a_class_path() -> None:
    code = PLUGIN.format(member="FLASH", name="ACME").replace("@register_backend(BackendEnum.FLASH)\n", "")
    code += "register_backend(BackendEnum.FLASH, class_path='vllm_metax.attention.Backend')\n"
    assert len(findings({"attention.py": code}, UPSTREAM, UPSTREAM, "REG003")) == 1


def test_members_are_names() -> None:
    for name in ("CUSTOM", "FLASH"):
        assert not findings(plugin(name=name), UPSTREAM, UPSTREAM, "REG003")


def test_any_name_where_upstream_never_looks_it_up() -> None:
    tree = {"registry.py": UPSTREAM["registry.py"]}
    assert not findings(plugin(name="ACME"), tree, tree, "REG003")


def test_member_gone() -> None:
    target = {**UPSTREAM, "registry.py": UPSTREAM["registry.py"].replace("TREE =", "FOREST =")}
    (found,) = findings(plugin("TREE"), UPSTREAM, target, "REG003")
    assert found.introduced
    assert not findings(plugin("TREE"), UPSTREAM, UPSTREAM, "REG003")

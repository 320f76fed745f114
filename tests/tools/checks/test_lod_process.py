"""LOD003: registrations that workers never run."""

from __future__ import annotations

from tests.tools.trees import findings

UPSTREAM = {
    "platforms/__init__.py": """
        class Platform:
            def check_and_update_config(self): ...
            def set_device(self): ...
        """,
    "ops.py": """
        class CustomOp:
            @classmethod
            def register_oot(cls, decorated=None, name=None): ...
        class Mul(CustomOp): ...
        """,
}
PLUGIN = {
    "__init__.py": """
        def register():
            return "vllm_metax.platform.Acme"
        def register_out_of_tree():
            {general}
        """,
    "platform.py": """
        from vllm.platforms import Platform

        class Acme(Platform):
            def {hook}(self):
                import vllm_metax.ops
        """,
    "ops.py": "from vllm.ops import Mul\n\n@Mul.register_oot\nclass Fast(Mul): ...\n",
}


def plugin(hook: str = "check_and_update_config", general: str = "pass") -> dict[str, str]:
    """A plugin that registers its op from ``hook``."""
    return {
        "__init__.py": PLUGIN["__init__.py"].format(general=general),
        "platform.py": PLUGIN["platform.py"].format(hook=hook),
        "ops.py": PLUGIN["ops.py"],
    }


def test_op_registered_where_the_configuration_is_built() -> None:
    (found,) = findings(plugin(), UPSTREAM, UPSTREAM, "LOD003")
    assert found.silent
    assert "Mul" in found.message
    assert "general plugin" in found.suggestion


def test_registered_from_a_general_plugin_as_well() -> None:
    assert not findings(plugin(general="import vllm_metax.ops"), UPSTREAM, UPSTREAM, "LOD003")


def test_hooks_that_workers_run() -> None:
    assert not findings(plugin("set_device"), UPSTREAM, UPSTREAM, "LOD003")

"""The simulated start: what runs, in which order, and what one error costs."""

from __future__ import annotations

from tests.tools.trees import Files, context
from tools.registry.outcomes import How
from tools.registry.startup import Startup, startup_of

UPSTREAM: Files = {
    "ops.py": "class Op:\n    @classmethod\n    def register_oot(cls, x=None, name=None): ...\nclass Mul(Op): ...",
    "table.py": "def cdiv(a, b): ...",
    "model_executor/layers/quantization/__init__.py": "def register_quantization_config(name): ...",
    "model_executor/models/__init__.py": "class ModelRegistry: ...",
}
INIT = """
def register():
    return "vllm_metax.platform.Platform"

def register_out_of_tree():
    _first()
    import vllm_metax.registry

def _first():
    import vllm_metax.patch

def register_model():
    from .models import register_model
    register_model()
"""
PLUGIN: Files = {
    "__init__.py": INIT,
    "platform.py": "class Platform: ...",
    "patch/__init__.py": "from . import fix",
    "patch/fix.py": "from vllm.table import cdiv",
    "registry/__init__.py": "from . import quant, lazy",
    "registry/quant.py": """
        from vllm.model_executor.layers.quantization import register_quantization_config

        @register_quantization_config("w4")
        class Config: ...
        """,
    "registry/lazy.py": """
        import os
        if os.environ.get("X"):
            from . import maybe

        def later():
            from . import hidden
        """,
    "registry/maybe.py": "x = 1",
    "registry/hidden.py": "x = 1",
    "registry/orphan.py": "x = 1",
    "models/__init__.py": """
        from vllm.model_executor.models import ModelRegistry

        def register_model():
            ModelRegistry.register_model("A", "vllm_metax.models.a:A")
        """,
    "models/a.py": "class A: ...",
}


def start(plugin: Files, upstream: Files | None = None) -> Startup:
    """The start of ``plugin`` against ``upstream``."""
    return startup_of(context(plugin, UPSTREAM, UPSTREAM if upstream is None else upstream))


def test_order_is_that_of_the_interpreter() -> None:
    modules = list(start(PLUGIN).clean.execution.modules)
    order = ["vllm_metax", "vllm_metax.platform", "vllm_metax.patch", "vllm_metax.patch.fix"]
    assert modules[:4] == order
    assert modules.index("vllm_metax.registry.quant") < modules.index("vllm_metax.registry.lazy")


def test_how_lines_are_reached() -> None:
    found = start(PLUGIN)
    assert found.reached("vllm_metax.registry.quant", 4).how is How.ALWAYS
    assert found.reached("vllm_metax.registry.maybe", 1).how is How.CONDITIONAL
    assert "os.environ" in found.reached("vllm_metax.registry.maybe", 1).guard
    assert found.reached("vllm_metax.registry.hidden", 1).how is How.LAZY
    assert found.reached("vllm_metax.models.a", 1).how is How.LAZY
    assert found.reached("vllm_metax.registry.orphan", 1).how is How.NEVER


def test_chain_begins_at_the_entry_point() -> None:
    chain = start(PLUGIN).reached("vllm_metax.patch.fix", 1).chain
    assert [s.what for s in chain][1:] == [
        "calls _first",
        "imports vllm_metax.patch",
        "imports vllm_metax.patch.fix",
    ]
    assert chain[0].what.startswith("entry point vllm.general_plugins")


def test_one_missing_name_stops_everything_after_it() -> None:
    """The eager import on the registration path: every later registration is lost, and so are the models."""
    found = start(PLUGIN, {**UPSTREAM, "table.py": ""})
    died = found.actual.died
    assert died is not None
    assert died.entry.attribute == "register_out_of_tree"
    assert died.fault is not None
    assert "cdiv" in died.fault.reason
    radius = found.blast_radius("vllm_metax.patch.fix", 1)
    assert radius.raises_at_startup
    assert not radius.swallowed
    assert [r.label for r in radius.lost] == ["model A", "quantization config w4"]
    assert radius.stops is died.entry


def test_an_enclosing_try_limits_the_damage() -> None:
    plugin = {
        **PLUGIN,
        "patch/__init__.py": "try:\n    from . import fix\nexcept ImportError:\n    fix = None\n",
    }
    found = start(plugin, {**UPSTREAM, "table.py": ""})
    assert found.actual.died is None
    radius = found.blast_radius("vllm_metax.patch.fix", 1)
    assert not radius.raises_at_startup
    assert radius.lost == ()


def test_a_handler_for_another_error_does_not() -> None:
    guarded = "try:\n    from . import fix\nexcept ModuleNotFoundError:\n    fix = None\n"
    found = start({**PLUGIN, "patch/__init__.py": guarded}, {**UPSTREAM, "table.py": ""})
    assert found.actual.died is not None


def test_type_checking_is_not_executed() -> None:
    body = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vllm.gone import x\n"
    assert start({**PLUGIN, "patch/fix.py": body}).actual.died is None


def test_missing_import_in_a_function_that_nothing_calls() -> None:
    body = "def later():\n    from vllm.gone import x\n"
    found = start({**PLUGIN, "patch/fix.py": body})
    assert found.actual.died is None
    assert not found.blast_radius("vllm_metax.patch.fix", 2).raises_at_startup


def test_half_initialized_module() -> None:
    """A name that is bound below the import which comes back for it."""
    plugin = {
        **PLUGIN,
        "patch/__init__.py": "from . import fix\nHELPER = 1\n",
        "patch/fix.py": "from vllm_metax.patch import HELPER\n",
    }
    died = start(plugin).actual.died
    assert died is not None
    assert died.fault is not None
    assert "partially initialized" in died.fault.reason
    plugin["patch/__init__.py"] = "HELPER = 1\nfrom . import fix\n"
    assert start(plugin).actual.died is None


def test_imports_by_text_and_in_loops() -> None:
    plugin = {
        **PLUGIN,
        "registry/__init__.py": """
            import importlib
            importlib.import_module("vllm_metax.registry.quant")
            for name in ("maybe", "hidden"):
                importlib.import_module(f"vllm_metax.registry.{name}")
            """,
    }
    modules = start(plugin).clean.execution.modules
    assert {"vllm_metax.registry.quant", "vllm_metax.registry.maybe", "vllm_metax.registry.hidden"} <= set(
        modules
    )


def test_platform_hooks_run_after_a_start() -> None:
    upstream = {**UPSTREAM, "platforms/__init__.py": "class Base:\n    def check_and_update_config(cls): ..."}
    plugin = {
        **PLUGIN,
        "platform.py": """
            from vllm.platforms import Base

            class Real(Base):
                def check_and_update_config(cls):
                    _hooked()

            def _hooked():
                import vllm_metax.registry.orphan

            Platform = Real if True else Base
            """,
    }
    found = start(plugin, upstream).reached("vllm_metax.registry.orphan", 1)
    assert found.how is How.HOOK
    assert found.chain[0].what == "upstream calls Real.check_and_update_config"

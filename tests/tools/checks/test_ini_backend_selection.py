"""INI002: inherited constructors that select a backend."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

ORACLE = """
def select_int4_backend(config):
    for backend in config.backends:
        if backend.supports(config):
            return backend, backend.experts
    raise NotImplementedError("no backend")
"""
METHOD = """
from vllm.oracle import select_int4_backend

class Int4Method:
    def __init__(self, config):
        self.bits = config.bits
        {choose}

    def create_kernel(self, layer):
        return self.experts_cls(layer) if self.backend.fused else None
"""
CHOOSE = "self.backend, self.experts_cls = select_int4_backend(config)"
PLUGIN = {"m.py": "from vllm.method import Int4Method\n\nclass MyMethod(Int4Method):\n    pass\n"}
USER = "def load(method, layer):\n    method.create_kernel(layer)\n"


def upstream(choose: str, oracle: str = ORACLE) -> dict[str, str]:
    return {"oracle.py": oracle, "method.py": METHOD.format(choose=choose), "user.py": USER}


def test_a_selection_new_in_the_inherited_constructor() -> None:
    (found,) = findings(PLUGIN, upstream("pass"), upstream(CHOOSE), "INI002")
    assert found.severity is Severity.WARNING
    assert found.introduced
    assert "select_int4_backend" in found.message
    assert "backend, bits, experts_cls" in found.consequence


def test_readers_that_a_none_would_reach_are_listed() -> None:
    (found,) = findings(PLUGIN, upstream("pass"), upstream(CHOOSE), "INI002")
    assert "backend in Int4Method.create_kernel" in found.suggestion
    assert "experts_cls in Int4Method.create_kernel" in found.suggestion


def test_nothing_when_the_constructor_is_bypassed() -> None:
    plugin = {"m.py": PLUGIN["m.py"].replace("pass", "def __init__(self, config):\n        self.bits = 4")}
    assert not findings(plugin, upstream("pass"), upstream(CHOOSE), "INI002")


def test_nothing_when_the_plugin_replaces_the_selection() -> None:
    patch = "import vllm.oracle\n\ndef choose(config):\n    return A, B\n\n"
    plugin = {**PLUGIN, "p.py": patch + "vllm.oracle.select_int4_backend = choose\n"}
    assert not findings(plugin, upstream("pass"), upstream(CHOOSE), "INI002")


def test_nothing_when_the_function_always_answers() -> None:
    oracle = "def select_int4_backend(config):\n    return config.first, config.second\n"
    assert not findings(PLUGIN, upstream("pass"), upstream(CHOOSE, oracle), "INI002")

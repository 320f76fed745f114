"""LOD002: upstream asks for the platform while its plugin is being loaded."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

PLATFORMS = "class Platform: ...\ndef __getattr__(name): return resolve(name)\n"
BASE = {
    "platforms/__init__.py": PLATFORMS,
    "pinned.py": "def pinned(): ...\ndef late(): ...",
    "parallel.py": "from vllm.pinned import late",
    "quiet.py": "x = 1",
}
TARGET = {
    **BASE,
    "__init__.py": "import vllm.pinned",
    "pinned.py": """
        def pinned():
            from vllm.platforms import current_platform
            return current_platform.pinned
        PINNED = pinned()
        def late(): ...
        """,
}
ENTRY = "def register():\n    {call}\n    return 'vllm_metax.platform.Acme'\n"
PLATFORM = "from vllm.platforms import Platform\n{more}\nclass Acme(Platform): ...\n"


def plugin(call: str = "pass", more: str = "", before: str = "", after: str = "") -> dict[str, str]:
    """A platform plugin with an import somewhere."""
    return {
        "__init__.py": f"{before}\n{ENTRY.format(call=call)}\n{after}\n",
        "platform.py": PLATFORM.format(more=more),
    }


def test_import_above_the_entry_function() -> None:
    (found,) = findings(plugin(before="from vllm.quiet import x"), BASE, TARGET, "LOD002")
    assert found.introduced
    assert found.silent
    assert "has no attribute 'register'" in found.consequence


def test_reached_through_a_module_of_the_plugin() -> None:
    files = {**plugin(before="from vllm_metax import helper"), "helper.py": "import vllm.quiet\n"}
    (found,) = findings(files, BASE, TARGET, "LOD002")
    assert found.path == "vllm_metax/helper.py"


def test_below_the_entry_function_or_in_a_function() -> None:
    assert not findings(plugin(after="from vllm.quiet import x"), BASE, TARGET, "LOD002")
    assert not findings(plugin(before="def f():\n    from vllm.quiet import x"), BASE, TARGET, "LOD002")
    assert not findings(plugin(before="from vllm.quiet import x"), BASE, BASE, "LOD002")


def test_heavy_work_in_the_entry_function_is_circular() -> None:
    """``register()`` imports a module that imports what the asking module has not bound yet."""
    (found,) = findings(plugin(call="import vllm.parallel"), BASE, TARGET, "LOD002")
    assert found.severity is Severity.ERROR
    assert "cannot import name 'late' from partially initialized module 'vllm.pinned'" in found.message


def test_platform_class_that_asks_again() -> None:
    asking = {**BASE, "asking.py": "from vllm.platforms import current_platform"}
    (found,) = findings(plugin(more="import vllm.asking"), BASE, asking, "LOD002")
    assert found.severity is Severity.WARNING
    assert "asks for the platform again" in found.message


def test_what_upstream_has_loaded_by_then_does_no_harm() -> None:
    assert not findings(plugin(more="from vllm.pinned import pinned"), BASE, TARGET, "LOD002")
    assert not findings(plugin(more="from vllm.quiet import x"), BASE, TARGET, "LOD002")

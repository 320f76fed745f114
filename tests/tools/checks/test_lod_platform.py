"""LOD001: a platform plugin that cannot be loaded."""

from __future__ import annotations

from tests.tools.trees import findings

UPSTREAM = {
    "plugins/__init__.py": """
        def load_plugins_by_group(group):
            plugins = {}
            for plugin in discover(group):
                try:
                    plugins[plugin.name] = plugin.load()
                except Exception:
                    logger.exception("Failed to load plugin %s", plugin.name)
            return plugins
        def load_general_plugins():
            for func in load_plugins_by_group("general").values():
                func()
        """,
    "platforms/__init__.py": """
        def resolve_current_platform_cls_qualname():
            for name, func in plugins():
                try:
                    func()
                except Exception:
                    pass
        def __getattr__(name):
            return resolve_obj_by_qualname(resolve_current_platform_cls_qualname())()
        class Platform: ...
        """,
    "probe.py": "def available(): ...",
}
GONE = {k: v for k, v in UPSTREAM.items() if k != "probe.py"}
ENTRY = """
def register():
    {call}
    return "vllm_metax.platform.Acme"
def register_out_of_tree(): ...
"""
PLATFORM = "from vllm.platforms import Platform\n{more}\nclass Acme(Platform): ...\n"


def plugin(call: str = "pass", more: str = "", before: str = "") -> dict[str, str]:
    """A platform plugin with one import somewhere."""
    return {"__init__.py": before + ENTRY.format(call=call), "platform.py": PLATFORM.format(more=more)}


IMPORT = "from vllm.probe import available"


def test_entry_function_that_raises_is_dropped_without_a_word() -> None:
    (found,) = findings(plugin(call=IMPORT), UPSTREAM, GONE, "LOD001")
    assert found.introduced
    assert found.silent
    assert "falls back" in found.consequence
    assert "no traceback" in found.consequence
    assert found.symbol == "register"


def test_module_that_cannot_be_loaded_is_logged_and_dropped() -> None:
    (found,) = findings(plugin(before=IMPORT), UPSTREAM, GONE, "LOD001")
    assert "falls back" in found.consequence
    assert "in the log" in found.consequence


def test_class_import_is_not_caught() -> None:
    (found,) = findings(plugin(more=IMPORT), UPSTREAM, GONE, "LOD001")
    assert "traceback" in found.consequence
    assert "falls back" not in found.consequence
    assert not found.silent


def test_nothing_while_imports_succeed_or_are_caught() -> None:
    assert not findings(plugin(call=IMPORT), UPSTREAM, UPSTREAM, "LOD001")
    caught = f"try:\n    {IMPORT}\nexcept ImportError:\n    available = None"
    assert not findings(plugin(more=caught), UPSTREAM, GONE, "LOD001")
    assert not findings(plugin(more=f"def later():\n    {IMPORT}"), UPSTREAM, GONE, "LOD001")

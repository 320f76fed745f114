"""REG007: keys of upstream's tables."""

from __future__ import annotations

from tests.tools.trees import findings

PLUGIN = {"tables.py": "from vllm.tables import TABLE\n\nclass Mine: ...\n\nTABLE['{key}'] = Mine\n"}
UPSTREAM = {"tables.py": "class A: ...\nTABLE = {'eagle_llama': A, 'other': A}"}
RENAMED = {"tables.py": UPSTREAM["tables.py"].replace("eagle_llama", "eagle3_llama")}


def plugin(key: str) -> dict[str, str]:
    """A plugin that puts something under ``key``."""
    return {"tables.py": PLUGIN["tables.py"].format(key=key)}


def test_key_renamed() -> None:
    (found,) = findings(plugin("eagle_llama"), UPSTREAM, RENAMED, "REG007")
    assert found.introduced
    assert "'eagle3_llama'" in found.suggestion


def test_keys_that_stay_and_keys_of_its_own() -> None:
    assert not findings(plugin("other"), UPSTREAM, RENAMED, "REG007")
    assert not findings(plugin("mine"), UPSTREAM, RENAMED, "REG007")
    assert not findings(plugin("eagle_llama"), UPSTREAM, UPSTREAM, "REG007")

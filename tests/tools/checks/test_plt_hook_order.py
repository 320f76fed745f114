"""PLT005: steps around a hook that changed places."""

from __future__ import annotations

from tests.tools.checks.platform_trees import PLUGIN, upstream
from tests.tools.trees import findings
from tools.findings import Severity

CONFIG = """
from vllm.platforms import current_platform

class VllmConfig:
    def __post_init__(self):
        {first}
        {second}

    def set_ranges(self):
        self.ranges = range(self.{reads})
"""
HOOK, STEP = "current_platform.check_and_update_config(self)", "self.set_ranges()"


def config(first: str, second: str, reads: str = "block_size") -> dict[str, str]:
    return upstream(config=CONFIG.format(first=first, second=second, reads=reads))


def test_a_step_that_reads_what_the_hook_writes() -> None:
    (found,) = findings(PLUGIN, config(STEP, HOOK), config(HOOK, STEP), "PLT005")
    assert (found.severity, found.symbol) == (Severity.WARNING, "MyPlatformBase.check_and_update_config")
    assert "after check_and_update_config" in found.message
    assert "block_size" in found.consequence


def test_the_other_way_round() -> None:
    (found,) = findings(PLUGIN, config(HOOK, STEP), config(STEP, HOOK), "PLT005")
    assert "hidden from" in found.consequence


def test_a_note_when_they_share_nothing_known() -> None:
    (found,) = findings(PLUGIN, config(STEP, HOOK, "depth"), config(HOOK, STEP, "depth"), "PLT005")
    assert found.severity is Severity.NOTE


def test_nothing_when_the_order_is_kept() -> None:
    assert not findings(PLUGIN, config(STEP, HOOK), config(STEP, HOOK), "PLT005")


def test_nothing_when_the_hook_writes_nothing() -> None:
    plugin = {"platform.py": PLUGIN["platform.py"].replace("config.block_size = 16", "print(config)")}
    assert not findings(plugin, config(STEP, HOOK), config(HOOK, STEP), "PLT005")

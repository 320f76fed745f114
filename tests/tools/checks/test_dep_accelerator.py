"""DEP002: shims that cover part of what upstream calls."""

from __future__ import annotations

from tests.tools.trees import findings

SHIM = {"shim.py": "import torch\n\ntorch.accelerator.empty_cache = torch.cuda.empty_cache\n"}
USER = "import torch\n\ndef f():\n    torch.accelerator.empty_cache()\n    torch.accelerator.{name}()\n"


def test_a_name_the_shim_lacks() -> None:
    base = {"user.py": USER.format(name="empty_cache")}
    (found,) = findings(SHIM, base, {"user.py": USER.format(name="max_memory")}, "DEP002")
    assert found.severity == "note"
    assert "also calls max_memory" in found.message
    assert found.introduced


def test_nothing_when_all_are_covered_or_there_is_no_shim() -> None:
    covered = {"user.py": USER.format(name="empty_cache")}
    assert not findings(SHIM, covered, covered, "DEP002")
    target = {"user.py": USER.format(name="max_memory")}
    assert not findings({"shim.py": "import torch\n"}, covered, target, "DEP002")

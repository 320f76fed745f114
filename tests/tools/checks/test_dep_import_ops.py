"""DEP001: native ops read during import."""

from __future__ import annotations

from tests.tools.trees import findings

PLUGIN = {"ops.py": "from vllm.fusion import run\n"}
FUSION = "from vllm.matcher import KEYS\n\ndef run():\n    pass\n"


def upstream(matcher: str) -> dict[str, str]:
    return {"fusion.py": FUSION, "matcher.py": f"import torch\n\n{matcher}\n"}


OLD = upstream("KEYS = {}")


def test_an_op_looked_up_by_an_imported_module() -> None:
    target = upstream('KEYS = {\n    "norm": torch.ops._C.rms_norm.default,\n}')
    (found,) = findings(PLUGIN, OLD, target, "DEP001")
    assert "_C.rms_norm" in found.message
    assert (found.path, found.line) == ("vllm_metax/ops.py", 1)


def test_nothing_inside_a_function_or_under_a_condition() -> None:
    inside = "KEYS = {}\n\ndef key():\n    return torch.ops._C.rms_norm.default"
    assert not findings(PLUGIN, OLD, upstream(inside), "DEP001")
    guarded = 'KEYS = {}\nif hasattr(torch.ops._C, "rms_norm"):\n    NORM = torch.ops._C.rms_norm.default'
    assert not findings(PLUGIN, OLD, upstream(guarded), "DEP001")


def test_nothing_when_the_reading_module_moved() -> None:
    read = "import torch\n\nKEYS = torch.ops._C.rms_norm.default\n"
    base = {"fusion.py": FUSION.replace("matcher", "old"), "old.py": read}
    assert not findings(PLUGIN, base, {"fusion.py": FUSION, "matcher.py": read}, "DEP001")


def test_nothing_when_it_was_read_before_or_is_out_of_reach() -> None:
    target = upstream("KEYS = torch.ops._C.rms_norm.default")
    assert not findings(PLUGIN, target, target, "DEP001")
    late = {"ops.py": "def go():\n    from vllm.fusion import run\n"}
    assert not findings(late, OLD, target, "DEP001")

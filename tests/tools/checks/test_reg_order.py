"""REG005: modules that register and that nothing imports."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

UPSTREAM = {
    "linear.py": "class P:\n    OOT = 1\ndef register_linear_kernel(kernel_class, platform, kernel_type='mp'): ..."
}
KERNEL = """
from vllm.linear import P, register_linear_kernel
class Kernel{type}: ...
register_linear_kernel(Kernel{type}, P.OOT, "{type}")
"""
PLUGIN = {
    "__init__.py": "def register_out_of_tree():\n    import vllm_metax.kernels\n",
    "kernels/__init__.py": "from . import mixed\n",
    "kernels/mixed.py": KERNEL.format(type="mp"),
    "kernels/int8.py": KERNEL.format(type="int8"),
}


def test_sibling_left_out() -> None:
    (found,) = findings(PLUGIN, UPSTREAM, UPSTREAM, "REG005")
    assert found.severity is Severity.ERROR
    assert found.path == "vllm_metax/kernels/__init__.py"
    assert "int8" in found.suggestion


def test_another_kernel_of_the_type_remains() -> None:
    plugin = {**PLUGIN, "kernels/int8.py": KERNEL.format(type="mp")}
    (found,) = findings(plugin, UPSTREAM, UPSTREAM, "REG005")
    assert found.severity is Severity.WARNING


def test_left_out_on_purpose() -> None:
    plugin = {**PLUGIN, "kernels/__init__.py": "from . import mixed  # not yet: int8\n"}
    (found,) = findings(plugin, UPSTREAM, UPSTREAM, "REG005")
    assert found.severity is Severity.NOTE


def test_imported_one_way_or_another() -> None:
    for body in (
        "from . import int8, mixed\n",
        "from . import mixed\ndef more():\n    from . import int8\n",
        "from . import mixed\nLATER = 'vllm_metax.kernels.int8'\n",
    ):
        assert not findings({**PLUGIN, "kernels/__init__.py": body}, UPSTREAM, UPSTREAM, "REG005")


def test_nothing_when_the_whole_package_is_unused() -> None:
    plugin = {**PLUGIN, "__init__.py": "def register_out_of_tree(): ...\n"}
    assert not findings(plugin, UPSTREAM, UPSTREAM, "REG005")

"""IMP001, IMP002, IMP003: imports that fail, and those that only seem to."""

from __future__ import annotations

import pytest

from tests.tools.trees import Files, findings, review
from tools.findings import Finding, Severity

IMP = ("IMP001", "IMP002", "IMP003")


def imports(plugin: Files, base: Files, target: Files) -> list[Finding]:
    return findings(plugin, base, target, *IMP)


def test_moved_enum_in_either_direction() -> None:
    old = {"attention/backends/registry.py": "class AttentionBackendEnum: ...\n"}
    new = {"v1/attention/backends/registry.py": "class AttentionBackendEnum: ...\n"}
    plugin = {"platform.py": "from vllm.attention.backends.registry import AttentionBackendEnum\n"}
    (found,) = imports(plugin, old, new)
    assert found.check == "IMP001"
    assert found.introduced
    assert (found.path, found.line) == ("vllm_metax/platform.py", 1)
    assert "vllm.v1.attention.backends.registry" in found.suggestion
    # The other way round: a plugin that is newer than the installed vllm.
    plugin = {"platform.py": "from vllm.v1.attention.backends.registry import AttentionBackendEnum\n"}
    (found,) = imports(plugin, new, old)
    assert "from vllm.attention.backends.registry import AttentionBackendEnum" in found.suggestion


def test_split_module_is_one_cause_with_a_finding_a_name() -> None:
    base = {"utils.py": "def cdiv(): ...\ndef get_mp_context(): ...\ndef get_open_zmq_ipc_path(): ...\n"}
    target = {
        "utils/__init__.py": "",
        "utils/math_utils.py": "def cdiv(): ...\n",
        "utils/system_utils.py": "def get_mp_context(): ...\n",
        "utils/network_utils.py": "def get_open_zmq_ipc_path(): ...\n",
    }
    plugin = {"a.py": "from vllm.utils import cdiv, get_mp_context, get_open_zmq_ipc_path\n"}
    found = imports(plugin, base, target)
    assert len(found) == 3
    assert len({f.cause for f in found}) == 1
    homes = {f.message.split("`")[3]: f.suggestion for f in found}
    assert "from vllm.utils.math_utils import cdiv" in homes["cdiv"]
    assert "vllm.utils.system_utils" in homes["get_mp_context"]
    assert "vllm.utils.network_utils" in homes["get_open_zmq_ipc_path"]


def test_renamed_class_is_found_by_its_body() -> None:
    body = "".join(
        f"    def method_{i}(self, value):\n        return self.table[{i}] + value\n" for i in range(8)
    )
    base = {"moe.py": f"class FusedMoE:\n{body}"}
    target = {"moe.py": f"class FusedMoEFactory:\n{body}"}
    (found,) = imports({"a.py": "from vllm.moe import FusedMoE\n"}, base, target)
    assert "`FusedMoEFactory`" in found.message


def test_module_moved_between_packages() -> None:
    base = {"third_party/fla/ops.py": "def chunk(): ...\n"}
    target = {"model_executor/layers/fla/ops.py": "def chunk(): ...\n"}
    (found,) = imports({"a.py": "def f():\n    from vllm.third_party.fla.ops import chunk\n"}, base, target)
    assert "vllm.model_executor.layers.fla.ops" in found.suggestion
    assert found.symbol == "f"


def test_there_before_is_told_apart() -> None:
    (found,) = imports({"a.py": "from vllm.x import never_there\n"}, {"x.py": ""}, {"x.py": ""})
    assert not found.introduced


def test_internal_module_gone_and_found_again() -> None:
    plugin = {
        "registry/quant.py": "class Awq: ...\n",
        "a.py": "def f():\n    from vllm_metax.quant_config.quant import Awq\n",
    }
    (found,) = imports(plugin, {}, {})
    assert found.check == "IMP002"
    assert "vllm_metax.registry.quant" in found.suggestion


def test_swallowed_import_says_what_is_off() -> None:
    plugin = {
        "new/cuda.py": "class Lib: ...\n",
        "mem.py": """
            try:
                from vllm_metax.old.cuda import Lib
                available = True
            except ModuleNotFoundError:
                available = False
                lib_name = None

            def sleep():
                assert available
        """,
    }
    (found,) = imports(plugin, {}, {})
    assert found.check == "IMP003"
    assert found.silent
    assert "`available = False`" in found.consequence
    assert "`sleep`" in found.consequence


def test_near_misses_are_silent() -> None:
    upstream = {
        "envs.py": "T = {'A': 1}\ndef __getattr__(n):\n    return T[n]\n",
        "pkg/__init__.py": "from .impl import *\n",
        "pkg/impl.py": "def f(): ...\n",
        "shim.py": "try:\n    from vllm._C import op\nexcept ImportError:\n    op = None\n",
        "new.py": "def moved(): ...\n",
    }
    plugin = {
        "compressed_tensors.py": "class Own: ...\n",
        "a.py": """
            from __future__ import annotations
            from vllm.envs import A
            from vllm.pkg import f
            from vllm.shim import op
            from vllm._version import version
            import vllm._C_stable_libtorch
            from compressed_tensors import CompressionFormat
            from .compressed_tensors import Own
            try:
                from vllm.new import moved
            except ImportError:
                from vllm.old import moved
            if vllm_version_is("1.0"):
                from vllm.old import gone
            else:
                from vllm.new import moved as gone
        """,
    }
    base = {**upstream, "old.py": "def moved(): ...\ndef gone(): ...\n"}
    assert imports(plugin, base, upstream) == []


def test_typing_imports_are_notes() -> None:
    plugin = {"a.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from vllm.x import Gone\n"}
    (found,) = imports(plugin, {"x.py": "class Gone: ...\n"}, {"x.py": ""})
    assert found.severity is Severity.NOTE


def test_a_name_the_plugin_puts_there_itself_is_there() -> None:
    plugin = {
        "p.py": "import vllm.x\ndef helper(): ...\nvllm.x.helper = helper\n",
        "a.py": "from vllm.x import helper\n",
    }
    assert imports(plugin, {"x.py": ""}, {"x.py": ""}) == []


def test_files_that_do_not_parse_cost_only_themselves() -> None:
    plugin = {"bad.py": "def f(:\n", "a.py": "from vllm.x import gone\n"}
    result = review(plugin, {"x.py": "gone = 1\n"}, {"x.py": ""}, *IMP)
    assert [f.path for f in result.findings] == ["vllm_metax/a.py"]


def test_ids_survive_line_shifts() -> None:
    base, target = {"x.py": "def gone(): ...\n"}, {"x.py": ""}
    (one,) = imports({"a.py": "from vllm.x import gone\n"}, base, target)
    (two,) = imports({"a.py": "# a\n# b\n\nfrom vllm.x import gone\n"}, base, target)
    assert one.id == two.id
    assert one.line != two.line


FACTORY_BASE = {"moe.py": "class FusedMoE:\n    @classmethod\n    def make_mapping(cls): ...\n"}
FACTORY = {"moe.py": "def FusedMoE(*args): ...\ndef fused_moe_make_mapping(): ...\n"}


def test_class_that_became_a_function() -> None:
    plugin = {
        "a.py": """
            from vllm.moe import FusedMoE
            def f(layer: FusedMoE):
                if isinstance(layer, FusedMoE):
                    return FusedMoE.make_mapping()
            def g(layer: FusedMoE | None): ...
            class Own(FusedMoE): ...
        """
    }
    found = findings(plugin, FACTORY_BASE, FACTORY, "IMP004")
    seen = {(f.line, str(f.severity)) for f in found}
    assert seen == {(3, "note"), (4, "error"), (5, "error"), (6, "error"), (7, "error")}
    assert len({f.cause for f in found}) == 1
    assert any("fused_moe_make_mapping" in f.suggestion for f in found)


def test_calling_what_became_a_function_is_fine() -> None:
    plugin = {
        "a.py": """
            from __future__ import annotations
            from vllm.moe import FusedMoE
            def f():
                return FusedMoE(1), FusedMoE.__name__
        """
    }
    assert findings(plugin, FACTORY_BASE, FACTORY, "IMP004") == []


def test_what_upstream_itself_uses_in_the_place_of_a_removed_base() -> None:
    base = {"b.py": "class Sparse: ...\n", "user.py": "from vllm.b import Sparse\nclass Impl(Sparse): ...\n"}
    target = {
        "b.py": "",
        "new.py": "class Common: ...\n",
        "user.py": "from vllm.new import Common\nclass Impl(Common): ...\n",
    }
    (found,) = imports({"a.py": "from vllm.b import Sparse\n"}, base, target)
    assert "`Impl` derives from `Common` now" in found.message
    assert "from vllm.new import Common" in found.suggestion


def test_package_of_the_plugin_that_was_moved_as_a_whole() -> None:
    plugin = {
        "registry/ops/__init__.py": "",
        "registry/ops/norm.py": "class Norm: ...\n",
        "registry/quant.py": "",
        "a.py": """
            def f():
                import vllm_metax.custom
                import vllm_metax.quant
                from vllm_metax.custom.norm import Norm
        """,
    }
    found = {f.line: f.suggestion for f in imports(plugin, {}, {})}
    assert found[3] == "`import vllm_metax.registry.ops`"
    assert found[4] == "`import vllm_metax.registry.quant`"
    assert "vllm_metax.registry.ops.norm" in found[5]


def test_a_name_that_every_module_has_went_nowhere() -> None:
    many = {f"m{i}.py": "logger = 1\n" for i in range(12)}
    (found,) = imports(
        {"a.py": "from vllm.utils import logger\n"},
        {"utils.py": "logger = 1\n", **many},
        {"utils.py": "", **many},
    )
    assert "define `logger` where it is used" in found.suggestion


@pytest.mark.parametrize(
    "guarded",
    [
        "if version.parse(vllm.__version__) >= version.parse('9.0'):\n    from vllm.new import x\n",
        "if not Version(vllm.__version__) < Version('9.0'):\n    from vllm.new import x\n",
        "if vllm.__version__ >= '9':\n    from vllm.new import x\n",
        "if vllm_version_is('1.0'):\n    from vllm.new import x\n",
        "if importlib.util.find_spec('vllm.new') is not None:\n    from vllm.new import x\n",
        "if find_spec('vllm.new'):\n    from vllm.new import x\n",
        "if hasattr(vllm.u, 'x'):\n    from vllm.u import x\n",
        "if not hasattr(vllm.u, 'x'):\n    x = None\nelse:\n    from vllm.u import x\n",
        "try:\n    from vllm.new import y\nexcept ImportError:\n    from vllm.u import y\n",
    ],
)
def test_imports_for_another_release_are_silent(guarded: str) -> None:
    upstream = {"u.py": "y = 1\n"}
    assert not imports({"a.py": guarded}, upstream, upstream)


def test_another_package_s_version_excuses_nothing() -> None:
    body = "if Version(torch.__version__) >= Version('9.0'):\n    from vllm.new import x\n"
    (found,) = imports({"a.py": body}, {}, {})
    assert found.check == "IMP001"


def test_a_version_test_that_cannot_be_decided_is_no_finding() -> None:
    body = "if VLLM_VERSION >= minimum():\n    from vllm.new import x\n"
    result = review({"a.py": body}, {}, {}, "IMP001")
    assert not result.findings
    assert "cannot be decided" in result.unresolved[0].reason


def test_suppress_is_an_except() -> None:
    body = "with contextlib.suppress(ImportError):\n    from vllm.new import x\n"
    (found,) = imports({"a.py": body}, {}, {})
    assert (found.check, found.severity) == ("IMP003", "note")

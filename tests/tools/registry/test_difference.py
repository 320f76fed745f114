"""Inventory rows: status, computed difference, decision and reason."""

from __future__ import annotations

from tests.tools.registry.test_chain import PLUGIN, UPSTREAM_ALL
from tests.tools.trees import Files, context
from tools.findings import Activation, Decision, InventoryRow
from tools.registry.decisions import Facts, decide
from tools.registry.inventory import take_inventory


def row(kind: str, key: str, plugin: Files = PLUGIN, target: Files = UPSTREAM_ALL) -> InventoryRow:
    found = take_inventory(context(plugin, UPSTREAM_ALL, target)).rows
    return next(r for r in found if (r.kind, r.key) == (kind, key))


def test_an_active_registration_has_its_chain_in_places() -> None:
    found = row("quantization config", "w4")
    assert found.status is Activation.ACTIVE
    assert found.chain[0].what.startswith("entry point")
    assert found.chain[-1].path == "vllm_metax/registry/__init__.py"


def test_overridden_methods_and_other_bases_are_named() -> None:
    assert row("custom op", "Silu").difference == "derives from `Silu`; defines nothing of its own"
    own = {
        **PLUGIN,
        "registry/ops.py": PLUGIN["registry/ops.py"].replace(
            "class MacaSilu(Silu): ...",
            "class MacaSilu(Silu):\n"
            "        fast = True\n"
            "        def forward_native(self, x, limit):\n"
            "            return torch.nn.functional.silu(x)\n"
            "        def helper(self): ...\n",
        ),
    }
    difference = row("custom op", "Silu", own).difference
    assert "overrides `forward_native` (takes limit more)" in difference
    assert "adds `helper`" in difference
    assert "sets `fast`" in difference


def test_a_registration_that_changes_nothing_can_go() -> None:
    found = row("custom op", "Silu")
    assert found.decision is Decision.REMOVE
    assert "without it" in found.reason


def test_what_upstream_changed_and_the_plugin_has_its_own_version_of() -> None:
    own = {
        **PLUGIN,
        "registry/ops.py": PLUGIN["registry/ops.py"].replace(
            ": ...", ":\n        def forward_native(self, x):\n            return mcoplib.silu(x)\n"
        ),
    }
    changed = {**UPSTREAM_ALL, "silu.py": UPSTREAM_ALL["silu.py"].replace("silu(x)", "silu(x, inplace=True)")}
    found = row("custom op", "Silu", own, changed)
    assert found.decision is Decision.UPDATE
    assert "`forward_native`" in found.reason
    assert row("custom op", "Silu", own).decision is Decision.RETAIN


def test_aggregate_files_and_what_they_forget() -> None:
    found = row("aggregate file", "vllm_metax.registry")
    assert found.status is Activation.AGGREGATE
    assert found.effective == "imports 2 files with 3 registrations and patches"
    forgets = {**PLUGIN, "registry/__init__.py": "from . import config\n"}
    found = row("aggregate file", "vllm_metax.registry", forgets)
    assert found.decision is Decision.UPDATE
    assert "vllm_metax/registry/ops.py" in found.difference
    found = row("custom op", "Silu", forgets)
    assert found.status is Activation.INACTIVE
    assert found.decision is Decision.UPDATE


def test_conditions_are_named() -> None:
    guarded = {**PLUGIN, "registry/__init__.py": "from . import config\nif FAST:\n    from . import ops\n"}
    found = row("custom op", "Silu", guarded)
    assert found.status is Activation.CONDITIONAL
    assert found.condition == "if FAST"


def test_what_a_failing_import_takes_along() -> None:
    broken = {**PLUGIN, "registry/__init__.py": "from vllm.silu import gone\nfrom . import config, ops\n"}
    found = row("custom op", "Silu", broken)
    assert found.status is Activation.LOST
    assert "cannot import name 'gone'" in found.condition


def test_what_a_moved_module_registers_is_lost_with_its_old_import() -> None:
    moved = {**PLUGIN, "__init__.py": "def register():\n    import vllm_metax.old.registry\n"}
    found = row("quantization config", "w4", moved)
    assert found.status is Activation.LOST
    assert "No module named" in found.condition


def test_a_table_that_is_replaced_with_all_its_keys() -> None:
    target = {
        **UPSTREAM_ALL,
        "kernels.py": """
        class CudaKernel: ...

        _POSSIBLE_INT8_KERNELS = {
            PlatformEnum.CUDA: [CudaKernel],
            PlatformEnum.CPU: [],
        }
        """,
    }
    plugin = {
        **PLUGIN,
        "registry/__init__.py": "from . import table\n",
        "registry/table.py": """
        import vllm.kernels
        from vllm.kernels import CudaKernel

        class MacaKernel(CudaKernel):
            def apply(self): ...

        vllm.kernels._POSSIBLE_INT8_KERNELS = {PlatformEnum.OOT: [MacaKernel]}
        """,
    }
    found = row("linear kernel", "_POSSIBLE_INT8_KERNELS", plugin, target)
    assert "MacaKernel" in found.difference
    assert found.counterpart == "vllm.kernels:CudaKernel"
    assert found.decision is Decision.UPDATE
    assert "CUDA, CPU" in found.reason


def test_decisions_in_their_order() -> None:
    def made(**more: object) -> Decision:
        return decide(Facts(Activation.ACTIVE, counterpart=True, **more))[0]  # type: ignore[arg-type]

    assert made() is Decision.RETAIN
    assert made(rival="a.py:1") is Decision.REMOVE
    assert made(rival="a.py:1", same_class=True) is Decision.RETAIN
    assert made(rival="a.py:1", rival_runs=True) is Decision.UPDATE
    assert made(extension="`Silu.register_oot`") is Decision.MIGRATE
    assert made(equal=True) is Decision.REMOVE
    assert made(late="activation") is Decision.REJECT
    assert made(gone=True, late="activation") is Decision.UPDATE
    assert decide(Facts(Activation.INACTIVE, rival="a.py:1"))[0] is Decision.REMOVE
    assert decide(Facts(Activation.INACTIVE))[0] is Decision.UPDATE


def test_a_patch_of_an_op_belongs_into_its_registry() -> None:
    plugin = {
        **PLUGIN,
        "registry/ops.py": """
        import vllm.silu

        class Fast(vllm.silu.Silu):
            def forward_native(self, x):
                return mcoplib.silu(x)

        vllm.silu.Silu = Fast
        """,
    }
    found = row("patch (assignment)", "vllm.silu.Silu", plugin)
    assert found.decision is Decision.MIGRATE
    assert "register_oot" in found.reason

from __future__ import annotations

from tests.tools.trees import Files, context
from tools.checks.drf_common import counterparts_of
from tools.compare.deltas import CompareResult, compare_worlds

BODY = """
class {name}{bases}:
    dtypes = ["bf16"]

    def forward(self, states, {params}):
        routed = self.select(states)
        total = routed.sum()
        return total * self.width

    def select(self, states):
        return states[: self.width]
"""


def compared(plugin: Files, base: Files, target: Files) -> CompareResult:
    now = context(plugin, base, target)
    counterparts = counterparts_of(now)
    assert counterparts is not None
    assert now.before is not None
    return compare_worlds(now.before.world, now.world, counterparts, now.patches)


def rows(result: CompareResult) -> dict[str, tuple[str, str | None, str | None, tuple[str, ...]]]:
    return {
        r.symbol: (r.how, r.base, r.target, tuple(f"{d.kind} {d.detail}".strip() for d in r.deltas))
        for r in result.counterparts
    }


def test_copy_at_the_same_path_without_the_vendors_prefix() -> None:
    found = rows(
        compared(
            {"layers/moe.py": BODY.format(name="MacaMoE", bases="", params="scale")},
            {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale")},
            {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale, ids=None")},
        )
    )
    assert found["MacaMoE"] == ("same path and name", "vllm.layers.moe:MoE", "vllm.layers.moe:MoE", ())
    assert found["MacaMoE.forward"][3] == ("parameter added ids",)


def test_followed_to_where_it_moved() -> None:
    found = rows(
        compared(
            {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale")},
            {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale")},
            {"experts/moe.py": BODY.format(name="MoE", bases="", params="scale")},
        )
    )
    assert found["MoE"][2:] == ("vllm.experts.moe:MoE", ("moved vllm.experts.moe:MoE",))


def test_plugin_ahead_of_base() -> None:
    """The plugin names the target's path already: base is found backwards."""
    found = rows(
        compared(
            {"experts/moe.py": BODY.format(name="MoE", bases="", params="scale")},
            {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale")},
            {"experts/moe.py": BODY.format(name="MoE", bases="", params="scale")},
        )
    )
    assert found["MoE"][1] == "vllm.layers.moe:MoE"


def test_patched_registered_and_derived() -> None:
    plugin = {
        "a.py": """
        import vllm.layers.moe as moe
        from vllm.layers.moe import MoE

        class Standin:
            pass

        moe.MoE = Standin

        @MoE.register_oot
        class Registered(MoE):
            pass

        class Anything(MoE):
            def select(self, states):
                return states
        """
    }
    upstream = {"layers/moe.py": BODY.format(name="MoE", bases="", params="scale")}
    found = rows(compared(plugin, upstream, upstream))
    assert found["Standin"][:2] == ("patched over", "vllm.layers.moe:MoE")
    assert found["Registered"][0] == "registered over"
    assert found["Anything"][0] == "derived from"
    assert found["Anything.select"][1] == "vllm.layers.moe:MoE.select"


def test_same_name_elsewhere_needs_a_like_body() -> None:
    upstream = {"deep/inside.py": BODY.format(name="MoE", bases="", params="scale")}
    like = rows(compared({"x.py": BODY.format(name="MoE", bases="", params="scale, x")}, upstream, upstream))
    assert like["MoE"][0] == "same name"
    unlike = {"x.py": "class MoE:\n    def other(self):\n        return {}\n"}
    assert not rows(compared(unlike, upstream, upstream))


def test_unchanged_lists_equal_interfaces_only() -> None:
    plugin = {"a.py": "from vllm.u import LIMIT, changed, same\n"}
    base = {"u.py": "LIMIT = 4\n\ndef same(a):\n    return a\n\ndef changed(a):\n    return a\n"}
    target = {"u.py": "LIMIT = 4\n\ndef same(a):\n    return a + 1\n\ndef changed(a, b):\n    return a\n"}
    assert compared(plugin, base, target).unchanged == ("vllm.u.LIMIT", "vllm.u.same")


def test_class_deltas() -> None:
    old = {"m.py": BODY.format(name="MoE", bases="", params="scale")}
    new = {
        "m.py": "class Mixin:\n    pass\n"
        + BODY.format(name="MoE", bases="(Mixin)", params="scale").replace('"bf16"', '"bf16", "int8"')
    }
    found = rows(compared({"m.py": old["m.py"]}, old, new))
    assert found["MoE"][3] == ("bases Mixin", "attribute dtypes")
    assert CompareResult.model_validate_json(compared({"m.py": old["m.py"]}, old, new).model_dump_json())

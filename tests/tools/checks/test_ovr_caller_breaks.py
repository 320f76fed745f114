"""Overrides that a caller of the target breaks, and callers that mean another class."""

from tests.tools.trees import Files, findings

BASE_METHOD = """
    class Method:
        def apply(self, layer, x, weights, ids):
            raise NotImplementedError

    class Runner:
        method: Method

        def __init__(self, method: Method):
            self.method = method

        def run(self, x):
            return self.method.apply(self, x, self.weights, self.ids)
"""
TARGET_METHOD = BASE_METHOD.replace("weights, ids):", "weights, ids, shared):").replace(
    "self.ids)", "self.ids, self.shared)"
)


def quant(name: str) -> str:
    return f"""
        from vllm.quant import Method

        class {name}(Method):
            def apply(self, layer, x, weights, ids):
                return x
    """


def test_four_siblings_have_one_cause() -> None:
    plugin = {f"{name.lower()}.py": quant(name) for name in ("A", "B", "C", "D")}
    found = findings(plugin, {"quant.py": BASE_METHOD}, {"quant.py": TARGET_METHOD}, "OVR001")
    assert [f.severity for f in found] == ["error"] * 4
    assert {f.cause for f in found} == {"vllm.quant:Method.apply signature"}
    assert all(f.introduced and f.certainty == "certain" for f in found)
    assert all("quant.py:13" in f.message for f in found)


def test_an_override_that_takes_the_argument_is_fine() -> None:
    plugin = {"a.py": quant("A").replace("ids)", "ids, shared=None)")}
    assert findings(plugin, {"quant.py": BASE_METHOD}, {"quant.py": TARGET_METHOD}, "OVR001") == []


def test_a_new_parameter_nobody_passes_is_a_note() -> None:
    target = BASE_METHOD.replace("weights, ids):", "weights, ids, shared=None):")
    found = findings({"a.py": quant("A")}, {"quant.py": BASE_METHOD}, {"quant.py": target}, "OVR001")
    assert [f.severity for f in found] == ["note"]


def test_a_sibling_that_calls_its_own_method_does_not_count() -> None:
    target = (
        BASE_METHOD
        + """
    class Other(Method):
        def apply(self, layer, x, weights, ids, extra=0):
            return x

        def again(self, layer):
            return self.apply(layer, 1, 2, 3, extra=4)
"""
    )
    assert findings({"a.py": quant("A")}, {"quant.py": BASE_METHOD}, {"quant.py": target}, "OVR001") == []


PLATFORM: Files = {
    "platforms/interface.py": """
        class Platform:
            @classmethod
            def get_attn_backend_cls(cls, selected, config):
                return ""
    """,
    "platforms/__init__.py": "from .interface import Platform\ncurrent_platform = Platform()\n",
    "selector.py": """
        from vllm.platforms import current_platform

        def pick(selected, config):
            return current_platform.get_attn_backend_cls(selected, config)
    """,
}


def test_platform_hook_without_the_new_keyword() -> None:
    plugin = {
        "platform.py": """
            from vllm.platforms.interface import Platform

            class Ours(Platform):
                @classmethod
                def get_attn_backend_cls(cls, selected, config):
                    return "x"
        """
    }
    target = {
        **PLATFORM,
        "platforms/interface.py": PLATFORM["platforms/interface.py"].replace(
            "config)", "config, num_heads=None)"
        ),
        "selector.py": PLATFORM["selector.py"]
        .replace("config)\n", "config, num_heads=8)\n")
        .replace("def pick(selected, config, num_heads=8)", "def pick(selected, config)"),
    }
    (finding,) = findings(plugin, PLATFORM, target, "OVR001")
    assert finding.severity == "error"
    assert "no parameter `num_heads`" in finding.message


def test_an_open_contract_is_called_differently_for_different_kinds() -> None:
    upstream = """
        class Base:
            def apply(self, layer, *args, **kwargs):
                raise NotImplementedError

        class Linear(Base):
            def apply(self, layer, x, bias=None):
                return x

        class Experts(Base):
            def apply(self, layer, x, router):
                return x

        class Layer:
            def __init__(self, method: Base):
                self.method = method

            def forward(self, x):
                return self.method.apply(self, x=x, router=1)
    """
    plugin = {
        "a.py": """
            from vllm.q import Base

            class Embedding(Base):
                def apply(self, layer, x, bias=None):
                    return x
        """
    }
    assert findings(plugin, {"q.py": upstream}, {"q.py": upstream}, "OVR001") == []


def test_replaced_callers_do_not_run() -> None:
    plugin = {
        "a.py": quant("A"),
        "patch.py": """
            import vllm.quant

            def run(self, x):
                return self.method.apply(self, x, self.weights, self.ids)

            vllm.quant.Runner.run = run
        """,
    }
    found = findings(plugin, {"quant.py": BASE_METHOD}, {"quant.py": TARGET_METHOD}, "OVR001")
    assert [f.severity for f in found] == ["warning"]


PROTOCOL: Files = {
    "interfaces.py": """
        from typing import Protocol

        class TextModel(Protocol):
            def compute_logits(self, hidden_states):
                ...
    """,
    "models.py": """
        class One:
            def compute_logits(self, hidden_states):
                return hidden_states

        class Two:
            def compute_logits(self, hidden_states):
                return hidden_states
    """,
    "runner.py": """
        class Runner:
            def step(self, x):
                return self.model.compute_logits(x)
    """,
}


def test_a_model_that_only_looks_like_the_protocol() -> None:
    plugin = {
        "model.py": """
            class Ours:
                def compute_logits(self, hidden_states, metadata):
                    return hidden_states
        """
    }
    (finding,) = findings(plugin, PROTOCOL, PROTOCOL, "OVR001")
    assert "`metadata` is not passed" in finding.message
    fine = {"model.py": plugin["model.py"].replace("metadata", "metadata=None")}
    assert findings(fine, PROTOCOL, PROTOCOL, "OVR001") == []


def test_a_helper_that_only_overridden_methods_call_is_left_behind() -> None:
    upstream = """
        class Wrapper:
            def forward(self, x):
                return torch.ops.vllm.attend(x, "name")

            def attend_impl(self, x, q, k):
                return x

        def attend(x, name):
            layer = lookup(name)
            layer.attend_impl(x, 1, 2)
    """
    plugin = {
        "w.py": """
            from vllm.w import Wrapper

            class Ours(Wrapper):
                def forward(self, x):
                    return self.attend_impl(x)

                def attend_impl(self, x):
                    return x
        """
    }
    assert findings(plugin, {"w.py": upstream}, {"w.py": upstream}, "OVR001") == []
    half = {"w.py": plugin["w.py"].replace("def forward(self, x)", "def other(self, x)")}
    assert len(findings(half, {"w.py": upstream}, {"w.py": upstream}, "OVR001")) == 1


IMPL: Files = {
    "backend.py": """
        class AttentionImpl:
            def forward(self, layer, query, output=None, scale=None):
                raise NotImplementedError
    """,
    # It passes on whatever it is given: no sign that the call is meant for it.
    "compiled.py": """
        class Compiled:
            def forward(self, *args, **kwargs):
                return self.run(*args, **kwargs)
    """,
    "layer.py": """
        def attention(query, output, name):
            layer = context().layers[name]
            layer.impl.forward(layer, query, output=output, scale=None)
    """,
}
OWN_IMPL: Files = {
    "impl.py": """
        from vllm.backend import AttentionImpl

        class OwnImpl(AttentionImpl):
            def forward(self, layer, query, output=None):
                return output
    """
}


def test_a_receiver_named_like_the_family_is_of_it() -> None:
    (found,) = findings(OWN_IMPL, IMPL, IMPL, "OVR001")
    assert (found.severity, found.symbol, found.certainty) == ("error", "OwnImpl.forward", "likely")
    assert "has no parameter `scale`" in found.message
    assert "layer.py:4" in found.message


def test_a_stranger_that_has_these_parameters_may_be_meant() -> None:
    other = """
        class Encoder:
            def forward(self, layer, query, output=None, scale=None):
                return query
    """
    assert findings(OWN_IMPL, {**IMPL, "encoder.py": other}, {**IMPL, "encoder.py": other}, "OVR001") == []

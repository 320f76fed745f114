"""PLT002: predicates that the original answers and its copy does not."""

from __future__ import annotations

from tests.tools.trees import findings

PLUGIN = {
    "v1/attention/fast.py": "from vllm.v1.attention.base import Backend\n\nclass MyFastBackend(Backend):\n    pass\n",
    "v1/attention/slow.py": "from vllm.v1.attention.base import Backend\n\nclass MySlowBackend(Backend):\n    pass\n",
}


def upstream(answer: str) -> dict[str, str]:
    out = {
        "v1/attention/base.py": "class Backend:\n" + TRUE.replace("True", "False"),
        "select.py": "def valid(backend):\n    return backend.supports_fixed()\n",
    }
    for name in ("fast", "slow"):
        out[f"v1/attention/{name}.py"] = (
            "from vllm.v1.attention.base import Backend\n\n"
            f"class {name.title()}Backend(Backend):\n    size = 1\n{answer}"
        )
    return out


FALSE = "    @classmethod\n    def supports_fixed(cls):\n        return False\n"
TRUE = "    @classmethod\n    def supports_fixed(cls):\n        return True\n"


def test_both_siblings_with_one_cause() -> None:
    found = findings(PLUGIN, upstream(FALSE), upstream(TRUE), "PLT002")
    assert [f.symbol for f in found] == ["MyFastBackend", "MySlowBackend"]
    assert len({f.cause for f in found}) == 1
    assert all(f.silent and f.introduced for f in found)
    assert found[0].related == (found[1].id,)


def test_nothing_when_the_copy_answers() -> None:
    plugin = {k: v.replace("    pass\n", TRUE) for k, v in PLUGIN.items()}
    assert not findings(plugin, upstream(FALSE), upstream(TRUE), "PLT002")


def test_there_before_the_upgrade() -> None:
    found = findings(PLUGIN, upstream(TRUE), upstream(TRUE), "PLT002")
    assert [f.introduced for f in found] == [False, False]


def test_a_method_gained_in_this_upgrade_is_reported_once() -> None:
    assert not findings(PLUGIN, upstream(""), upstream(TRUE), "PLT002")
    found = findings(PLUGIN, upstream(""), upstream(TRUE), "PLT002", "DRF003")
    assert {f.check for f in found} <= {"DRF003"}


def test_nothing_when_the_plugin_derives_from_the_original() -> None:
    plugin = {
        "v1/attention/fast.py": (
            "from vllm.v1.attention.fast import FastBackend\n\nclass MyFastBackend(FastBackend):\n    pass\n"
        )
    }
    assert not findings(plugin, upstream(FALSE), upstream(TRUE), "PLT002")


def test_nothing_when_the_answer_is_the_default() -> None:
    assert not findings(PLUGIN, upstream(TRUE), upstream(FALSE), "PLT002")

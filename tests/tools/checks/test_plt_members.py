"""PLT003: methods of the original that upstream calls and the copy lacks."""

from __future__ import annotations

from tests.tools.trees import findings

PLUGIN = {"models/draft.py": "class DraftModel:\n    def load(self):\n        pass\n"}


def upstream(method: str, caller: str) -> dict[str, str]:
    return {
        "model_executor/models/draft.py": f"class DraftModel:\n    def load(self):\n        pass\n{method}",
        "proposer.py": f"def step(model):\n    {caller}\n",
    }


METHOD = "\n    def compact(self):\n        pass\n"


def test_a_method_that_upstream_calls() -> None:
    (found,) = findings(PLUGIN, upstream("", "pass"), upstream(METHOD, "model.compact()"), "PLT003")
    assert found.introduced
    assert found.symbol == "DraftModel"
    assert "vllm.proposer:2" in found.trigger


def test_a_class_put_in_the_place_of_upstreams() -> None:
    base = {"wrapper.py": "class NCCLLibrary:\n    def send(self):\n        pass\n"}
    target = {
        "wrapper.py": base["wrapper.py"] + "\n    def abort(self):\n        pass\n",
        "comm.py": "def close(library):\n    library.abort()\n",
    }
    plugin = {
        "lib.py": """
        import vllm.wrapper

        class Vendor:
            def send(self):
                pass

        vllm.wrapper.NCCLLibrary = Vendor
        """
    }
    (found,) = findings(plugin, base, target, "PLT003")
    assert found.symbol == "Vendor"


def test_nothing_when_only_the_original_itself_calls_it() -> None:
    assert not findings(PLUGIN, upstream("", "pass"), upstream(METHOD, "self.compact()"), "PLT003")


def test_nothing_when_a_module_of_that_name_is_meant() -> None:
    target = upstream(METHOD, "pass")
    target |= {
        "tools.py": "def compact():\n    pass\n",
        "user.py": "from vllm import tools\n\ntools.compact()\n",
    }
    assert not findings(PLUGIN, upstream("", "pass"), target, "PLT003")


def test_nothing_when_a_base_of_the_copy_is_lost() -> None:
    plugin = {"models/draft.py": "from vllm.gone import Base\n\nclass DraftModel(Base):\n    pass\n"}
    assert not findings(plugin, upstream("", "pass"), upstream(METHOD, "model.compact()"), "PLT003")

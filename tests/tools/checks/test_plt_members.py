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


def test_what_was_lacking_before_is_told_apart() -> None:
    base = upstream(METHOD, "model.compact()")
    more = upstream(METHOD + "\n    def skip(self):\n        pass\n", "model.compact(), model.skip()")
    found = findings(PLUGIN, base, more, "PLT003")
    assert [(f.introduced, "skip()" in f.message) for f in found] == [(True, True), (False, False)]
    found = findings(PLUGIN, base, base, "PLT003")
    assert [f.introduced for f in found] == [False]


def test_a_base_that_the_original_gained() -> None:
    files = upstream("", "model.rank()")
    mixin = "class Ranks:\n    def rank(self):\n        pass\n\n"
    files["model_executor/models/draft.py"] = mixin + files["model_executor/models/draft.py"].replace(
        "class DraftModel", "class DraftModel(Ranks)"
    )
    (found,) = findings(PLUGIN, upstream("", "pass"), files, "PLT003")
    assert found.severity == "note"
    assert "derives from Ranks" in found.message


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

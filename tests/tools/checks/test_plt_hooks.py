"""PLT001: hooks that only upstream's platforms answer."""

from __future__ import annotations

from tests.tools.checks.platform_trees import PLUGIN, upstream
from tests.tools.trees import findings
from tools.findings import Severity


def hook(name: str, body: str) -> str:
    return f"@classmethod\ndef {name}(cls):\n    {body}\n"


def reader(text: str) -> str:
    return f"from vllm.platforms import current_platform\n\ndef start(config):\n    {text}\n"


FALSE, TRUE = hook("support_graphs", "return False"), hook("support_graphs", "return True")
READ = reader("config.graphs = current_platform.support_graphs()")
RAISES, SEEDS = hook("seed_all", "raise NotImplementedError"), hook("seed_all", "torch.cuda.seed()")


def test_a_default_of_false_that_cuda_answers_with_true() -> None:
    (found,) = findings(PLUGIN, upstream(), upstream(FALSE, TRUE, start=READ), "PLT001")
    assert (found.severity, found.silent, found.introduced) == (Severity.WARNING, True, True)
    assert found.symbol == "MyPlatformBase"
    assert "support_graphs" in found.message
    assert "vllm.start:4" in found.trigger


def test_a_body_that_raises_is_an_error() -> None:
    target = upstream(RAISES, SEEDS, start=reader("current_platform.seed_all()"))
    (found,) = findings(PLUGIN, upstream(), target, "PLT001")
    assert (found.severity, found.certainty) == (Severity.ERROR, "likely")
    assert found.consequence == "NotImplementedError"


def test_a_hook_that_nobody_read_before() -> None:
    (found,) = findings(PLUGIN, upstream(FALSE, TRUE), upstream(FALSE, TRUE, start=READ), "PLT001")
    assert found.introduced


def test_there_before() -> None:
    tree = upstream(FALSE, TRUE, start=READ)
    (found,) = findings(PLUGIN, tree, tree, "PLT001")
    assert not found.introduced


def test_nothing_when_the_plugin_answers() -> None:
    plugin = {"platform.py": PLUGIN["platform.py"].replace("pass", "support_graphs = None")}
    assert not findings(plugin, upstream(), upstream(FALSE, TRUE, start=READ), "PLT001")


def test_nothing_when_the_answers_agree_or_nobody_asks() -> None:
    assert not findings(PLUGIN, upstream(), upstream(FALSE, FALSE, start=READ), "PLT001")
    assert not findings(PLUGIN, upstream(), upstream(FALSE, TRUE), "PLT001")


def test_nothing_when_the_question_is_asked_on_cuda_only() -> None:
    start = reader("if current_platform.is_cuda(): current_platform.seed_all()")
    assert not findings(PLUGIN, upstream(), upstream(RAISES, SEEDS, start=start), "PLT001")


def test_nothing_when_a_raise_is_caught() -> None:
    start = reader("try:\n        current_platform.seed_all()\n    except NotImplementedError:\n        pass")
    assert not findings(PLUGIN, upstream(), upstream(RAISES, SEEDS, start=start), "PLT001")

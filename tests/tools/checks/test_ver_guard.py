"""Version guards."""

from tests.tools.trees import findings

BASE = {"f.py": "def f(x):\n    return x\n"}
TARGET = {"f.py": "def f(x, new):\n    return x\n"}


def plugin(test: str, then: str, other: str) -> dict[str, str]:
    return {
        "use.py": f"""
            from vllm.f import f
            from vllm_metax.utils import vllm_version_is

            def use(x):
                if {test}:
                    return {then}
                else:
                    return {other}
        """,
        "utils.py": "def vllm_version_is(version):\n    return True\n",
    }


def test_branches_swapped() -> None:
    (finding,) = findings(plugin('vllm_version_is("1.0")', "f(x, new=1)", "f(x)"), BASE, TARGET, "VER001")
    assert finding.severity == "error"
    assert "inverted" in finding.message


def test_the_right_way_round() -> None:
    assert findings(plugin('vllm_version_is("1.0")', "f(x)", "f(x, new=1)"), BASE, TARGET, "VER001") == []
    assert findings(plugin('not vllm_version_is("1.0")', "f(x, new=1)", "f(x)"), BASE, TARGET, "VER001") == []


def test_a_guard_for_an_older_release_can_go() -> None:
    (finding,) = findings(plugin('vllm_version_is("0.9")', "f(x)", "f(x, new=1)"), BASE, TARGET, "VER001")
    assert finding.severity == "note"
    assert finding.decision == "remove"


def test_comparisons() -> None:
    test = 'Version(vllm_version) >= Version("2.0")'
    assert findings(plugin(test, "f(x, new=1)", "f(x)"), BASE, TARGET, "VER001") == []
    (finding,) = findings(plugin(test, "f(x)", "f(x, new=1)"), BASE, TARGET, "VER001")
    assert finding.severity == "error"

"""What one upstream commit means for a plugin that hangs on the changed code in this or that way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.history.repos import Meaning, Upstream, audited, last, means
from tools.findings import Certainty

BODY = """
def f(x):
    first = x + 1
    second = first * 2
    third = second - x
    return third
"""
NEW = BODY.replace("first * 2", "first * 3")
CLASS = """
class Layer:
    size = 1

    def __init__(self, a):
        self.a = a
        self.b = a + 1

    def forward(self, x):
        y = x + self.a
        z = y * self.b
        return z
"""


def test_a_called_function_is_inherited(tmp_path: Path) -> None:
    row = means(
        {"a.py": "from vllm.a import f\n\ndef g():\n    return f(1)\n"},
        {"vllm/a.py": BODY},
        {"vllm/a.py": NEW},
        tmp_path,
    )
    assert (row.disposition, row.certainty) == (Meaning.INHERITED, Certainty.CERTAIN)
    assert row.symbols == ("vllm_metax.a:f", "vllm_metax.a:g")


def test_a_copied_function_needs_a_merge(tmp_path: Path) -> None:
    row = means({"a.py": BODY}, {"vllm/a.py": BODY}, {"vllm/a.py": NEW}, tmp_path)
    assert (row.disposition, row.certainty) == (Meaning.MERGE, Certainty.CERTAIN)
    assert row.symbols == ("vllm_metax.a:f",)
    assert "copies `vllm.a:f`" in row.reason
    assert row.evidence


def test_a_copy_that_has_it_already(tmp_path: Path) -> None:
    row = means({"a.py": NEW}, {"vllm/a.py": BODY}, {"vllm/a.py": NEW}, tmp_path)
    assert row.disposition is Meaning.INHERITED
    assert "has these lines already" in row.reason


@pytest.mark.parametrize(
    "new", [BODY.replace("    first", "    # why\n    first"), BODY.replace("(x):", "(\n    x,\n):")]
)
def test_comments_and_layout_ask_for_nothing(tmp_path: Path, new: str) -> None:
    row = means({"a.py": BODY}, {"vllm/a.py": BODY}, {"vllm/a.py": new}, tmp_path)
    assert row.disposition is Meaning.INHERITED


def test_a_patched_function(tmp_path: Path) -> None:
    plugin = {"p.py": f"import vllm.a\n{BODY.replace('def f', 'def mine')}\nvllm.a.f = mine\n"}
    row = means(plugin, {"vllm/a.py": BODY}, {"vllm/a.py": NEW}, tmp_path)
    assert row.disposition is Meaning.MERGE
    assert "is patched over" in row.reason


def test_overrides(tmp_path: Path) -> None:
    after = {"vllm/a.py": CLASS.replace("y * self.b", "y - self.b")}
    head = "from vllm.a import Layer\n\nclass Mine(Layer):\n    def forward(self, x):\n"
    copied = head + "        y = x + self.a\n        z = y * self.b\n        return z.maca()\n"
    row = means({"m.py": copied}, {"vllm/a.py": CLASS}, after, tmp_path / "copied")
    assert (row.disposition, row.symbols) == (Meaning.MERGE, ("vllm_metax.m:Mine.forward",))
    through = head + "        return super().forward(x)\n"
    row = means({"m.py": through}, {"vllm/a.py": CLASS}, after, tmp_path / "through")
    assert row.disposition is Meaning.INHERITED
    own = head + "        return maca_kernel(x)\n"
    row = means({"m.py": own}, {"vllm/a.py": CLASS}, after, tmp_path / "own")
    assert row.disposition is Meaning.PLATFORM
    assert "implementation of its own" in row.reason


def test_a_method_that_the_plugin_does_not_define_is_inherited(tmp_path: Path) -> None:
    plugin = {"m.py": "from vllm.a import Layer\n\nclass Mine(Layer):\n    def own(self): ...\n"}
    row = means(plugin, {"vllm/a.py": CLASS}, {"vllm/a.py": CLASS.replace("y * self.b", "y")}, tmp_path)
    assert row.disposition is Meaning.INHERITED
    assert "does not define `forward`" in row.reason


def test_a_new_abstract_method(tmp_path: Path) -> None:
    after = CLASS + "\n    @abstractmethod\n    def must(self): ...\n"
    plugin = {"m.py": "from vllm.a import Layer\n\nclass Mine(Layer):\n    pass\n"}
    row = means(plugin, {"vllm/a.py": CLASS}, {"vllm/a.py": after}, tmp_path)
    assert row.disposition is Meaning.MERGE
    assert "abstract `must`" in row.reason


@pytest.mark.parametrize(
    ("signature", "meaning"),
    [
        ("def f(x, y):", Meaning.MERGE),
        ("def f(x, y=0):", Meaning.INHERITED),
        ("def f():", Meaning.MERGE),
    ],
)
def test_signatures_of_what_is_called(tmp_path: Path, signature: str, meaning: Meaning) -> None:
    plugin = {"a.py": "from vllm.a import f\n\ndef g():\n    return f(1)\n"}
    row = means(plugin, {"vllm/a.py": BODY}, {"vllm/a.py": BODY.replace("def f(x):", signature)}, tmp_path)
    assert row.disposition is meaning


def test_an_imported_name_that_is_removed_moved_or_kept_by_a_re_export(tmp_path: Path) -> None:
    plugin = {"a.py": "from vllm.a import f\n"}
    before = {"vllm/a.py": BODY, "vllm/b.py": "b = 1\n"}
    row = means(plugin, before, {"vllm/a.py": "x = 1\n", "vllm/b.py": "b = 1\n"}, tmp_path / "gone")
    assert (row.disposition, row.certainty) == (Meaning.MERGE, Certainty.CERTAIN)
    row = means(plugin, before, {"vllm/a.py": "x = 1\n", "vllm/b.py": f"b = 1\n{BODY}"}, tmp_path / "moved")
    assert row.disposition is Meaning.MERGE
    assert "now in `vllm.b:f`" in row.reason
    kept = {"vllm/a.py": "from vllm.b import f\n", "vllm/b.py": f"b = 1\n{BODY}"}
    row = means(plugin, before, kept, tmp_path / "kept")
    assert row.disposition is Meaning.INHERITED


def test_a_renamed_file(tmp_path: Path) -> None:
    plugin = {"a.py": "from vllm.a import f\n"}
    row = means(plugin, {"vllm/a.py": BODY}, {"vllm/z.py": BODY}, tmp_path)
    assert row.disposition is Meaning.MERGE
    assert "becomes `vllm.z`" in row.reason


def test_requirements(tmp_path: Path) -> None:
    before = {"requirements/common.txt": "transformers == 4.0\n", "requirements/test.txt": "pytest\n"}
    row = means(
        {}, before, {**before, "requirements/common.txt": "transformers == 5.0\n"}, tmp_path / "common"
    )
    assert row.disposition is Meaning.DEPENDENCY
    assert "`transformers` (==4.0 to ==5.0)" in row.reason
    row = means({}, before, {**before, "requirements/test.txt": "pytest >= 9\n"}, tmp_path / "test")
    assert row.disposition is Meaning.OUTSIDE
    row = means(
        {}, before, {**before, "requirements/common.txt": "transformers==4.0  # why\n"}, tmp_path / "comment"
    )
    assert row.disposition is Meaning.OUTSIDE


def test_schemas_of_native_ops(tmp_path: Path) -> None:
    path = "csrc/torch_bindings.cpp"
    old = 'ops.def(\n  "my_op(Tensor! out, Tensor input)"\n  " -> ()");\nops.def("other(Tensor x) -> ()");\n'
    plugin = {"a.py": "import torch\n\ndef g(x):\n    torch.ops._C.my_op(x, x)\n"}
    row = means(
        plugin, {path: old}, {path: old.replace("Tensor input", "Tensor input, bool b")}, tmp_path / "used"
    )
    assert row.disposition is Meaning.DEPENDENCY
    assert "`my_op`" in row.reason
    row = means(plugin, {path: old}, {path: old.replace("Tensor x", "Tensor y")}, tmp_path / "unused")
    assert row.disposition is Meaning.OUTSIDE


def test_a_copied_native_file(tmp_path: Path) -> None:
    old = "".join(f"int value_{n} = {n};\n" for n in range(20))
    row = means(
        {"/csrc/k.cu": old + "// maca\n"},
        {"csrc/k.cu": old},
        {"csrc/k.cu": old.replace("= 3;", "= 4;")},
        tmp_path,
    )
    assert (row.disposition, row.certainty) == (Meaning.MERGE, Certainty.POSSIBLE)


def test_new_architectures(tmp_path: Path) -> None:
    path = "vllm/model_executor/models/registry.py"
    old = '_MODELS = {\n    "AForCausalLM": ("a", "AForCausalLM"),\n}\n'
    new = old.replace("}\n", '    "BForCausalLM": ("b", "BForCausalLM"),\n}\n')
    row = means(
        {},
        {path: old},
        {path: new, "vllm/model_executor/models/b.py": "class BForCausalLM: ...\n"},
        tmp_path / "new",
    )
    assert row.disposition is Meaning.NEW_ARCHITECTURE
    assert "`BForCausalLM`" in row.reason
    register = "def register_model():\n    ModelRegistry.register_model('BForCausalLM', 'vllm_metax.b:B')\n"
    own = {"__init__.py": f"from vllm import ModelRegistry\n\n{register}"}
    row = means(own, {path: old}, {path: new}, tmp_path / "own")
    assert row.disposition is Meaning.MERGE
    assert "registers itself" in row.reason


@pytest.mark.parametrize(
    ("path", "meaning"),
    [
        ("vllm/platforms/rocm.py", Meaning.PLATFORM),
        ("csrc/rocm/k.cu", Meaning.PLATFORM),
        ("vllm/v1/worker/tpu_worker.py", Meaning.PLATFORM),
        ("vllm/v1/kv_offload/cpu/manager.py", Meaning.OUTSIDE),
        ("tests/test_x.py", Meaning.OUTSIDE),
        ("docs/x.md", Meaning.OUTSIDE),
        ("vllm/unused.py", Meaning.OUTSIDE),
        (".github/workflows/x.yml", Meaning.OUTSIDE),
    ],
)
def test_what_the_plugin_does_not_touch(tmp_path: Path, path: str, meaning: Meaning) -> None:
    row = means({"a.py": "x = 1\n"}, {path: "a = 1\n"}, {path: "a = 2\n"}, tmp_path)
    assert row.disposition is meaning
    assert not row.symbols


def test_a_branch_for_another_device_in_copied_code(tmp_path: Path) -> None:
    old = BODY.replace(
        "    third", "    if current_platform.is_rocm():\n        second = hip(second)\n    third"
    )
    new = old.replace("hip(second)", "hip(second, 2)")
    row = means({"a.py": old}, {"vllm/a.py": old}, {"vllm/a.py": new}, tmp_path)
    assert row.disposition is Meaning.PLATFORM


def test_what_is_undone_later(tmp_path: Path) -> None:
    up = Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "vllm/a.py": BODY})
    base = up.head
    up.commit("there", {"vllm/a.py": NEW, "vllm/b.py": "b = 1\n"})
    up.commit("and back, by another way", {"vllm/a.py": BODY})
    rows = audited({"a.py": BODY}, up, base).dispositions
    assert {r.disposition for r in rows} == {Meaning.INHERITED}
    assert "the same in base and target" in rows[0].reason


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    row = means({"a.py": BODY}, {"vllm/a.py": BODY}, {"vllm/a.py": "def f(:\n"}, tmp_path)
    assert (row.disposition, row.certainty) == (Meaning.MERGE, Certainty.POSSIBLE)
    assert "syntax error" in row.reason


def test_merges_and_empty_commits(tmp_path: Path) -> None:
    up = Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "vllm/a.py": BODY, "vllm/b.py": "b = 1\n"})
    base = up.head
    up.git("checkout", "-qb", "side")
    up.commit("side", {"vllm/a.py": NEW})
    up.git("checkout", "-q", "main")
    up.commit("nothing")
    up.git("merge", "-q", "--no-ff", "-m", "join", "side")
    result = audited({"a.py": BODY}, up, base)
    rows = {r.title: r for r in result.dispositions}
    assert rows["side"].disposition is Meaning.MERGE
    assert rows["nothing"].reason == "It changes no file"
    assert rows["join"].merge
    assert "stands in commits of its own" in last(result).reason


def test_a_merge_that_decides_something_itself(tmp_path: Path) -> None:
    up = Upstream.make(tmp_path / "up", {"vllm/__init__.py": "", "vllm/a.py": BODY})
    base = up.head
    up.git("checkout", "-qb", "side")
    up.commit("side", {"vllm/a.py": NEW})
    up.git("checkout", "-q", "main")
    up.commit("main", {"vllm/a.py": BODY.replace("first * 2", "first * 4")})
    up.git("merge", "-q", "-s", "ours", "--no-commit", "side")
    up.commit("join", {"vllm/a.py": BODY.replace("first * 2", "first * 5")})
    row = last(audited({"a.py": BODY}, up, base))
    assert (row.title, row.disposition) == ("join", Meaning.MERGE)


def test_files_that_differ(tmp_path: Path) -> None:
    up = Upstream.make(
        tmp_path / "up",
        {
            "vllm/__init__.py": "",
            "vllm/a.py": BODY,
            "vllm/gone.py": "g = 1\n",
            "vllm/old.py": CLASS,
            "vllm/same.py": "s",
        },
    )
    base = up.head
    up.commit(
        "all",
        {"vllm/a.py": NEW, "vllm/new.py": CLASS, "vllm/fresh.py": "n = 1\n"},
        "vllm/gone.py",
        "vllm/old.py",
    )
    result = audited({"a.py": BODY, "mine/own.py": "def own(): ...\n"}, up, base)
    assert {(f.path, f.state, f.was) for f in result.files} == {
        ("vllm/a.py", "changed", ""),
        ("vllm/fresh.py", "target only", ""),
        ("vllm/gone.py", "removed", ""),
        ("vllm/new.py", "moved", "vllm/old.py"),
        ("vllm_metax/mine/own.py", "local only", ""),
    }
    changed = next(f for f in result.files if f.state == "changed")
    assert changed.plugin == ("vllm_metax/a.py",)
    assert changed.commits == (up.head[:12],)

"""What one file says, also when the file is hostile."""

from __future__ import annotations

import pytest

from tools.code.extract import MAX_BYTES, extract
from tools.code.records import Module, guarded_by, typing_only


def read(source: str) -> Module:
    module, _ = extract(source.encode())
    assert module.error is None
    return module


def test_imports_keep_where_and_under_what_they_stand() -> None:
    module = read(
        """
import a.b
import a.b as c
from .x import y as z
from m import *
if TYPE_CHECKING:
    from t import T
if TYPE_CHECKING or HAS:
    from u import U
try:
    from v import V
except (ImportError, errors.Gone):
    from w import V
def f():
    from lazy import L
"""
    )
    seen = {(i.module, i.name, i.bound, i.level, i.scope) for i in module.imports}
    assert ("a.b", "", "a", 0, "") in seen
    assert ("a.b", ".", "c", 0, "") in seen
    assert ("x", "y", "z", 1, "") in seen
    assert ("m", "*", "*", 0, "") in seen
    assert ("lazy", "L", "L", 0, "f") in seen
    guards = {i.module: i.guard for i in module.imports}
    assert typing_only(guards["t"])
    assert not typing_only(guards["u"])
    assert guarded_by(guards["v"], "ImportError") == "ImportError"
    assert guarded_by(guards["v"], "Gone") == "errors.Gone"
    assert guarded_by(guards["w"], "ImportError") is None


def test_classes_functions_and_what_self_carries() -> None:
    module = read(
        """
class A(Base[int], metaclass=M):
    flag: bool = False
    names = ["x", "y"]
    def __init__(self, config: Config):
        self.config = config
        self.kernel = make.Kernel(1)
        if config:
            self.maybe: int = 1
        self.count += 1
        other.stored = 2
    @property
    def p(self): return self.config.x
    def pair(self): return 1, 2
    def nothing(self):
        return
    def stub(self): raise NotImplementedError
"""
    )
    cls = module.classes[0]
    assert cls.bases == ("Base[int]",)
    assert dict(cls.keywords) == {"metaclass": "M"}
    assert [(a.name, a.annotation, a.items) for a in cls.assigns] == [
        ("flag", "bool", ()),
        ("names", None, ("x", "y")),
    ]
    methods = {f.qualname: f for f in module.functions}
    writes = {w.attr: (w.hint, w.conditional) for w in methods["A.__init__"].self_writes}
    assert writes == {
        "config": ("param:config", False),
        "kernel": ("call:make.Kernel", False),
        "maybe": ("ann:int", True),
        "count": ("", True),
    }
    assert module.attr_stores == ("stored",)
    assert methods["A.pair"].arities == (2,)
    assert methods["A.nothing"].arities == (0,)
    assert methods["A.stub"].raises_not_implemented


def test_module_getattr_serves_its_own_names_and_those_of_its_tables() -> None:
    module = read(
        """
TABLE = {"A": 1, "B": 2}
OTHER = {"C": 3}
def __getattr__(name):
    if name == "D":
        return 4
    if name in TABLE:
        return TABLE[name]
    raise AttributeError(name)
"""
    )
    assert module.getattr_names is not None
    assert {"A", "B", "D"} <= set(module.getattr_names)
    assert "C" not in module.getattr_names
    assert not module.getattr_any


def test_exports_and_dynamic_names() -> None:
    module = read('__all__ = ["a"] + ["b"]\n__all__ += ["c"]\n__all__.extend(["d"])\nglobals()["e"] = 1\n')
    assert module.exports == ("a", "b", "c", "d")
    assert module.dynamic


def test_comments_blank_lines_and_indentation_do_not_change_a_body() -> None:
    one = read("def f(a):\n    x = a\n    return x\n").functions[0]
    two = read("if True:\n    def f(a):\n        # why\n\n        x = a\n        return x\n").functions[0]
    other = read("def f(a):\n    x = a + 1\n    return x\n").functions[0]
    assert one.text_hash == two.text_hash
    assert one.text_hash != other.text_hash


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"def f(:\n", "syntax error"),
        (b"x = '\xff\xfe'\n", "syntax error"),
        (b"x = 1\0\n", "null byte"),
        (b"x" * (MAX_BYTES + 1), "larger than"),
        (b"x = " + b"(" * 5000 + b")" * 5000, ""),
        (b"x = " + b"-" * 100_000 + b"1", ""),
    ],
)
def test_files_that_cannot_be_read_say_why(content: bytes, said: str) -> None:
    module, calls = extract(content)
    assert module.error is not None
    assert said in module.error
    assert not module.functions
    assert not calls.calls


def test_line_ends_and_byte_order_mark_do_not_move_lines() -> None:
    plain, _ = extract(b"import a\ndef f():\n    return 1\n")
    windows, _ = extract(b"\xef\xbb\xbfimport a\r\ndef f():\r\n    return 1\r\n")
    assert windows.functions[0].line == plain.functions[0].line == 2
    assert windows.functions[0].text_hash == plain.functions[0].text_hash


def test_calls_are_counted_by_what_they_supply() -> None:
    _, calls = extract(b"f(1, *a, k=2, **kw)\nsuper().run(1)\nx[0].go()\nkernel[grid](1, n=2)\n")
    seen = {c.callee: (c.nargs, c.star, c.keywords, c.kwstar) for c in calls.calls}
    assert seen["f"] == (1, True, ("k",), True)
    assert seen["super().run"] == (1, False, (), False)
    assert seen["?.go"] == (0, False, (), False)

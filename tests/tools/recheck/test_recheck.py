"""After edits: statuses of earlier findings, and a difference for every symbol."""

from __future__ import annotations

from tests.tools.trees import context, findings, tree
from tools.findings import Finding, Status, Unresolved
from tools.recheck.differences import Account, Difference, differences
from tools.recheck.findings import fates

MODULE = "model_executor/models/m.py"
OWN = "models/m.py"
TARGET = """\
class A:
    def f(self, x):
        y = x + 1
        z = y * 2
        return z


def g(x):
    return x
"""


def rows(own: str, target: str = TARGET) -> dict[str, Difference]:
    return {d.symbol: d for d in differences(context({OWN: own}, {MODULE: target}, {MODULE: target}))}


def test_every_symbol_has_a_row() -> None:
    assert {n: d.account for n, d in rows(TARGET).items()} == dict.fromkeys(("A", "A.f", "g"), Account.SAME)


def test_an_unmarked_difference_is_unaccounted_with_its_line() -> None:
    found = rows(TARGET.replace("z = y * 2", "z = y * 3"))
    assert found["A.f"].account is Account.UNACCOUNTED
    assert found["A.f"].lines == (4,)
    assert found["A"].account is Account.SAME


def test_a_marked_difference_is_accounted_for() -> None:
    marked = TARGET.replace(
        "        z = y * 2\n", "        # NOTE(MetaX): three on MACA\n        z = y * 3\n"
    )
    assert rows(marked)["A.f"].account is Account.MARKED


def test_what_target_lacks_is_the_plugins_own() -> None:
    assert rows(TARGET + "\n\ndef mine():\n    pass\n")["mine"].account is Account.OWN


def test_lines_of_target_that_are_not_there_are_counted() -> None:
    found = rows(TARGET.replace("        z = y * 2\n", ""))
    assert found["A.f"].account is Account.UNACCOUNTED
    assert found["A.f"].missing == 1


PLUGIN = {OWN: "from vllm.x import gone\n", "models/n.py": "from vllm.x import gone\n"}
BASE = {"x.py": "gone = 1\n"}
AFTER = {"x.py": "\n"}


def earlier() -> list[Finding]:
    found = [f for f in findings(PLUGIN, BASE, AFTER, "IMP001") if f.path.endswith(("m.py", "n.py"))]
    assert len(found) == 2
    return found


def statuses(
    present: list[Finding], failed: tuple[str, ...] = (), undecided: tuple[Unresolved, ...] = ()
) -> set[Status]:
    plugin = tree(PLUGIN, "vllm_metax", "plugin")
    now = {f.id: f for f in present}
    return {f.status for f in fates(earlier(), now, failed, undecided, plugin) if f.path.endswith("m.py")}


def test_fixed_present_and_partly() -> None:
    first = [f for f in earlier() if f.path.endswith("m.py")]
    other = [f for f in earlier() if f.path.endswith("n.py")]
    assert statuses([]) == {Status.FIXED}
    assert statuses(first) == {Status.PRESENT}
    assert statuses(other) == {Status.PARTLY_FIXED}


def test_a_failed_or_undecided_check_masks() -> None:
    assert statuses([], failed=("IMP001: ValueError: no",)) == {Status.MASKED}
    row = next(f for f in earlier() if f.path.endswith("m.py"))
    open_question = Unresolved(
        check="IMP001", path=row.path, line=1, symbol=row.symbol, reason="a star import"
    )
    assert statuses([], undecided=(open_question,)) == {Status.MASKED}


def test_a_file_that_cannot_be_read_masks() -> None:
    plugin = tree({OWN: "def (:\n"}, "vllm_metax", "plugin")
    found = fates([f for f in earlier() if f.path.endswith("m.py")], {}, (), (), plugin)
    assert [f.status for f in found] == [Status.MASKED]

"""Unpacking what upstream returns."""

import pytest

from tests.tools.trees import findings

TWO = """
    def select(x) -> tuple[int, int]:
        return pick(x)

    class Manager:
        def get_computed_blocks(self, request):
            return 1, 2
"""
THREE = TWO.replace("tuple[int, int]", "tuple[int, int, int]").replace("return 1, 2", "return 1, 2, 3")


def plugin(line: str) -> dict[str, str]:
    return {
        "use.py": f"""
            from vllm.m import Manager, select

            class Ours(Manager):
                def get_computed_blocks(self, request):
                    a, b = super().get_computed_blocks(request)
                    return a, b

            def use(m: Manager, x):
                {line}
                return x
        """
    }


@pytest.mark.parametrize("line", ["a, b = select(x)", "a, b = m.get_computed_blocks(x)"])
def test_another_number_of_values(line: str) -> None:
    found = findings(plugin(line), {"m.py": TWO}, {"m.py": THREE}, "RET001")
    assert [(f.symbol, f.severity) for f in found if f.symbol == "use"] == [("use", "error")]
    assert [f.symbol for f in found if f.symbol != "use"] == ["Ours.get_computed_blocks"]
    assert all(f.introduced for f in found)


@pytest.mark.parametrize("line", ["a, *b = select(x)", "a = select(x)", "a, b, c = 1, 2, 3"])
def test_what_takes_any_number_is_fine(line: str) -> None:
    found = findings(plugin(line), {"m.py": TWO}, {"m.py": THREE}, "RET001")
    assert [f for f in found if f.symbol == "use"] == []


def test_one_tensor_where_a_pair_was() -> None:
    single = TWO.replace("tuple[int, int]", "int")
    found = findings(plugin("a, b = select(x)"), {"m.py": TWO}, {"m.py": single}, "RET001")
    assert [(f.symbol, f.certainty) for f in found] == [("use", "likely")]

"""LAY003: copies that state an old layout."""

from __future__ import annotations

from tests.tools.trees import findings

OLD, NEW = "(2, num_blocks, size)", "(num_blocks, 2, size)"


def backend(answer: str, name: str = "FastBackend") -> dict[str, str]:
    text = f"class {name}:\n    @staticmethod\n    def get_kv_cache_shape(num_blocks, size):\n        return {answer}\n"
    return {"v1/attention/fast.py": text}


def test_the_copy_keeps_what_the_original_gave_up() -> None:
    (found,) = findings(backend(OLD, "MyFastBackend"), backend(OLD), backend(NEW), "LAY003")
    assert found.silent
    assert found.symbol == "MyFastBackend.get_kv_cache_shape"
    assert NEW in found.message


def test_an_answer_put_together_before() -> None:
    plugin = backend(OLD, "MyFastBackend")
    plugin["v1/attention/fast.py"] = plugin["v1/attention/fast.py"].replace(
        f"return {OLD}", f"shape = {OLD}\n        return shape"
    )
    assert findings(plugin, backend(OLD), backend(NEW), "LAY003")


def test_nothing_when_the_copy_followed_or_differed_before() -> None:
    assert not findings(backend(NEW, "MyFastBackend"), backend(OLD), backend(NEW), "LAY003")
    assert not findings(backend("(size,)", "MyFastBackend"), backend(OLD), backend(NEW), "LAY003")


def test_nothing_when_the_original_stays() -> None:
    assert not findings(backend(OLD, "MyFastBackend"), backend(OLD), backend(OLD), "LAY003")

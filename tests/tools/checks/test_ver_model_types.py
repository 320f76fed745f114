"""Tests of names that upstream widened."""

from tests.tools.trees import findings

BASE = {"spec.py": 'def f(config):\n    return config.model_type == "cat"\n'}
TARGET = {"spec.py": 'def f(config):\n    return config.model_type in ("cat", "cat_ngram")\n'}


def test_every_place_that_tests_one_value() -> None:
    plugin = {f"m{i}.py": 'def use(config):\n    return config.model_type == "cat"\n' for i in range(5)}
    found = findings(plugin, BASE, TARGET, "VER002")
    assert len(found) == 5
    assert len({f.cause for f in found}) == 1
    assert all("5 place(s)" in f.message and '"cat_ngram"' in f.message for f in found)
    assert all(f.silent for f in found)


def test_near_misses() -> None:
    for text in (
        'def use(config):\n    return config.model_type in ("cat", "cat_ngram")\n',
        'def use(config):\n    return config.model_type == "dog"\n',
        'def use(config):\n    return config.name == "cat"\n',
    ):
        assert findings({"m.py": text}, BASE, TARGET, "VER002") == [], text
    plugin = {"m.py": 'def use(config):\n    return config.model_type == "cat"\n'}
    assert findings(plugin, TARGET, TARGET, "VER002") == []

"""Exceptions that got another base."""

from tests.tools.trees import findings

BASE = """
    class ValidationError(ValueError):
        pass

    def check(x):
        raise ValidationError(x)

    def validate(x):
        return check(x)

    def harmless(x):
        return x
"""
TARGET = BASE.replace("(ValueError)", "(RuntimeError)")


def plugin(call: str, caught: str = "ValueError") -> dict[str, str]:
    return {
        "use.py": f"""
            from vllm.errors import ValidationError, harmless, validate

            def use(x):
                try:
                    return {call}(x)
                except {caught}:
                    return None
        """
    }


def test_a_handler_that_catches_no_longer() -> None:
    (finding,) = findings(plugin("validate"), {"errors.py": BASE}, {"errors.py": TARGET}, "EXC001")
    assert "no ValueError any more" in finding.message
    assert "errors.py:6" in finding.message


def test_handlers_that_still_catch() -> None:
    for caught in ("(ValueError, ValidationError)", "Exception", "RuntimeError", "KeyError"):
        found = findings(plugin("validate", caught), {"errors.py": BASE}, {"errors.py": TARGET}, "EXC001")
        assert found == [], caught


def test_calls_that_do_not_raise_it() -> None:
    assert findings(plugin("harmless"), {"errors.py": BASE}, {"errors.py": TARGET}, "EXC001") == []


def test_pytest_raises() -> None:
    own = {
        "checks.py": """
            import pytest
            from vllm.errors import validate

            def test_it():
                with pytest.raises(ValueError):
                    validate(1)
        """
    }
    assert len(findings(own, {"errors.py": BASE}, {"errors.py": TARGET}, "EXC001")) == 1

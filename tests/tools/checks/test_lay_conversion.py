"""LAY002: conversions that are wrong for some shapes or when repeated."""

from __future__ import annotations

from tests.tools.trees import findings


def check(text: str, **more: str) -> list[str]:
    plugin = {"m.py": text, **{f"{name}.py": body for name, body in more.items()}}
    return [f.message for f in findings(plugin, {}, {}, "LAY002")]


def test_bytes_are_read_after_a_transpose() -> None:
    (message,) = check("def f(zp):\n    return zp.transpose(1, 2).contiguous().view(torch.uint8)\n")
    assert "transposed before" in message
    assert check("def f(zp):\n    return zp.t().contiguous().view(torch.int32)\n")


def test_names_for_the_steps_in_between() -> None:
    """With one group (G == 1) the last axis has length one: ``contiguous()`` copies nothing."""
    named = (
        "def f(zp):\n    zp = zp.transpose(1, 2)\n    zp = zp.contiguous()\n    return zp.view(torch.uint8)\n"
    )
    (message,) = check(named)
    assert "transposed before" in message
    assert check("def f(zp):\n    zp = zp.transpose(1, 2).contiguous()\n    return zp.view(torch.uint8)\n")
    bytes_first = (
        "def f(zp):\n    zp = zp.view(torch.uint8)\n    zp = zp.transpose(1, 2).contiguous()\n    return zp\n"
    )
    assert not check(bytes_first)


def test_nothing_in_the_right_order_or_without_another_dtype() -> None:
    assert not check("def f(zp):\n    return zp.view(torch.uint8).transpose(1, 2).contiguous()\n")
    assert not check("def f(zp):\n    return zp.transpose(1, 2).contiguous().view(4, 8)\n")
    assert not check("def f(zp):\n    return zp.transpose(1, 2).contiguous().view(-1)\n")


CONVERT = """
class Method:
    def process(self, layer):
        layer.w = layer.w.transpose(1, 2)
"""
WORKER = "def load(m, l):\n    m.process(l)\n\nclass Worker:\n    def wake_up(self, m, l):\n        {call}\n"


def test_a_transpose_that_runs_again_after_sleep() -> None:
    (message,) = check(CONVERT, worker=WORKER.format(call="m.process(l)"))
    assert "Worker.wake_up" in message


def test_nothing_when_it_runs_once_or_keeps_a_mark() -> None:
    assert not check(CONVERT, worker=WORKER.format(call="pass"))
    marked = CONVERT.replace(
        "layer.w = layer", "if layer.done: return\n        layer.done = True\n        layer.v = layer"
    )
    assert not check(marked, worker=WORKER.format(call="m.process(l)"))

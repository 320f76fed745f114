"""Dispatch chains and the support table, as the renderers arrange them."""

from __future__ import annotations

from agent.report import render
from agent.report.trees import cell_text, ends, in_order, tree, tree_text, unknown
from tests.agent.report.records import HOSTILE, RULES
from tests.agent.report.sample import sample_chain, sample_report, sample_support
from tools.findings import Decision


def test_steps_hang_together_by_their_depth() -> None:
    roots = tree(sample_chain())
    assert [r.step.role for r in roots] == ["entry point", "registration", "config"]
    assert [c.step.name for c in roots[2].children] == ["vllm.linear:Plain", "vllm_metax.m:W4Method"]
    assert roots[2].children[0].children[0].step.where == "outside"


def test_a_tree_in_text_leaves_out_what_upstream_calls() -> None:
    text = tree_text(sample_chain())
    assert "linear:Plain vllm_metax/m.py:7 when isinstance(layer, X) <- falls back to upstream" in text
    assert "mcoplib.gemm" in text
    long = sample_chain().model_copy(update={"steps": sample_chain().steps * 9})
    assert "more in report.html" in tree_text(long)


def test_where_a_chain_ends() -> None:
    assert ends(sample_chain()) == "mcoplib.gemm and torch.ops._C.gemm"
    assert ends(sample_chain(), 1) == "mcoplib.gemm and 1 more"
    assert ends(sample_chain().model_copy(update={"boundaries": ()})).startswith("nothing outside")


def test_cells() -> None:
    row = sample_support()
    assert cell_text(row.cells[0]) == "accepts always [m.py:3]. refuses when `bias | 1` [m.py:3]"
    assert cell_text(row.cells[1]) == "unknown"
    assert unknown(row) == ["symmetry"]


def test_what_is_to_be_done_comes_first() -> None:
    rows = sample_report().inventory
    last = rows[-1].model_copy(update={"decision": Decision.MIGRATE})
    assert in_order([*rows[:-1], last])[0] == last


def test_both_reports_show_them() -> None:
    report = sample_report()
    markdown = render(report, "md", rules=RULES).decode()
    assert "## Dispatch chains" in markdown
    assert "| `w4` | MoE |" in markdown
    html = render(report, "html", rules=RULES).decode()
    assert 'id="chains"' in html
    assert "falls back to upstream" in html
    assert "<b>unknown</b>" in html


def test_hostile_texts_stay_texts() -> None:
    step = sample_chain().steps[3].model_copy(update={"name": HOSTILE, "when": HOSTILE, "note": HOSTILE})
    chain = sample_chain().model_copy(update={"key": HOSTILE, "steps": (step,), "unresolved": (HOSTILE,)})
    report = sample_report().model_copy(update={"chains": (chain,)})
    html = render(report, "html", rules=RULES).decode()
    assert "<img src=x" not in html
    assert html.count("<script") == 1

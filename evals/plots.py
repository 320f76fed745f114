"""Plots of an evaluation, as SVG. Needs matplotlib, which comes with the extra `eval`."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from evals.matching import finds
from evals.metrics import PRODUCT, rows_of
from evals.replay import Outcome

NAMES = ("recall.svg", "time.svg")
_RANK = {"error": 0, "warning": 1, "note": 2}
Points = list[tuple[float, float]]


class CannotPlot(Exception):
    """Nothing to draw with; the text says what to do."""


def write_plots(outcomes: Sequence[Outcome], out: Path) -> None:
    """Recall against the number of findings read, and time by release. Raises CannotPlot."""
    if importlib.util.find_spec("matplotlib") is None:
        raise CannotPlot("matplotlib is not installed; it comes with the extra `eval`")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text stays text, and ids do not depend on the hour: equal results give equal files.
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "metax-upgrade"})
    ran = [o for o in outcomes if o.record is not None]

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot(xlabel="findings read in each review, worst first", ylabel="known defects met")
    for tool in [PRODUCT, *sorted({t for o in ran if o.record for t in o.record.baselines})]:
        curve = recall_curve(ran, tool)
        if len(curve) > 1:
            axes.step(*zip(*curve, strict=True), where="post", label=tool)
    # Longer lists than this are not read; type checkers print up to a thousand rows.
    axes.set(xscale="symlog", xlim=(0, None), ylim=(0, 1))
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend()
    figure.savefig(out / NAMES[0], metadata={"Date": None})

    seconds = seconds_by_release(ran)
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.add_subplot(xlabel="vLLM release that the plugin moves to", ylabel="seconds of a review")
    if seconds:
        axes.boxplot(list(seconds.values()), tick_labels=list(seconds), whis=(0, 100))
        axes.tick_params(axis="x", rotation=45)
    axes.set(ylim=(0, None))
    axes.grid(axis="y", alpha=0.3)
    figure.savefig(out / NAMES[1], metadata={"Date": None})


def recall_curve(outcomes: Sequence[Outcome], tool: str) -> Points:
    """(findings read in each review, share of all defects met by then)."""
    positions: list[int | None] = []
    for outcome in outcomes:
        rows = rows_of(outcome.record, tool) if outcome.record else None
        if rows is None:
            continue
        ordered = sorted(rows, key=lambda r: _RANK[r.severity])
        positions += [
            next((n for n, r in enumerate(ordered, 1) if finds(r, d)), None) for d in outcome.review.defects
        ]
    met = sorted(p for p in positions if p is not None)
    return [(0.0, 0.0)] + [(float(p), n / len(positions)) for n, p in enumerate(met, 1)]


def seconds_by_release(outcomes: Sequence[Outcome]) -> dict[str, list[float]]:
    """Target release -> seconds of each review that moves there, oldest release first."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.record is not None:
            seconds[outcome.review.target.release].append(outcome.record.wall)
    return {
        r: seconds[r] for r in sorted(seconds, key=lambda r: [int(p) for p in r.split(".") if p.isdigit()])
    }

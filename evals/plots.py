"""Plots as SVG, drawn by hand: three small charts are no reason for a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from evals.matching import finds
from evals.metrics import PRODUCT, rows_of
from evals.replay import Outcome

_WIDTH, _HEIGHT, _MARGIN = 640, 400, 56
_COLOURS = ("#1b6ca8", "#c2571a", "#4b8b3b", "#7a4b9a", "#666666")
_RANK = {"error": 0, "warning": 1, "note": 2}
Points = list[tuple[float, float]]


def write_plots(outcomes: Sequence[Outcome], out: Path) -> None:
    """Recall against the number of findings read, and time by case."""
    ran = [o for o in outcomes if o.record is not None]
    tools = [PRODUCT, *sorted({t for o in ran if o.record for t in o.record.baselines})]
    curves = {t: curve for t in tools if len(curve := recall_curve(ran, t)) > 1}
    text = _chart(curves, "findings read in each review, worst first", "share of the known defects met")
    (out / "recall.svg").write_text(text, encoding="utf-8")
    seconds = {
        "review": [
            (float(o.review.case.target.release.split(".")[1]), o.record.wall) for o in ran if o.record
        ]
    }
    text = _chart(seconds, "vLLM 0.x that the plugin moves to", "seconds of a review", lines=False)
    (out / "time.svg").write_text(text, encoding="utf-8")


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


def _chart(series: dict[str, Points], x_title: str, y_title: str, *, lines: bool = True) -> str:
    points = [p for ps in series.values() for p in ps]
    x_max = max((x for x, _ in points), default=1.0) or 1.0
    y_max = 1.0 if lines else (max((y for _, y in points), default=1.0) or 1.0)
    # Releases start far from zero; numbers of findings at zero.
    x_min = 0.0 if lines else min((x for x, _ in points), default=0.0) - 1

    def place(x: float, y: float) -> tuple[float, float]:
        inner_x, inner_y = _WIDTH - 2 * _MARGIN, _HEIGHT - 2 * _MARGIN
        return (
            round(_MARGIN + (x - x_min) / ((x_max - x_min) or 1) * inner_x, 1),
            round(_HEIGHT - _MARGIN - y / y_max * inner_y, 1),
        )

    left, bottom, right, top = _MARGIN, _HEIGHT - _MARGIN, _WIDTH - _MARGIN, _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<path d="M{left},{top}V{bottom}H{right}" fill="none" stroke="#333"/>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(x_title)}</text>',
        f'<text x="{left}" y="{top - 20}">{escape(y_title)}</text>',
    ]
    for step in range(5):
        x, y = x_min + (x_max - x_min) * step / 4, y_max * step / 4
        parts.append(f'<text x="{place(x, 0)[0]}" y="{bottom + 16}" text-anchor="middle">{x:.0f}</text>')
        shown = f"{y:.0%}" if lines else f"{y:.0f}"
        parts.append(f'<text x="{left - 6}" y="{place(x_min, y)[1] + 4}" text-anchor="end">{shown}</text>')
    for number, (name, drawn) in enumerate(series.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        if lines:
            path = "M" + "L".join(f"{x},{y}" for x, y in (place(*p) for p in drawn))
            parts.append(f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        else:
            parts += [
                f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (place(*p) for p in drawn)
            ]
        parts.append(f'<text x="{right - 90}" y="{top + 16 * number}" fill="{colour}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"

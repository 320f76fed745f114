"""Shares with bootstrap confidence intervals."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from tools.findings import Frozen

DRAWS = 1000
SEED = 20
"""Fixed, so that equal results print equal intervals."""


class Share(Frozen):
    """``hits`` of ``of``, with a 95% interval where it can be told."""

    hits: int
    of: int
    low: float | None = None
    high: float | None = None

    @property
    def value(self) -> float | None:
        """None of nothing."""
        return self.hits / self.of if self.of else None

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        text = f"{self.hits}/{self.of} {self.value:.0%}"
        return text if self.low is None else f"{text} [{self.low:.0%}, {self.high:.0%}]"


def pooled(by_case: Mapping[str, Iterable[bool]]) -> Share:
    """All trials together; the interval draws whole cases, because trials of one upgrade resemble each other.

    With a single case its trials are drawn instead.
    """
    counts = [(sum(trials), len(trials)) for trials in map(list, by_case.values()) if trials]
    hits, of = sum(h for h, _ in counts), sum(n for _, n in counts)
    if len(counts) == 1:
        counts = [(1, 1)] * hits + [(0, 1)] * (of - hits)
    if len(counts) < 2:
        return Share(hits=hits, of=of)
    source = random.Random(SEED)
    drawn = []
    for _ in range(DRAWS):
        sample = source.choices(counts, k=len(counts))
        drawn.append(sum(h for h, _ in sample) / sum(n for _, n in sample))
    drawn.sort()
    return Share(hits=hits, of=of, low=drawn[int(DRAWS * 0.025)], high=drawn[int(DRAWS * 0.975) - 1])

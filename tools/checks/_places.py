"""When a line of the plugin runs, and what raising there costs: texts that several checks share."""

from __future__ import annotations

from dataclasses import dataclass

from tools.checks.base import Context
from tools.registry.startup import startup_of


@dataclass(frozen=True, slots=True)
class Reach:
    """When a line runs. ``consequence`` continues the sentence that says what is raised."""

    trigger: str
    consequence: str
    lost: tuple[str, ...] = ()


def reach_of(context: Context, module: str, line: int, scope: str) -> Reach:
    """What raising at ``line`` of ``module`` means for a user."""
    startup = startup_of(context)
    radius = startup.blast_radius(module, line)
    if radius.raises_at_startup:
        lost = tuple(f"{r.kind} {r.key}" for r in radius.lost)
        text = f" during start-up (`{radius.stops}`)"
        if lost:
            text += f"; {len(lost)} registrations never happen"
        return Reach("every start of vLLM with the plugin", text, lost)
    if scope:
        return Reach(f"calling `{scope}`", " when it is called")
    return Reach(f"the first import of `{module}`", " when the module is imported")

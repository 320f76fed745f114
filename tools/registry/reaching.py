"""How the start of a process comes to a line of the plugin, in the words of the inventory."""

from __future__ import annotations

from typing import NamedTuple

from tools.findings import Activation, Place
from tools.registry.outcomes import How
from tools.registry.startup import startup_of
from tools.registry.subject import Subject
from tools.registry.trace import Step


class Reaching(NamedTuple):
    """How the start comes to a line, in the words of an inventory row."""

    status: Activation
    condition: str
    chain: tuple[Place, ...]
    text: str
    lazily: bool = False
    """No start comes to it, but something may import the file later."""


def reaching(subject: Subject, module: str, line: int) -> Reaching:
    """How a start of the plugin comes to ``line`` of ``module``, and what is in its way."""
    startup = startup_of(subject)
    reached = startup.reached(module, line)
    plugin = subject.plugin
    chain = tuple(
        Place(path=plugin.paths[s.module] if s.module else "", line=s.line, what=s.what)
        for s in reached.chain
    )
    if reached.how is How.NEVER:
        return Reaching(Activation.INACTIVE, "", (), "never: nothing imports the module")
    guard = f" ({reached.guard})" if reached.guard else ""
    text = f"{reached.how.value}{guard}: {chain_text(subject, reached.chain)}"
    condition = reached.guard
    status = Activation.CONDITIONAL if condition else Activation.ACTIVE
    if reached.how is How.HOOK:
        status = Activation.CONDITIONAL
        condition = "; ".join(filter(None, (reached.chain[0].what if reached.chain else "", condition)))
    elif reached.how is How.LAZY:
        status = Activation.CONDITIONAL
        last = reached.chain[-1].what if reached.chain else ""
        condition = f"only once something imports {module}" + (f" ({last})" if last else "")
    elif startup.statement(startup.actual, module, line) is None:
        died = startup.actual.died
        fault = died.fault if died is not None else None
        where = f" at {plugin.paths[fault.module]}:{fault.line}" if fault is not None else ""
        reason = f"{fault.exception}: {fault.reason}{where}" if fault is not None else "an error before it"
        return Reaching(Activation.LOST, f"the start ends with {reason}", chain, text)
    return Reaching(status, condition, chain, text, lazily=reached.how is How.LAZY)


def chain_text(subject: Subject, chain: tuple[Step, ...]) -> str:
    """An activation chain on one line."""
    parts = []
    for step in chain:
        place = f"{subject.plugin.paths[step.module]}:{step.line} " if step.module else ""
        parts.append(f"{place}{step.what}")
    return " > ".join(parts)

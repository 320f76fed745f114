"""Runs the checks on the plugin with everything applied that is offered, and takes the word 'checked' where due.

A proposal is checked together with the others: a method and its callers change in one upgrade. A new finding is laid at
the door of the proposals of its symbol, else of its class, else of its file, and these become doubtful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tools.checks.base import Context, all_checks
from tools.checks.engine import run_all, type_checker
from tools.code.cache import CodeCache
from tools.code.tree import Tree
from tools.findings import Finding, Severity
from tools.merge.text import applied, read_source
from tools.proposals.states import OFFERED, Proposal, State
from tools.sources.overlay import Overlay

_ROUNDS = 3
"""Trials: what is held back may have hidden something."""


def edited(context: Context, proposals: Sequence[Proposal]) -> dict[str, bytes]:
    """Path -> content with the edits of ``proposals``."""
    by_path: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        if proposal.edits:
            by_path.setdefault(proposal.path, []).append(proposal)
    out = {}
    for path, items in sorted(by_path.items()):
        source = read_source(context.plugin.snapshot.read(path))
        assert source is not None
        out[path] = applied(source, [edit for item in items for edit in item.edits])
    return out


def overlaid(context: Context, edits: dict[str, bytes]) -> Context:
    """The same review of the plugin with ``edits``; only the edited files are read again."""
    before = context.before
    assert before is not None
    cache = CodeCache(context.cache)
    try:
        plugin = Tree(Overlay(context.plugin.snapshot, edits), context.plugin.package, "plugin", cache)
    finally:
        cache.close()
    profile, versions = context.profile, context.versions
    base = Context(plugin, before.upstream, profile, versions=versions, cache=context.cache)
    return Context(plugin, context.upstream, profile, before=base, versions=versions, cache=context.cache)


def findings_of(context: Context) -> tuple[Finding, ...]:
    """What every check says."""
    with type_checker(context):
        return run_all(all_checks(), context).findings


def verified(context: Context, proposals: Sequence[Proposal], known: frozenset[str]) -> list[Proposal]:
    """``proposals`` with those demoted whose edits raise a finding that is not among ``known`` (ids).

    What raises a new error in its own symbol is held back from the patch, and the rest is tried again.
    """
    out = _readable(context, _unmixed(list(proposals)))
    for _ in range(_ROUNDS):
        at_work = [n for n, p in enumerate(out) if p.offered]
        if not at_work:
            break
        edits = edited(context, [out[n] for n in at_work])
        fresh = [f for f in findings_of(overlaid(context, edits)) if f.id not in known]
        held = False
        for finding in fresh:
            exact, blamed = _blamed(finding, out, at_work)
            reason = f"raises {finding.check}: {finding.message}"
            hold = exact and finding.severity is Severity.ERROR
            held |= hold
            for n in blamed:
                reasons = tuple(dict.fromkeys((*out[n].reasons, reason)))
                out[n] = replace(out[n], state=State.DOUBTFUL, reasons=reasons, held=out[n].held or hold)
        if not held:
            break
    return out


def _readable(context: Context, proposals: list[Proposal]) -> list[Proposal]:
    """Edits that spoil their file, each tried alone, are no proposals."""
    edits = edited(context, [p for p in proposals if p.offered])
    spoiled = {path for path, content in edits.items() if read_source(content) is None}
    out = []
    for proposal in proposals:
        if proposal.offered and proposal.path in spoiled:
            alone = edited(context, [proposal])[proposal.path]
            if read_source(alone) is None:
                reasons = (*proposal.reasons, "the file would no longer parse")
                proposal = replace(proposal, state=State.CONFLICT, reasons=reasons, edits=())
        out.append(proposal)
    return out


def _blamed(
    finding: Finding, proposals: Sequence[Proposal], at_work: Sequence[int]
) -> tuple[bool, list[int]]:
    """Whether it is the proposal's own symbol, and which proposals."""
    here = [n for n in at_work if proposals[n].path == finding.path]
    owner = finding.symbol.rpartition(".")[0] or finding.symbol
    exact = [n for n in here if finding.symbol == proposals[n].symbol]
    near = [n for n in here if owner and (proposals[n].symbol + ".").startswith(f"{owner}.")]
    return bool(exact), exact or near or here


def _unmixed(proposals: list[Proposal]) -> list[Proposal]:
    """Edits of one file must not overlap: of two that do, the later is doubtful and offered alone."""
    seen: dict[str, list[tuple[int, int, tuple[str, ...]]]] = {}
    out = []
    for proposal in proposals:
        taken = seen.setdefault(proposal.path, [])
        if proposal.state not in OFFERED:
            out.append(proposal)
            continue
        mine = [(e.start, e.end, e.lines) for e in proposal.edits]
        if any(a != b and a[0] < b[1] and b[0] < a[1] for a in mine for b in taken):
            reason = "its lines overlap with another proposal's"
            proposal = replace(proposal, state=State.CONFLICT, reasons=(*proposal.reasons, reason), edits=())
        else:
            taken += mine
        out.append(proposal)
    return out

"""The merges of one review: rows of the report, the evidence they cite, and the patches."""

from __future__ import annotations

from collections.abc import Sequence

from tools.checks.base import Context
from tools.findings import Evidence, Frozen, MergeRow
from tools.merge.ancestors import History
from tools.merge.text import Source, read_source
from tools.proposals.patch import file_diff
from tools.proposals.propose import propose
from tools.proposals.states import Proposal, State
from tools.proposals.verify import edited, findings_of, verified


class MergeResult(Frozen):
    """``patch`` holds everything that is offered; each row's ``diff`` is a patch of its own where it has edits."""

    rows: tuple[MergeRow, ...]
    evidence: tuple[Evidence, ...]
    patch: str


def merges(
    context: Context, history: History | None = None, known: frozenset[str] | None = None
) -> MergeResult:
    """Propose, verify and write down. ``known`` holds the ids of findings there are anyway; None works them out."""
    proposals = propose(context, history)
    if any(p.state is State.CHECKED and p.edits for p in proposals):
        if known is None:
            known = frozenset(f.id for f in findings_of(context))
        proposals = verified(context, proposals, known)
    return written(context, proposals)


def written(context: Context, proposals: Sequence[Proposal]) -> MergeResult:
    """Rows, evidence and patch of ``proposals``."""
    cited: dict[str, Evidence] = {}
    rows = []
    for proposal in proposals:
        ids = _cite(context, proposal)
        cited |= (
            {i: (context.evidence.get(i) or context.before.evidence[i]) for i in ids}
            if context.before
            else {}
        )
        target = proposal.row.target or proposal.row.base
        rows.append(
            MergeRow(
                path=proposal.path,
                symbol=proposal.symbol,
                counterpart=target.id if target is not None else "",
                state=str(proposal.state),
                diff=shown(context, proposal),
                evidence=ids,
                reasons=(*proposal.reasons, *(("not in report.patch",) if proposal.held else ())),
            )
        )
    return MergeResult(
        rows=tuple(rows),
        evidence=tuple(cited[i] for i in sorted(cited)),
        patch=patch_of(context, [p for p in proposals if p.offered]),
    )


def shown(context: Context, proposal: Proposal) -> str:
    """A patch that git applies; for a conflict both sides; for the rest upstream's own change."""
    if proposal.clashes:
        return "\n".join(
            f"<<<<<<< plugin\n{c.own}\n||||||| base\n{c.base}\n=======\n{c.target}\n>>>>>>> target"
            for c in proposal.clashes
        )
    if proposal.edits:
        return patch_of(context, [proposal])
    return proposal.shown


def patch_of(context: Context, proposals: Sequence[Proposal]) -> str:
    """One patch for ``proposals``, files in order, each hunk with the symbols it belongs to."""
    out = []
    for path, new in edited(context, proposals).items():
        old = context.plugin.snapshot.read(path)
        source = read_source(old)
        assert source is not None
        out.append(file_diff(path, old, new, _headings(source, [p for p in proposals if p.path == path])))
    return b"".join(out).decode("utf-8")


def _headings(source: Source, proposals: Sequence[Proposal]) -> list[tuple[int, int, str]]:
    return [(*source.spans[p.symbol], p.symbol) for p in proposals if p.symbol in source.spans]


def _cite(context: Context, proposal: Proposal) -> tuple[str, ...]:
    assert context.before is not None
    row = proposal.row
    sides = ((context, row.symbol), (context.before, row.base), (context, row.target))
    found = [where.cite_definition(symbol) for where, symbol in sides if symbol is not None]
    return tuple(dict.fromkeys(i for i in found if i is not None))

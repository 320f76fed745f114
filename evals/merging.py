"""How often a merge gives what the maintainers wrote: the product's, a line merge per symbol, a line merge per file.

Counted are copied functions that both sides changed: the plugin's differs before and after the upgrade, and its
counterpart differs between base and target; docstrings and comments do not count.

``python -m evals.merging RECORD…`` prints the table of the records of reviews.
"""

from __future__ import annotations

import ast
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from evals.records import MergedSymbol, ReviewRecord
from evals.symbols import _dump, _files, _moved
from tools.checks.base import Context
from tools.checks.drf_common import counterparts_of
from tools.compare.counterparts import Counterpart
from tools.merge.ancestors import History
from tools.merge.text import Source, read_source, unix
from tools.proposals.propose import Proposer
from tools.proposals.states import Proposal, State
from tools.proposals.verify import verified
from tools.sources.gitcmd import GitFailed, git
from tools.sources.snapshot import Snapshot

VERDICTS = Path(__file__).parent / "merge_verdicts.json"


def merged_symbols(
    context: Context, settled: Snapshot, known: frozenset[str], history: History | None
) -> Iterator[MergedSymbol]:
    """One row for each symbol that counts, in the order of the plugin."""
    assert context.before is not None
    counterparts = counterparts_of(context)
    assert counterparts is not None
    proposer = Proposer(context, history)
    proposals = {(p.path, p.symbol): p for p in verified(context, list(proposer.all()), known)}
    after = _Settled(context.plugin.snapshot, settled, context.profile.plugin_package)
    files = _FileMerges(context, counterparts.upstream_modules)
    for row in counterparts.rows:
        path = context.plugin.paths[row.symbol.module]
        if row.base is None or row.target is None:
            continue
        texts = [
            _function(proposer.source(tree, symbol.module), symbol.qualname)
            for tree, symbol in (
                (context.plugin, row.symbol),
                (context.before.upstream, row.base),
                (context.upstream, row.target),
            )
        ]
        wanted = _function(after.source(path), row.symbol.qualname)
        if wanted is None or None in texts:
            continue
        own, base, target = (text for text in texts if text is not None)
        if digest(own) == digest(wanted) or digest(base) == digest(target):
            continue
        proposal = proposals.get((path, row.symbol.qualname))
        yield MergedSymbol(
            path=path,
            symbol=row.symbol.qualname,
            state=str(proposal.state) if proposal is not None else "",
            product=_product(proposal, wanted),
            lines=_ended(merge_file(own, base, target), wanted),
            file=files.outcome(row, path, wanted),
        )


def _product(proposal: Proposal | None, wanted: str) -> str:
    if proposal is None:
        return "nothing"
    if proposal.state is State.CONFLICT:
        return "conflict"
    if not proposal.edits:
        return "nothing"
    return _ended(proposal.text, wanted)


def _ended(text: str | None, wanted: str) -> str:
    if text is None:
        return "conflict"
    try:
        return "exact" if digest(text) == digest(wanted) else "differs"
    except SyntaxError:
        return "differs"


def digest(text: str) -> str:
    """Syntax of a definition without docstrings and comments. Raises SyntaxError."""
    # Written out again first: the same code in other quotes or parentheses is the same.
    inner = ast.parse(f"if 1:\n{text}" if text[:1].isspace() else text).body[0]
    node = inner.body[0] if isinstance(inner, ast.If) else inner
    return _dump(ast.parse(ast.unparse(node)).body[0])


def _function(source: Source | None, name: str) -> str | None:
    if source is None or name not in source.spans or isinstance(source.nodes[name], ast.ClassDef):
        return None
    return source.text(name)


class _Settled:
    """Files of the settled state, found where they went."""

    def __init__(self, before: Snapshot, after: Snapshot, package: str) -> None:
        was, self._now = _files(before, package), _files(after, package)
        self._gone_to = _moved(before, after, was, self._now)
        self._after = after
        self._sources: dict[str, Source | None] = {}

    def source(self, path: str) -> Source | None:
        there = path if path in self._now else self._gone_to.get(path)
        if there is None:
            return None
        if there not in self._sources:
            self._sources[there] = read_source(self._after.read(there))
        return self._sources[there]


class _FileMerges:
    """Whole files merged with the counterpart of the same path, each once."""

    def __init__(self, context: Context, upstream_modules: object) -> None:
        self._context, self._upstream_modules = context, upstream_modules
        self._merged: dict[str, Source | str | None] = {}

    def outcome(self, row: Counterpart, path: str, wanted: str) -> str:
        if path not in self._merged:
            self._merged[path] = self._merge(row.symbol.module, path)
        merged = self._merged[path]
        if merged is None or isinstance(merged, str):
            return merged or "nothing"
        text = _function(merged, row.symbol.qualname)
        return "differs" if text is None else _ended(text, wanted)

    def _merge(self, module: str, path: str) -> Source | str | None:
        assert self._context.before is not None
        base, target = self._context.before.upstream, self._context.upstream
        for upstream in self._upstream_modules(module):  # type: ignore[operator]
            if upstream in base.paths and upstream in target.paths:
                texts = [
                    unix(t.snapshot.read(p).decode("utf-8", "replace"))
                    for t, p in (
                        (self._context.plugin, path),
                        (base, base.paths[upstream]),
                        (target, target.paths[upstream]),
                    )
                ]
                merged = merge_file(*texts)
                return "conflict" if merged is None else read_source(merged.encode("utf-8"))
        return None


def merge_file(own: str, base: str, target: str) -> str | None:
    """``git merge-file``; None when there are conflicts."""
    with tempfile.TemporaryDirectory() as folder:
        names = ("own", "base", "target")
        for name, text in zip(names, (own, base, target), strict=True):
            (Path(folder) / name).write_text(text, encoding="utf-8")
        try:
            return git(Path(folder), "merge-file", "-p", "--diff3", *names).decode("utf-8")
        except GitFailed:
            return None


def table(cases: Iterable[tuple[str, Sequence[MergedSymbol]]]) -> list[str]:
    """Rows of Markdown: one case each, and all of them pooled."""
    head = "| case | symbols | exact | clean, differs | conflict | nothing | checked | of these differ | lines | file |"
    out = [head, "|---|" + "---:|" * 9]
    pooled: list[MergedSymbol] = []
    for name, rows in cases:
        pooled += rows
        out.append(_row(name, rows))
    return [*out, _row("all", pooled)]


def _row(name: str, rows: Sequence[MergedSymbol]) -> str:
    ways = Counter(r.product for r in rows)
    checked = [r for r in rows if r.state == State.CHECKED]
    cells = [
        name,
        len(rows),
        f"{ways['exact']} ({ways['exact'] / len(rows):.0%})" if rows else 0,
        ways["differs"],
        ways["conflict"],
        ways["nothing"],
        len(checked),
        sum(r.product == "differs" for r in checked),
        sum(r.lines == "exact" for r in rows),
        sum(r.file == "exact" for r in rows),
    ]
    return "| " + " | ".join(str(c) for c in cells) + " |"


def merge_tables(measured: Sequence[tuple[str, Sequence[MergedSymbol]]]) -> list[str]:
    """The table, and below it every checked merge that differs with the judgement on it."""
    judged = {tuple(key): verdict for *key, verdict in _verdicts()}
    out = [
        "# Merges beside what the maintainers wrote",
        "",
        "Copied functions that both sides changed; equal as syntax, docstrings and comments apart.",
        "`lines`: exact by a line merge of the symbol; `file`: by one of the whole file.",
        "",
        *table(measured),
        "",
        "Checked merges that differ:",
        "",
    ]
    for case, rows in measured:
        for row in rows:
            if row.state == State.CHECKED and row.product != "exact":
                verdict = judged.get((case, row.path, row.symbol), "not judged")
                out.append(f"- {case}: `{row.path}` `{row.symbol}`: {verdict}")
    return out


def _verdicts() -> list[list[str]]:
    """(case, path, symbol, judgement) of checked merges that were read."""
    rows: list[list[str]] = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return rows


def main() -> None:
    """Print the table of the records named on the command line, and each checked merge that differs."""
    records = [
        (Path(name).stem, ReviewRecord.model_validate_json(Path(name).read_bytes())) for name in sys.argv[1:]
    ]
    measured = [(name, record.merging) for name, record in records if record.merging]
    print("\n".join(merge_tables(measured)))


if __name__ == "__main__":
    main()

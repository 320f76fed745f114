"""report.md: for a person, and for the text of a pull request on GitHub."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import PurePosixPath

from jinja2 import Environment, PackageLoader, StrictUndefined

from agent.report.budget import Form, Plan, fit, size
from agent.report.markdown_text import (
    Safe,
    cell,
    cell_code,
    code,
    fenced,
    in_html,
    markdown_value,
    prose,
)
from agent.report.rules import RuleInfo
from agent.report.text import clip, counted, joined, visible
from agent.report.trees import cell_text, ends, fallbacks, in_order, short_name, tree_text, unknown
from agent.report.view import (
    Cause,
    View,
    by_cause,
    counts_in_words,
    identity_name,
    identity_rows,
    identity_state,
    place,
    place_of,
)
from tools.findings import Chain, Evidence, Finding, Report

LIMIT = 60_000
"""Bytes of the whole: GitHub refuses a pull request text beyond 65,536 characters, and people add to it."""
_LIMITS = {
    "blocked": 3_000,
    "silent": 4_500,
    "causes": 10_000,
    "discrepancies": 3_000,
    "environment": 2_500,
    "unresolved": 3_500,
    "inventory": 5_000,
    "chains": 8_000,
    "support": 4_000,
    "commits": 9_000,
    "files": 2_500,
    "merges": 2_500,
    "unchanged": 2_000,
    "skipped": 1_500,
}
_TREES = 2
"""Chains that are shown as trees; of the others a line says where they end."""
_LANGUAGES = {
    ".py": "python",
    ".pyi": "python",
    ".toml": "toml",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
}


def render(report: Report, rules: Mapping[str, RuleInfo]) -> bytes:
    """The report as Markdown, at most ``LIMIT`` bytes."""
    view = View(report, rules)
    folded = {name: _Folded(*fit(blocks, _LIMITS[name])) for name, blocks in _lists(view).items()}
    shared = {"view": view, "report": report, "identities": identity_rows(report), "lists": folded}
    template = _environment().get_template("report.md.j2")
    frame = template.render(shared, sections=[])
    blocks = _Blocks(view)
    causes = [(title, by_cause(findings)) for title, findings in view.parts]
    # The notices of what is left out come on top, so some room is kept for them.
    plan = Plan(
        [cause for _, part in causes for cause in part], LIMIT - size(frame) - 1_500, blocks, _heading
    )
    sections = [_Section(title, part, plan, blocks) for title, part in causes]
    return template.render(shared, sections=sections).encode("utf-8", "backslashreplace")


class _Folded:
    """Rows that were kept, and the number of those that were not."""

    def __init__(self, rows: list[str], left_out: int) -> None:
        self.rows = [Safe(row) for row in rows]
        self.left_out = left_out

    @property
    def total(self) -> int:
        return len(self.rows) + self.left_out


class _Blocks:
    """Findings as Markdown, each form rendered once."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._rendered: dict[tuple[str, Form], str] = {}

    def __call__(self, finding: Finding, form: Form) -> str:
        key = (finding.id, form)
        if key not in self._rendered:
            template = _environment().get_template("finding.md.j2")
            self._rendered[key] = template.render(view=self._view, f=finding, form=form.name)
        return self._rendered[key]


class _Section:
    """Findings of one part, by cause, in the forms that there is room for."""

    def __init__(self, title: str, causes: Sequence[Cause], plan: Plan, blocks: _Blocks) -> None:
        self.title = title
        forms = [plan.forms.get(finding.id, Form.NOTHING) for cause in causes for finding in cause.findings]
        self.total = len(forms)
        self.left_out = forms.count(Form.NOTHING)
        self.short = forms.count(Form.ROW)
        self.without_evidence = forms.count(Form.BRIEF)
        parts: list[str] = []
        for cause in causes:
            shown = [finding for finding in cause.findings if finding.id in plan.forms]
            if shown:
                parts.append(_heading(cause))
                parts += [blocks(finding, plan.forms[finding.id]) for finding in shown]
        self.text = Safe("\n".join(parts).strip())


def _heading(cause: Cause) -> str:
    return f"\n### {prose(clip(cause.title, 160))}\n\n{counts_in_words(cause.findings)}\n"


def _lists(view: View) -> dict[str, Iterable[str]]:
    """The rows of every list that is cut to size, rendered one by one."""
    report = view.report
    return {
        "blocked": [
            f"- **{prose(clip(i.what, 200))}**: {prose(clip(i.why, 400))}. {prose(clip(i.remedy, 400))}"
            for i in report.blocked
        ],
        "silent": [_silent_row(finding) for finding in view.silent],
        "causes": [_cause_row(cause) for cause in by_cause(view.findings)],
        "discrepancies": [
            f"- **{row.severity.value}** {prose(clip(row.about, 60))}: {prose(clip(row.what, 400))} "
            f"{prose(clip(row.means, 300))} *Do:* {prose(clip(row.remedy, 300))}"
            for row in report.discrepancies
        ],
        "environment": [
            _row(cell(clip(name, 60)), cell(clip(value, 300)))
            for name, value in view.environment_facts.items()
        ],
        "unresolved": [
            f"- `{check}`: {code(place(row.path, row.line))} "
            f"{code(row.symbol)} {prose(clip(row.reason, 160))}"
            for check, rows in view.unresolved_by_check
            for row in rows
        ],
        "inventory": [
            _row(
                cell(row.kind),
                cell_code(row.key),
                cell_code(place(row.path, row.line)),
                cell(clip(f"{row.status.value}: {row.condition}" if row.condition else row.status.value, 60)),
                cell_code(clip(row.counterpart, 80)),
                cell(clip(row.effective, 80)),
                cell(clip(row.difference, 80)),
                cell(clip(f"{row.decision.value}: {row.reason}" if row.reason else row.decision.value, 80)),
            )
            for row in in_order(report.inventory)
        ],
        "chains": [_chain(chain, whole=n < _TREES) for n, chain in enumerate(report.chains)],
        "support": [
            _row(
                cell_code(row.key),
                cell(row.part),
                cell_code(clip(short_name(row.symbol), 60)),
                cell(
                    clip("; ".join(f"{c.dimension}: {cell_text(c, 60)}" for c in row.cells if c.known), 500)
                    or "nothing known"
                ),
                cell(joined(unknown(row))),
            )
            for row in report.support
        ],
        "commits": [
            _row(
                cell_code(f"{row.commit[:10]} {row.number}".rstrip()),
                cell(clip(row.title, 70)),
                cell(meaning.value),
                cell(clip(row.reason, 170)),
                cell(", ".join(row.findings[:3])),
            )
            for meaning, rows in view.commits_by_meaning
            for row in rows
        ],
        "files": [
            _row(
                cell(state),
                cell_code(f"{row.was} → {row.path}" if row.was else row.path),
                cell(clip(", ".join(row.plugin), 120)),
                str(len(row.commits)),
            )
            for state, rows in view.files_by_state
            for row in rows
        ],
        "merges": [
            _row(
                cell_code(row.path),
                cell_code(row.symbol),
                cell_code(row.counterpart),
                cell(row.state),
                cell(clip("; ".join(row.reasons), 160)),
            )
            for row in report.merges
        ],
        "unchanged": [f"- {code(name)}" for name in report.coverage.unchanged],
        "skipped": [f"- {prose(name)}" for name in report.coverage.skipped],
    }


def _chain(chain: Chain, *, whole: bool) -> str:
    back = fallbacks(chain)
    head = f"**{prose(chain.kind)}** {code(chain.key)} ends in {prose(clip(ends(chain, 3), 160))}"
    if back:
        head += f"; {counted(len(back), 'place')} where it falls back to upstream"
    if not whole:
        return f"- {head}"
    body = fenced(tree_text(chain), "text", max_lines=30, max_width=200)
    return f"{head}\n\n{body}\n"


def _silent_row(finding: Finding) -> str:
    when = "introduced" if finding.introduced else "there before"
    where = code(place(finding.path, finding.line))
    return (
        f"- **{finding.severity.value}** ({when}) {where} {prose(clip(finding.message, 200))} "
        f"*Then:* {prose(clip(finding.consequence, 200))}"
    )


def _cause_row(cause: Cause) -> str:
    paths = [str(cell_code(path)) for path in cause.paths[:2]]
    if len(cause.paths) > 2:
        paths.append(f"{len(cause.paths) - 2} more")
    change = cell(clip(cause.title, 140))
    adaptation = f"**{joined(cause.decisions)}**"
    if cause.suggestions:
        adaptation += f": {cell(clip(cause.suggestions[0], 140))}"
    if len(cause.suggestions) > 1:
        adaptation += f" ({counted(len(cause.suggestions) - 1, 'more suggestion')} below)"
    return _row(change, "<br>".join(paths), adaptation, cell(joined(cause.levels)))


def _row(*cells: str) -> str:
    return f"| {' | '.join(item or ' ' for item in cells)} |"


def _excerpt(item: Evidence) -> Safe:
    suffix = PurePosixPath(item.path or "").suffix if item.kind == "source" else ""
    return fenced(item.excerpt, _LANGUAGES.get(suffix, "text"), max_lines=20, max_width=160)


def _evidence_title(items: Sequence[Evidence]) -> str:
    return joined([f"{item.source} `{visible(place_of(item) or item.kind)}`" for item in items])


@cache
def _environment() -> Environment:
    """Every expression is escaped on its way out unless it is Safe, so a template cannot forget to."""
    environment = Environment(
        loader=PackageLoader("agent.report"),
        finalize=markdown_value,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "code": code,
        "cell": cell,
        "cell_code": cell_code,
        "in_html": in_html,
        "clip": clip,
        "counted": counted,
        "safe_md": Safe,
    }
    environment.globals |= {
        "counts_in_words": counts_in_words,
        "evidence_title": _evidence_title,
        "excerpt": _excerpt,
        "identity_name": identity_name,
        "identity_state": identity_state,
        "joined": joined,
        "place": place,
        "place_of": place_of,
    }
    return environment

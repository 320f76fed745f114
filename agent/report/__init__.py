"""Four renderings of one Report: for pull requests, programs, code scanning and people.

The same report gives the same bytes, timings apart; ``timings=False`` leaves those out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from agent.report.files import ReportWriteError, make_folder, write_atomically
from agent.report.rules import RuleInfo
from tools.findings import Report

FORMATS = ("md", "json", "sarif", "html")
"""What ``write_reports`` can write, as file name endings."""

__all__ = ["FORMATS", "ReportWriteError", "RuleInfo", "render", "write_reports"]

Renderer = Callable[[Report, Mapping[str, RuleInfo]], bytes]


def write_reports(
    report: Report,
    out: Path,
    formats: Iterable[str] = FORMATS,
    *,
    rules: Mapping[str, RuleInfo] | None = None,
    timings: bool = True,
) -> list[Path]:
    """Write ``report.<format>`` into ``out`` for each of ``formats`` and say where they lie.

    ``rules`` describes the checks by id. Everything is rendered before anything is written; each file is
    replaced in one step. Raises ReportWriteError when one cannot be written, ValueError for a format that
    does not exist.
    """
    rendered = [
        (f"report.{name}", render(report, name, rules=rules, timings=timings))
        for name in dict.fromkeys(formats)
    ]
    make_folder(out)
    paths = []
    for name, content in rendered:
        path = out / name
        write_atomically(path, content)
        paths.append(path)
    return paths


def render(
    report: Report, name: str, *, rules: Mapping[str, RuleInfo] | None = None, timings: bool = True
) -> bytes:
    """The bytes of one format."""
    if name not in FORMATS:
        raise ValueError(f"no report format {name!r}; there are {', '.join(FORMATS)}")
    if not timings:
        report = report.model_copy(update={"timings": {}})
    return _renderer(name)(report, rules or {})


def _renderer(name: str) -> Renderer:
    """The renderer of a format, imported when asked for: each brings a library of its own."""
    if name == "json":
        from agent.report import as_json

        return lambda report, _rules: as_json.render(report)
    if name == "sarif":
        from agent.report import as_sarif

        return as_sarif.render
    if name == "html":
        from agent.report import as_html

        return as_html.render
    from agent.report import as_markdown

    return as_markdown.render

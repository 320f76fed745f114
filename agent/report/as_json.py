"""report.json: the whole report for programs, in the form that docs/report.schema.json describes."""

from __future__ import annotations

import json

from tools.findings import Report, report_schema


def render(report: Report) -> bytes:
    """The report as given, indented, readable and reproducible.

    Bytes of a path that are not UTF-8 reach us as lone surrogates, which UTF-8 cannot hold; the error
    handler writes them as ``\\udcXX``, which is what JSON itself calls them, so nothing is lost.
    """
    text = json.dumps(report.model_dump(mode="json"), indent=2, ensure_ascii=False)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def schema_text() -> str:
    """docs/report.schema.json as it is to be published."""
    return json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n"

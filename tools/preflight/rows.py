"""Discrepancies of each severity, in one line where they are found."""

from __future__ import annotations

from tools.findings import Discrepancy, Severity


def row_of(kind: str, about: str, severity: Severity, what: str, means: str, remedy: str) -> Discrepancy:
    """One discrepancy."""
    return Discrepancy(kind=kind, about=about, severity=severity, what=what, means=means, remedy=remedy)


def error(kind: str, about: str, what: str, means: str, remedy: str) -> Discrepancy:
    """What is validated here would not be what is reviewed."""
    return row_of(kind, about, Severity.ERROR, what, means, remedy)


def warning(kind: str, about: str, what: str, means: str, remedy: str) -> Discrepancy:
    """It may not be."""
    return row_of(kind, about, Severity.WARNING, what, means, remedy)


def note(kind: str, about: str, what: str, means: str, remedy: str) -> Discrepancy:
    """Worth knowing."""
    return row_of(kind, about, Severity.NOTE, what, means, remedy)

"""Looks at a plugin again after edits, with the report of an earlier review at hand."""

from __future__ import annotations

import json
from pathlib import Path

from agent.errors import Exit, Stop, from_system
from agent.progress import shown
from agent.report.files import ReportWriteError, make_folder, write_atomically
from agent.screen import Screen
from agent.state import Role
from tools.findings import Report
from tools.profiles import load_profile
from tools.recheck.result import RecheckResult, as_text, recheck
from tools.review import load_trees
from tools.sources.cache import default_cache
from tools.sources.redact import redacted
from tools.sources.snapshot import Snapshot, SourceError
from tools.sources.spec import open_source


def run(file: Path, plugin: str | None, out: Path, cache: Path | None, offline: bool, screen: Screen) -> Exit:
    """Writes ``recheck.md`` and ``recheck.json`` into ``out``; the status says whether anything is left to do."""
    earlier = _report(file)
    if earlier.blocked:
        raise Stop(
            Exit.USAGE, str(file), "that review could not be finished", "Give the report of a whole review."
        )
    try:
        profile = load_profile(earlier.profile)
    except KeyError as error:
        raise Stop(
            Exit.USAGE, str(file), str(error.args[0]), "Use the version that wrote the report."
        ) from None
    folder = cache or default_cache()

    with shown(screen.quiet) as progress:

        def opened(spec: str, role: Role) -> Snapshot:
            return open_source(
                spec,
                role=role,
                profile=profile,
                python=None,
                cache=folder,
                offline=offline,
                progress=progress,
            )

        try:
            trees = load_trees(
                opened(plugin or earlier.subject.label, "plugin"),
                _same(opened(earlier.base.label, "base"), earlier.base.digest, "base"),
                _same(opened(earlier.target.label, "target"), earlier.target.digest, "target"),
                profile,
                folder,
                progress,
            )
            result = recheck(trees, earlier)
        except SourceError as error:
            raise Stop(
                Exit.BLOCKED, redacted(error.what), redacted(error.why), redacted(error.remedy)
            ) from None
    _write(result, out)
    for line in as_text(result).splitlines()[2:5]:
        screen.say(line)
    screen.say(f"Written: {out / 'recheck.md'}, {out / 'recheck.json'}")
    return Exit.FINDINGS if result.open else Exit.OK


def _report(file: Path) -> Report:
    try:
        return Report.model_validate_json(file.read_bytes())
    except OSError as error:
        raise from_system(error) or Stop(
            Exit.USAGE, str(file), f"cannot be read ({error.strerror})", "Give the report.json of a review."
        ) from None
    except ValueError:
        raise Stop(
            Exit.USAGE, str(file), "is no report of this version", "Give the report.json of a review."
        ) from None


def _same(snapshot: Snapshot, digest: str, role: str) -> Snapshot:
    """The source of the earlier review, or the two would not be comparable."""
    if snapshot.identity.digest != digest:
        raise SourceError(
            snapshot.identity.label,
            f"the {role} is not what it was in the earlier review",
            "Review anew, or put back what it was.",
        )
    return snapshot


def _write(result: RecheckResult, out: Path) -> None:
    try:
        make_folder(out)
        write_atomically(out / "recheck.md", as_text(result).encode("utf-8"))
        plain = json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False)
        write_atomically(out / "recheck.json", f"{plain}\n".encode())
    except ReportWriteError as error:
        raise Stop(Exit.BLOCKED, str(error.path), error.why, error.remedy) from None

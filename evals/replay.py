"""Runs the reviews of cases in parallel processes, and keeps each record by what it depends on.

An interrupted run continues: records stand in the cache by a key over the program's code, the profile and the exact
commits and releases, so that only what is missing runs again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evals.baselines import SLOW
from evals.records import FORMAT, ReviewRecord, ToolRun
from evals.repos import NotRun, Review, clone_of, plugin_spec, reviews_of, upstream_spec
from evals.schema import Case
from tools.findings import short_hash
from tools.profiles import load_profile
from tools.results import own_code

ROOT = Path(__file__).parent.parent
MERGES, AUDIT = "merges", "audit"
Progress = Callable[[str, str], None]
"""Called with (case and review, what happened)."""


@dataclass(frozen=True)
class Outcome:
    """What became of one review."""

    review: Review
    record: ReviewRecord | None
    reason: str = ""
    """Why there is no record."""
    failed: bool = False
    """True when it was run and ended badly; else something that it needs was missing."""
    kept: bool = False
    """True when an earlier run had left the record."""


@dataclass(frozen=True)
class Options:
    """How to run."""

    cache: Path
    repos: Path | None
    baselines: tuple[str, ...] = ("ty", "ty-diff")
    jobs: int = 2
    timeout: int = 600
    offline: bool = False
    merges: bool = False
    """Also merge the copied symbols of the review at each case's start: takes minutes."""
    audit: bool = False
    """Also audit the upstream commits of each case."""


def replay(cases: Sequence[Case], options: Options, progress: Progress | None = None) -> list[Outcome]:
    """Every review of ``cases``, in their order. Reviews that fail or cannot run are outcomes like others."""
    say = progress or (lambda _what, _how: None)
    reviews = [review for case in cases for review in reviews_of(case)]
    outcomes: dict[int, Outcome] = {}
    running = _Running()
    pool = ThreadPoolExecutor(options.jobs)
    try:
        waiting = {pool.submit(_one, review, options, running): n for n, review in enumerate(reviews)}
        for future in as_completed(waiting):
            outcome = future.result()
            outcomes[waiting[future]] = outcome
            say(f"{outcome.review.case.id} {outcome.review.name}", _told(outcome))
    except BaseException:
        running.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    return [outcomes[n] for n in range(len(reviews))]


def _told(outcome: Outcome) -> str:
    if outcome.record is None:
        return f"{'failed' if outcome.failed else 'not run'}: {outcome.reason}"
    return "kept" if outcome.kept else f"{outcome.record.wall:.1f} s"


class _Running:
    """Processes at work, so that an interrupt ends them."""

    def __init__(self) -> None:
        self._lock, self._processes, self._stopped = threading.Lock(), set[subprocess.Popen[str]](), False

    def start(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._stopped:
                return None
            process = subprocess.Popen(
                command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
            )
            self._processes.add(process)
            return process

    def done(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.terminate()


def parts_of(options: Options, review: Review) -> list[tuple[str, ...]]:
    """What is run and kept apart: the checks with the quick baselines, then merges, then each slow baseline."""
    quick = tuple(b for b in options.baselines if b not in SLOW)
    wanted = ((MERGES, options.merges), (AUDIT, options.audit))
    more = [(part,) for part, asked in wanted if asked and review.whole]
    return [("checks", *quick), *more, *((b,) for b in options.baselines if b in SLOW)]


def job_of(review: Review, options: Options, part: Sequence[str]) -> dict[str, Any]:
    """What the worker is told. Raises NotRun."""
    case = review.case
    settled = settled_revision(review, options.repos)
    return {
        "profile": case.profile,
        "plugin": plugin_spec(case, review.revision, options.repos),
        "settled": plugin_spec(case, settled, options.repos),
        "settled_revision": settled,
        "base": upstream_spec(case.base, case, options.repos),
        "target": upstream_spec(review.target, case, options.repos),
        "whole": review.whole,
        "history": _history(case, options.repos),
        "target_commit": review.target.commit or "",
        "part": list(part),
        "cache": str(options.cache),
        "offline": options.offline,
    }


def _history(case: Case, repos: Path | None) -> str:
    """A clone of upstream at base, for what copies were really taken from; '' where there is none."""
    if case.base.commit is None:
        return ""
    try:
        return f"{clone_of(case.upstream, repos)}@{case.base.commit}"
    except NotRun:
        return ""


def key_of(review: Review, settled: str, part: Sequence[str]) -> str:
    """Names the record of ``review``: everything it depends on, whatever the paths of clones here."""
    case = review.case
    profile = load_profile(case.profile)
    versions = [f"{u.release} {u.commit if not u.sdist else ''}" for u in (case.base, review.target)]
    whole = str(review.whole)
    code = _adapters() if set(part) <= SLOW else f"{FORMAT} {own_code()} {_adapters()} {_evals_code()}"
    parts = (code, profile.model_dump_json(), case.plugin, review.revision)
    return short_hash(*parts, settled, *versions, whole, *part)


def _evals_code() -> str:
    """Digest of the code here that decides a record besides the product's own."""
    return _digest("worker.py", "merging.py", "records.py")


def _adapters() -> str:
    """Digest of the code that runs other tools and reads what they say. The product's own is left out: it cannot
    change what they say, and some take minutes."""
    folder = ROOT / "evals" / "baselines"
    return _digest("causes.py", "symbols.py", *(f"baselines/{p.name}" for p in folder.glob("*.py")))


def _digest(*names: str) -> str:
    return short_hash(*((ROOT / "evals" / n).read_text(encoding="utf-8") for n in sorted(names)))


def settled_revision(review: Review, repos: Path | None) -> str:
    """The revision whose state counts as what the maintainers did: the case's, or for a review that does not lead
    there (another branch, or later) the repair of its last defect. Raises NotRun."""
    case = review.case
    if case.family == "index":
        return case.settled
    clone = clone_of(case.plugin, repos)
    if review.revision != case.settled and _leads(clone, review.revision, case.settled):
        return case.settled
    last = review.defects[0].fix_commit
    for defect in review.defects[1:]:
        if _leads(clone, last, defect.fix_commit):
            last = defect.fix_commit
    return last


def _leads(clone: Path, old: str, new: str) -> bool:
    command = ["git", "-C", str(clone), "merge-base", "--is-ancestor", old, new]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _one(review: Review, options: Options, running: _Running) -> Outcome:
    whole: Outcome | None = None
    for part in parts_of(options, review):
        try:
            outcome = _part(review, options, part, running)
        except NotRun as missing:
            outcome = Outcome(review, None, str(missing))
        if whole is None:
            whole = outcome
        elif whole.record is not None and part[0] in (MERGES, AUDIT):
            name = "merging" if part[0] == MERGES else "audit"
            found = getattr(outcome.record, name) if outcome.record else None
            record = whole.record.model_copy(update={name: found})
            whole = replace(whole, record=record, kept=whole.kept and outcome.kept)
        elif whole.record is not None:
            # A baseline that fails is told in its row of the table and loses nothing else.
            rows = outcome.record.baselines if outcome.record else {part[0]: ToolRun(reason=outcome.reason)}
            record = whole.record.model_copy(update={"baselines": {**whole.record.baselines, **rows}})
            whole = replace(whole, record=record, kept=whole.kept and outcome.kept)
    assert whole is not None
    return whole


def _part(review: Review, options: Options, part: Sequence[str], running: _Running) -> Outcome:
    job = job_of(review, options, part)
    folder = options.cache / "eval" / "records"
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{key_of(review, job['settled_revision'], part)}.json"
    if place.exists():
        try:
            return Outcome(review, ReviewRecord.model_validate_json(place.read_bytes()), kept=True)
        except ValueError:
            place.unlink()  # damaged: as good as absent
    job_file = place.with_suffix(f".job-{os.getpid()}")
    job_file.write_text(json.dumps(job), encoding="utf-8")
    try:
        reason = _work(job_file, place, options, running)
    finally:
        job_file.unlink(missing_ok=True)
    if reason:
        return Outcome(review, None, reason, failed=True)
    record = ReviewRecord.model_validate_json(place.read_bytes())
    if not set(part) <= SLOW and record.code != own_code():
        place.unlink()
        return Outcome(review, None, "the program's code changed while it ran", failed=True)
    return Outcome(review, record)


def _work(job_file: Path, place: Path, options: Options, running: _Running) -> str:
    """Run the worker; why it failed, or ''."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    command = [sys.executable, "-m", "evals.worker", str(job_file), str(place)]
    process = running.start(command, {**os.environ, "PYTHONPATH": path})
    if process is None:
        return "interrupted"
    try:
        _, errors = process.communicate(timeout=options.timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"took longer than {options.timeout} s"
    finally:
        running.done(process)
    if process.returncode:
        last = errors.strip().splitlines()[-1:] or [""]
        return f"ended with status {process.returncode}: {last[0]}"
    return "" if place.exists() else "left no record"

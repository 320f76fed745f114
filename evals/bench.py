"""Wall time, memory and number of errors of a review, beside pyright and ty on the same trees in the same run.

``make bench PLUGIN=DIR@REV BASE=vllm==X TARGET=vllm==Y``. Needs npm (for pyright) and Linux (memory is read from
/proc). Machines are noisy, so what counts are the ratios of medians.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.profiles import load_profile
from tools.sources.spec import default_cache, open_source

PYRIGHT = "pyright@1.1.409"
"""Exact, so that figures of different days compare."""
VERDICTS = Path(__file__).parent / "verdicts"


@dataclass(frozen=True)
class Run:
    """One measured command: seconds of wall time, peak MiB over its process tree, what it printed."""

    wall: float
    memory: float
    output: str


def measure(command: list[str], environment: dict[str, str] | None = None, cwd: Path | None = None) -> Run:
    """Run ``command`` to its end. Exit status 1 is how checkers say that they found something."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = [0.0]
    stop = threading.Event()

    def sample() -> None:
        while not stop.wait(0.05):
            peak[0] = max(peak[0], _tree_memory(process.pid))

    watcher = threading.Thread(target=sample)
    watcher.start()
    output, errors = process.communicate()
    wall = time.perf_counter() - started
    stop.set()
    watcher.join()
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} ended with status {process.returncode}:\n{errors[-2000:]}")
    return Run(wall, peak[0], output)


def _tree_memory(root: int) -> float:
    """MiB resident in ``root`` and its descendants, shared pages counted once (PSS)."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # ended meanwhile
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    total, queue = 0.0, [root]
    while queue:
        pid = queue.pop()
        queue += children.get(pid, [])
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next((int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")), 0)
    return total / 1024


def repeated(times: int, *runs: Callable[[], Run]) -> list[Run]:
    """Median wall time and highest memory of each; the output of the last.

    They take turns, so that what else the machine does at a moment falls on all of them.
    """
    measured = [[run() for run in runs] for _ in range(times)]
    return [
        Run(statistics.median(r.wall for r in mine), max(r.memory for r in mine), mine[-1].output)
        for mine in zip(*measured, strict=True)
    ]


def main() -> None:
    """Measure and print a table; ``--json`` writes the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plugin", required=True, help="as in `metax-upgrade review --plugin`")
    parser.add_argument("--base", default="vllm==0.25.0")
    parser.add_argument("--target", default="vllm==0.26.0")
    parser.add_argument("--profile", default="metax")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    profile = load_profile(arguments.profile)
    with tempfile.TemporaryDirectory(prefix="metax-upgrade-bench-") as name:
        scratch = Path(name)
        cache = default_cache()
        opened = {
            role: open_source(getattr(arguments, role), role=role, profile=profile, python=None, cache=cache)
            for role in ("plugin", "base", "target")
        }
        plugin = opened["plugin"].materialize(scratch / "plugin", profile.plugin_package)
        target = opened["target"].root or opened["target"].materialize(scratch / "target")
        # A cache of its own: the releases, and nothing read from them.
        private = scratch / "cache"
        shutil.copytree(
            cache, private, ignore=shutil.ignore_patterns("code.sqlite3*", "ty", "results"), symlinks=True
        )
        figures = _measure_all(arguments, plugin, target, private, scratch)
    _print(figures)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _measure_all(
    arguments: argparse.Namespace, plugin: Path, target: Path, cache: Path, scratch: Path
) -> dict[str, dict[str, float]]:
    profile = load_profile(arguments.profile)
    package = plugin / profile.plugin_package
    node = scratch / "node"
    subprocess.run(["npm", "install", "--silent", "--prefix", str(node), PYRIGHT], check=True)
    config = plugin / "pyrightconfig.json"
    config.write_text(
        json.dumps({"extraPaths": [str(target)], "pythonVersion": "3.12", "include": [package.name]})
    )
    pyright = [str(node / "node_modules/.bin/pyright"), "--outputjson", "-p", str(config)]
    from ty import find_ty_bin

    ty = [find_ty_bin(), "check", "--extra-search-path", str(target), "--python-version", "3.12"]
    ty += ["--output-format", "gitlab", "--no-progress", "--exit-zero", package.name]
    out = scratch / "out"
    review = [str(Path(sys.executable).parent / "metax-upgrade"), "review", "--quiet", "--out", str(out)]
    review += ["--plugin", arguments.plugin, "--base", arguments.base, "--target", arguments.target]
    review += ["--profile", arguments.profile]
    environment = {"METAX_UPGRADE_CACHE": str(cache), "METAX_UPGRADE_STATE": str(scratch / "state")}

    def edited() -> Run:
        # What an edit of the plugin invalidates: results, and the type checker's rows. Records stay.
        shutil.rmtree(cache / "results", ignore_errors=True)
        shutil.rmtree(cache / "ty", ignore_errors=True)
        return measure(review, environment)

    def cold() -> Run:
        shutil.rmtree(cache / "results", ignore_errors=True)
        for kept in ("code.sqlite3", "code.sqlite3-journal"):
            (cache / kept).unlink(missing_ok=True)
        shutil.rmtree(cache / "ty", ignore_errors=True)
        return measure(review, environment)

    one, two, three, four, five = repeated(
        arguments.repeat,
        lambda: measure(pyright, cwd=plugin),
        lambda: measure(ty, cwd=plugin),
        cold,
        lambda: measure(review, environment),
        edited,
    )
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    errors = [f for f in report["findings"] if f["severity"] == "error"]
    judged = _verdicts(errors)
    diagnostics = json.loads(one.output)["generalDiagnostics"]
    return {
        "pyright": _row(one, one, sum(d["severity"] == "error" for d in diagnostics), len(diagnostics)),
        "ty": _row(two, one, len(json.loads(two.output)), len(json.loads(two.output))),
        "review, cold": _row(three, one, len(errors), len(report["findings"]), judged),
        "review, warm": _row(four, one, len(errors), len(report["findings"]), judged),
        "review, plugin edited": _row(five, one, len(errors), len(report["findings"]), judged),
    }


def _row(
    run: Run, reference: Run, errors: int, rows: int, judged: dict[str, float] | None = None
) -> dict[str, float]:
    return {
        "wall_s": round(run.wall, 2),
        "of_pyright": round(run.wall / reference.wall, 3),
        "peak_mib": round(run.memory),
        "errors": errors,
        "rows": rows,
        **(judged or {}),
    }


def _verdicts(errors: list[dict[str, str]]) -> dict[str, float]:
    """How many errors were judged true by hand (``evals/verdicts``), false, or not yet."""
    known: dict[str, str] = {}
    for path in sorted(VERDICTS.glob("*.json")):
        known |= {
            row["id"]: row["verdict"] for row in json.loads(path.read_text(encoding="utf-8"))["verdicts"]
        }
    counts = {"confirmed": 0, "false": 0, "unjudged": 0}
    for error in errors:
        counts[known.get(error["id"], "unjudged")] += 1
    return dict(counts)


def _print(figures: dict[str, dict[str, float]]) -> None:
    columns = list(dict.fromkeys(key for row in figures.values() for key in row))
    print("| tool | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, row in figures.items():
        print(f"| {name} | " + " | ".join(str(row.get(c, "")) for c in columns) + " |")


if __name__ == "__main__":
    main()

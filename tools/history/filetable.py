"""Which files differ between base and target, or stand in the plugin alone."""

from __future__ import annotations

from collections import defaultdict

from tools.findings import FileRow
from tools.history.places import Place, place_of
from tools.history.reach import Reach
from tools.history.upstream import Range
from tools.registry.subject import Subject
from tools.sources.snapshot import Snapshot

_COMMITS = 30


def file_rows(upstream: Range, reach: Reach, subject: Subject) -> tuple[FileRow, ...]:
    """Files of the upstream package that differ, then those of the plugin that nothing upstream answers to.

    Tests, documentation and the like are left out; so is a file whose two versions are the same.
    """
    assert subject.before is not None
    old, new = subject.before.upstream, subject.upstream
    was, now = (
        _files(old.snapshot, old.prefix, upstream.package),
        _files(new.snapshot, new.prefix, upstream.package),
    )
    renamed = _renamed(upstream, was, now)
    touched: dict[str, list[str]] = defaultdict(list)
    for commit in upstream.commits:
        for change in commit.files:
            for path in change.paths:
                touched[path].append(commit.id[:12])

    def row(path: str, state: str, before: str = "") -> FileRow:
        names = [m for p in (path, before) if p and (m := upstream.module(p)) is not None]
        hung = {
            reach.plugin.paths[m] for n in names for m in reach.modules.get(n, ()) if m in reach.plugin.paths
        }
        commits = dict.fromkeys(c for p in (before, path) for c in touched.get(p, ()))
        return FileRow(
            path=path,
            state=state,
            was=before,
            plugin=tuple(sorted(hung)),
            commits=tuple(list(commits)[-_COMMITS:]),
        )

    rows = []
    for path in sorted({*was, *now}):
        if path in was and path in now:
            if was[path] != now[path]:
                rows.append(row(path, "changed"))
        elif path in now:
            rows.append(row(path, "moved", renamed[path]) if path in renamed else row(path, "target only"))
        elif path not in renamed.values():
            rows.append(row(path, "removed"))
    return (*rows, *_local(reach))


def _files(snapshot: Snapshot, prefix: str, package: str) -> dict[str, str]:
    """Path as the repository has it -> blob, of everything that is or goes into the package."""
    wanted = (Place.PACKAGE, Place.NATIVE, Place.REQUIREMENT, Place.BUILD)
    return {
        path[len(prefix) :]: snapshot.blob(path)
        for path in snapshot.paths()
        if path.startswith(prefix) and place_of(path[len(prefix) :], package) in wanted
    }


def _renamed(upstream: Range, was: dict[str, str], now: dict[str, str]) -> dict[str, str]:
    """New path -> old path, by the renames of the commits and by equal contents."""
    origin: dict[str, str] = {}
    for commit in upstream.commits:
        for change in commit.files:
            if change.status == "R":
                origin[change.new_path] = origin.pop(change.old_path, change.old_path)
    out = {
        new: old
        for new, old in origin.items()
        if new in now and new not in was and old in was and old not in now
    }
    gone: dict[str, str] = {}
    for path in sorted(was):
        if path not in now and path not in out.values():
            gone.setdefault(was[path], path)
    for path in sorted(now):
        if path not in was and path not in out and now[path] in gone:
            out[path] = gone.pop(now[path])
    return out


def _local(reach: Reach) -> list[FileRow]:
    """Plugin files in which nothing has a counterpart, and at whose place upstream has no file."""
    with_counterpart = {row.symbol.module for row in reach.counterparts.rows}
    rows = []
    for module in sorted(reach.plugin.modules):
        places = reach.counterparts.upstream_modules(module)
        if module not in with_counterpart and not any(
            p in w.upstream.modules for p in places for w in reach.worlds
        ):
            rows.append(FileRow(path=reach.plugin.paths[module], state="local only"))
    return rows

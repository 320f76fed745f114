"""Tiny repositories, archives and package folders, made for one test each."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.profiles import load_profile
from tools.sources.snapshot import Snapshot, SourceError
from tools.sources.spec import open_source

PROFILE = load_profile("metax")

FILES: dict[str, bytes | str] = {
    "vllm/__init__.py": "v = 1\n",
    "vllm/a.py": b"a = 1\r\n",
    "PKG-INFO": "x",
    "é.txt": "e",
}
"""What the releases of the local index hold."""


def run_git(folder: Path, *arguments: str, check: bool = True) -> str:
    """Ordinary git, with an identity and without the machine's settings."""
    env = os.environ | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "safe.directory=*", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=check,
    )
    return done.stdout.strip()


def make_repo(folder: Path, files: dict[str, bytes | str]) -> Path:
    """A repository with one commit of ``files``, or none when there are no files."""
    folder.mkdir(parents=True, exist_ok=True)
    run_git(folder, "init", "-q", "-b", "main")
    if files:
        write(folder, files)
        run_git(folder, "add", "-A")
        run_git(folder, "commit", "-qm", "first")
    return folder


def write(folder: Path, files: dict[str, bytes | str]) -> None:
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)


def opened(spec: str | Path, cache: Path | None = None, **options: Any) -> Snapshot:
    """``open_source`` with what these tests do not vary."""
    settings: dict[str, Any] = {"role": "plugin", "profile": PROFILE, "python": None, "offline": False}
    settings |= options
    return open_source(str(spec), cache=cache or Path("unused-cache"), **settings)


def contents(snapshot: Snapshot) -> dict[str, bytes]:
    return {path: snapshot.read(path) for path in snapshot.paths()}


def skipped(snapshot: Snapshot) -> dict[str, str]:
    return {item.path: item.reason for item in snapshot.skipped}


def refused(call: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        call()
    error = caught.value
    assert error.what
    assert error.why
    assert error.remedy
    return error


def fingerprint(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Everything that a write to ``folder`` would change: times, sizes and contents of all files."""
    found = {}
    for place in sorted(folder.rglob("*")):
        info = place.lstat()
        content = place.read_bytes() if place.is_file() and not place.is_symlink() else b""
        found[str(place)] = (info.st_mtime_ns, info.st_size, hashlib.sha256(content).hexdigest())
    return found


def make_sdist(place: Path, files: dict[str, bytes | str], top: str | None = None) -> Path:
    """A source archive ``NAME-VERSION.tar.gz`` with ``files`` in its one folder."""
    top = place.name.removesuffix(".tar.gz") if top is None else top
    place.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place, "w:gz") as tar:
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"{top}/{path}" if top else path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return place


def make_index(folder: Path, archives: list[Path], *, hashes: bool = True) -> str:
    """A simple index in a folder; returns its URL."""
    pages: dict[str, list[str]] = {}
    for archive in archives:
        name = archive.name.rsplit("-", 1)[0] if archive.name.endswith(".gz") else archive.name.split("-")[0]
        digest = f"#sha256={hashlib.sha256(archive.read_bytes()).hexdigest()}" if hashes else ""
        link = f'<a href="{archive.as_uri()}{digest}">{archive.name}</a>'
        pages.setdefault(name.lower().replace("_", "-"), []).append(link)
    for name, links in pages.items():
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>")
    return (folder / "simple").as_uri()


def use_index(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Make ``url`` the only index."""
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    monkeypatch.setenv("PIP_INDEX_URL", url)

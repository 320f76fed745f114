"""What the type checker ``ty`` says of the plugin against one upstream tree.

The one place that knows ty: its rule names change before 1.0, so the version is pinned exactly and nothing else
reads them. It runs on an isolated copy of the package (the plugin's own pyproject.toml may configure ty, or hold a
section it refuses), with no third-party packages in sight, so that the answer depends on the two trees alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from tools.code.tree import Tree

TIMEOUT = 300
"""Seconds. A run takes about one; a checker that hangs must not hang the review."""
_PYTHON_VERSION = "3.12"
"""Language level to assume, so that the answer does not depend on the interpreter this program runs in."""


class Diagnostic(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One row. ``module`` is the plugin module, ``line`` and ``column`` count from 1."""

    rule: str
    module: str
    line: int
    column: int
    message: str


class TypeCheckError(Exception):
    """ty could not be run or understood."""


def diagnose(plugin: Tree, upstream: Tree, cache: Path | None) -> tuple[Diagnostic, ...]:
    """Rows about ``plugin`` when it is used with ``upstream``, sorted by place.

    Kept in ``cache`` by the content of both trees and the version of ty. Raises TypeCheckError.
    """
    kept = cache / "ty" / f"{_key(plugin, upstream)}.msgpack" if cache is not None else None
    if kept is not None:
        with suppress(OSError, msgspec.DecodeError):
            return msgspec.msgpack.decode(kept.read_bytes(), type=tuple[Diagnostic, ...])
    rows = tuple(sorted(_run(plugin, upstream), key=lambda d: (d.module, d.line, d.column, d.message)))
    if kept is not None:
        # A cache that cannot be written costs a second in the next run.
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            temporary = kept.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(msgspec.msgpack.encode(rows))
            temporary.replace(kept)
    return rows


def _key(plugin: Tree, upstream: Tree) -> str:
    parts = (version("ty"), _PYTHON_VERSION, plugin.digest, upstream.digest)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _write(tree: Tree, folder: Path) -> Path:
    """Write the package of ``tree`` below ``folder``; returns what to put on a search path."""
    prefix = f"{tree.prefix}{tree.package.replace('.', '/')}"
    tree.snapshot.materialize(folder, prefix, suffixes=(".py", ".pyi"))
    return folder / tree.prefix


def _run(plugin: Tree, upstream: Tree) -> Iterator[Diagnostic]:
    from ty import find_ty_bin

    with tempfile.TemporaryDirectory(prefix="metax-upgrade-") as name:
        scratch = Path(name).resolve()
        project = _write(plugin, scratch / "plugin")
        lying = upstream.snapshot.root
        search = lying / upstream.prefix if lying is not None else _write(upstream, scratch / "upstream")
        config = scratch / "ty.toml"
        config.write_text("[terminal]\n", encoding="utf-8")
        command = [
            find_ty_bin(),
            "check",
            "--project", str(project),
            "--config-file", str(config),
            "--python", str(_empty_environment(scratch)),
            "--python-version", _PYTHON_VERSION,
            "--python-platform", "linux",
            "--extra-search-path", str(search),
            "--output-format", "gitlab",
            "--no-progress",
            "--exit-zero",
            plugin.package.replace(".", "/"),
        ]  # fmt: skip
        for row in _rows(command, project):
            path = plugin.prefix + str(row["location"]["path"])
            module = plugin.modules_at.get(path)
            if module is None:
                continue
            begin = row["location"]["positions"]["begin"]
            rule = str(row["check_name"])
            message = str(row["description"]).removeprefix(f"{rule}: ")
            yield Diagnostic(rule, module, int(begin["line"]), int(begin["column"]), message)


def _rows(command: list[str], project: Path) -> list[dict[str, Any]]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("TY_", "VIRTUAL_ENV", "CONDA"))}
    try:
        done = subprocess.run(
            command,
            cwd=project,
            env=environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise TypeCheckError(f"ty could not be run: {exc}") from exc
    try:
        rows = json.loads(done.stdout)
    except ValueError as exc:
        detail = " ".join(done.stderr.split())[-400:] or done.stdout[:200]
        raise TypeCheckError(f"ty gave no rows (exit status {done.returncode}): {detail}") from exc
    if not isinstance(rows, list):
        raise TypeCheckError("ty gave something other than a list of rows")
    return rows


def _empty_environment(scratch: Path) -> Path:
    """A virtual environment without packages; ty takes it for the interpreter's."""
    folder = scratch / "environment"
    lib = folder / "lib" / f"python{_PYTHON_VERSION}" / "site-packages"
    lib.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / "pyvenv.cfg").write_text(
        f"home = {Path(sys.base_prefix) / 'bin'}\nversion = {_PYTHON_VERSION}\n", encoding="utf-8"
    )
    return folder

"""Which plugin is meant, and which profile fits it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from agent.errors import wrong_use
from tools.profiles import Profile, load_profile, profile_names
from tools.sources.redact import redacted

_NOT_A_PATH = re.compile(r"(?:pypi|installed):|[A-Za-z0-9][A-Za-z0-9._-]*==")
_SUFFIX = re.compile(r"(?P<path>.+?)(?:@[^@/\\]*(?:/[^@]*)?|:index|:worktree)")
DEFAULT_PROFILE = "metax"


def plugin_folder(spec: str | None, cwd: Path) -> Path | None:
    """The folder on disk that ``spec`` points into; None for a release, an installed package, or no folder.

    Without a specification: the checkout around ``cwd``.
    """
    if not spec:
        return checkout(cwd) or cwd
    if _NOT_A_PATH.match(spec):
        return None
    match = _SUFFIX.fullmatch(spec)
    for text in (spec, match["path"] if match else spec):
        folder = cwd / Path(text).expanduser()
        if folder.is_dir():
            return folder
    return None


def without_login(spec: str) -> str:
    """``spec`` as it may be kept and shown. Only a URL has a login: ``//`` and ``@`` are good in a path."""
    return redacted(spec) if "://" in spec else spec


def checkout(folder: Path) -> Path | None:
    """Top folder of the git checkout around ``folder``, or None."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "--show-toplevel"],
            capture_output=True,
            text=True,
            check=False,
            env=environment,
        )
    except OSError:
        return None
    return Path(done.stdout.removesuffix("\n")) if done.returncode == 0 and done.stdout else None


def settle(spec: str | None, profile: str | None, cwd: Path) -> tuple[str, Profile]:
    """The plugin's specification and profile. Raises Stop (wrong use) when no plugin is found."""
    chosen = load_profile(profile) if profile else None
    folder = plugin_folder(spec, cwd)
    if spec:
        return spec, chosen or _by_name(spec) or _by_package(folder) or load_profile(DEFAULT_PROFILE)
    assert folder is not None  # without a specification there is always a folder
    found = chosen if chosen and holds(folder, chosen) else None if chosen else _by_package(folder)
    if found is None:
        looked = [chosen] if chosen else [load_profile(name) for name in profile_names()]
        names = " or ".join(f"{item.plugin_package} (profile {item.name})" for item in looked)
        raise wrong_use(
            "--plugin",
            f"none was given, and {folder} holds no package {names}",
            "Run inside a plugin checkout, or give --plugin (and --profile).",
        )
    where = os.path.relpath(folder, cwd)
    return (f"{where}:worktree" if checkout(cwd) else where), found


def holds(folder: Path, profile: Profile) -> bool:
    """Whether the plugin's package lies in ``folder``."""
    return any((folder / root / profile.plugin_package).is_dir() for root in ("", "src"))


def _by_package(folder: Path | None) -> Profile | None:
    if folder is None:
        return None
    return next((p for name in profile_names() if holds(folder, p := load_profile(name))), None)


def _by_name(spec: str) -> Profile | None:
    """The profile whose distribution a release or installed package is."""
    match = re.match(r"(?:pypi:|installed:)?([A-Za-z0-9][A-Za-z0-9._-]*)", spec)
    if not _NOT_A_PATH.match(spec) or match is None:
        return None
    wanted = re.sub(r"[-_.]+", "-", match[1]).lower()
    profiles = (load_profile(name) for name in profile_names())
    return next((p for p in profiles if p.plugin_distribution == wanted), None)

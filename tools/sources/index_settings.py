"""Where the user's installers look for packages: what pip and uv are told, read without running either.

Order, strongest first: pip's variables, uv's variables, pip's configuration files (variable PIP_CONFIG_FILE,
the environment's own, the user's, the machine's). Additional indexes and link pages of all of them count.
"""

from __future__ import annotations

import configparser
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

_ETC = Path("/etc")
_SECTIONS = ("download", "install", "global")


@dataclass(frozen=True)
class IndexSettings:
    """What a search for releases needs to know. URLs may hold credentials: never show them as they are."""

    index: str | None = None
    """None: the ordinary default."""
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    certificates: str | None = None
    client_certificate: str | None = None
    proxy: str | None = None
    timeout: float = 15.0
    """Seconds; pip's own default."""


def index_settings(python: Path | None = None, environ: Mapping[str, str] | None = None) -> IndexSettings:
    """What holds for ``python`` (None: this interpreter) under ``environ`` (None: the real one)."""
    env = os.environ if environ is None else environ
    files = list(_configuration(python, env))

    def from_pip(option: str) -> str | None:
        if value := env.get(f"PIP_{option.upper().replace('-', '_')}"):
            return value
        return from_files(option)

    def from_files(option: str) -> str | None:
        for section in _SECTIONS:
            for file in files:
                if value := file.get(section, option, fallback=""):
                    return value
        return None

    index = (
        env.get("PIP_INDEX_URL")
        or _url(env.get("UV_DEFAULT_INDEX"))
        or env.get("UV_INDEX_URL")
        or from_files("index-url")
    )
    uv_extra = [
        url
        for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL")
        for item in env.get(name, "").split()
        if (url := _url(item))
    ]
    timeout = from_pip("default-timeout") or from_pip("timeout")
    return IndexSettings(
        index=index,
        extra=_unique([*_words(from_pip("extra-index-url")), *uv_extra]),
        find_links=_unique([*_words(from_pip("find-links")), *_words(env.get("UV_FIND_LINKS"))]),
        no_index=_true(from_pip("no-index")) or _true(env.get("UV_NO_INDEX")),
        trusted_hosts=_unique([*_words(from_pip("trusted-host")), *_words(env.get("UV_INSECURE_HOST"))]),
        certificates=from_pip("cert"),
        client_certificate=from_pip("client-cert"),
        proxy=from_pip("proxy"),
        timeout=float(timeout) if timeout and timeout.replace(".", "", 1).isdigit() else 15.0,
    )


def _configuration(python: Path | None, env: Mapping[str, str]) -> Iterator[configparser.RawConfigParser]:
    """pip's configuration files that exist and can be parsed, strongest first."""
    named = env.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    name = "pip.ini" if sys.platform == "win32" else "pip.conf"
    home = Path(env.get("HOME") or Path.home())
    prefix = python.parent.parent if python else Path(sys.prefix)
    xdg = env.get("XDG_CONFIG_HOME")
    user = [(Path(xdg, "pip") if xdg else _user_folder(home)) / name, home / ".pip" / name]
    places = [
        *([Path(named)] if named else []),
        prefix / name,
        *([] if named and Path(named).exists() else user),  # as pip: a named file replaces the user's
        _ETC / name,
        *(folder / "pip" / name for folder in reversed(_machine_folders(env))),
    ]
    for place in places:
        parser = configparser.RawConfigParser(strict=False)
        try:
            if parser.read(place, encoding="utf-8"):
                yield parser
        except (configparser.Error, UnicodeDecodeError, OSError):
            # pip itself stops here; a review goes on with what the other files say.
            continue


def _user_folder(home: Path) -> Path:
    if sys.platform in ("win32", "darwin"):
        folder = Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True))
        if folder.is_dir():
            return folder
    return home / ".config" / "pip"


def _machine_folders(env: Mapping[str, str]) -> list[Path]:
    if sys.platform in ("win32", "darwin"):
        return [Path(platformdirs.site_config_dir(appauthor=False))]
    return [Path(folder) for folder in (env.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(os.pathsep) if folder]


def _url(item: str | None) -> str | None:
    """uv lets a name stand before the URL: ``name=https://…``."""
    if item is None:
        return None
    name, separator, url = item.partition("=")
    return url if separator and "/" not in name else item


def _words(value: str | None) -> list[str]:
    return (value or "").replace(",", " ").split() if value and "://" not in value else (value or "").split()


def _unique(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _true(value: str | None) -> bool:
    return (value or "").strip().lower() in ("1", "true", "yes", "on", "y", "t")

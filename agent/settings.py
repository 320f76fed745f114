"""Settings of a review: command line, then environment, then ``[tool.metax-upgrade]`` of a pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from agent.errors import Stop, wrong_use
from agent.subject import plugin_folder

ENV_PREFIX = "METAX_UPGRADE_"
TABLE = "metax-upgrade"


class Format(StrEnum):
    """Forms of the report."""

    MD = "md"
    JSON = "json"
    SARIF = "sarif"
    HTML = "html"


class FailOn(StrEnum):
    """Least severity that makes the exit status 1."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    NEVER = "never"


class ReviewSettings(BaseSettings):
    """What a review is told. Every field can be set in each of the sources."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    plugin: str | None = None
    """The plugin: PATH, PATH@REV, PATH:index, PATH:worktree, pypi:NAME==VERSION or installed:NAME.
    Without it, the worktree of the checkout that the current folder belongs to."""
    base: str = ""
    """The upstream version that the plugin stands on now: vllm==X, PATH, PATH@REV or installed:vllm."""
    target: str = ""
    """The upstream version that it moves to, in the same forms."""
    out: Path = Path("metax-upgrade-report")
    """Folder for the report."""
    format: Annotated[tuple[Format, ...], NoDecode, Field(min_length=1)] = tuple(Format)
    """Which reports to write; a list, or names with commas between them."""
    fail_on: FailOn = FailOn.ERROR
    """Least severity that makes the exit status 1."""
    profile: str | None = None
    """Plugin family. Without it, the one whose package is found in the plugin."""
    python: str | None = None
    """Interpreter whose installed packages 'installed:' reads and whose environment is reported.
    A reviewed plugin's own file cannot set it."""
    cache: Path | None = None
    """Folder for downloads and summaries. A reviewed plugin's own file cannot set it."""
    merges: bool = False
    """Merge upstream's changes into the plugin's copies, symbol by symbol, and write them as report.patch."""
    offline: bool = False
    """Use no network; releases must be in the cache."""
    upstream_repo: Path | None = None
    """Clone of upstream in which the commits between base and target are read. A reviewed plugin's own file cannot
    set it."""
    upstream_ref: str | None = None
    """Main line of that clone, where it is not HEAD. A reviewed plugin's own file cannot set it."""
    quiet: bool = False
    """Print errors only."""

    @field_validator("format", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            return value
        names = [name.strip() for part in parts for name in part.split(",")]
        return tuple(dict.fromkeys(name for name in names if name))

    @field_validator("python", mode="before")
    @classmethod
    def _here_or_on_the_path(cls, value: object) -> object:
        """A name alone is looked up as a shell would; ``./python`` is the file here, which Path would forget."""
        text = str(value) if isinstance(value, str | Path) else ""
        return str(Path(text).expanduser().absolute()) if "/" in text else value

    @field_validator("profile")
    @classmethod
    def _known_profile(cls, value: str | None) -> str | None:
        from tools.profiles import profile_names

        if value is not None and value not in profile_names():
            raise ValueError(f"no profile {value!r}; there are: {', '.join(profile_names())}")
        return value


# What is executed, whose summaries are believed and which history is quoted is for the person at the keyboard to
# say: the file of a plugin under review may come from a stranger's pull request.
_NOT_FROM_PLUGIN = ("python", "cache", "upstream_repo", "upstream_ref")


def load_settings(given: Mapping[str, Any], cwd: Path) -> ReviewSettings:
    """Settings from ``given`` (the command line; absent or None means not given) and the lower sources.

    Raises Stop (wrong use) naming the source and key at fault.
    """
    line = {key: value for key, value in given.items() if value is not None}
    own = _read_table(cwd / "pyproject.toml")
    plugin_spec = line.get("plugin") or _environment("plugin") or own.get("plugin")
    folder = plugin_folder(plugin_spec, cwd)
    files: list[tuple[Path, dict[str, Any]]] = []
    if folder is not None:
        file = folder / "pyproject.toml"
        files.append((file, _of_plugin(_read_table(file), file)))
    if folder is None or folder.resolve() != cwd.resolve():
        files.append((cwd / "pyproject.toml", _placed(own, cwd)))

    class Sourced(ReviewSettings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            tables = (InitSettingsSource(settings_cls, init_kwargs=table) for _, table in files)
            return (init_settings, env_settings, *tables)

    try:
        return Sourced(**line)
    except ValidationError as error:
        raise _explain(error, line, files) from None


def _environment(field: str) -> str | None:
    import os

    return os.environ.get(f"{ENV_PREFIX}{field.upper()}")


def _read_table(file: Path) -> dict[str, Any]:
    """``[tool.metax-upgrade]`` of ``file`` with its keys as field names; empty when there is none."""
    try:
        if file.exists() and not file.is_file():
            # A pipe or a device that a stranger's repository links to would never end.
            raise wrong_use(str(file), "is not a regular file", "Put a file there, or remove it.")
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise wrong_use(str(file), f"is not valid TOML ({error})", "Correct it.") from None
    except OSError as error:
        raise wrong_use(str(file), f"cannot be read ({error.strerror})", "Make it readable.") from None
    tool = document.get("tool")
    table = tool.get(TABLE) if isinstance(tool, dict) else None
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise wrong_use(str(file), f"'tool.{TABLE}' is not a table", f"Write it as [tool.{TABLE}].")
    known = ReviewSettings.model_fields
    fields = {}
    for key, value in table.items():
        field = key.replace("-", "_")
        if field not in known:
            names = ", ".join(name.replace("_", "-") for name in known)
            raise wrong_use(f"{file}, [tool.{TABLE}]", f"unknown key '{key}'", f"There are: {names}.")
        fields[field] = value
    return fields


def _of_plugin(table: dict[str, Any], file: Path) -> dict[str, Any]:
    """The table of the plugin's own file, which may not steer what is executed or written elsewhere."""
    for field in _NOT_FROM_PLUGIN:
        if field in table:
            raise wrong_use(
                f"{file}, [tool.{TABLE}]",
                f"'{field.replace('_', '-')}' cannot be set by the plugin under review",
                f"Give --{field.replace('_', '-')} or set {ENV_PREFIX}{field.upper()}.",
            )
    out = table.get("out")
    root = file.parent.resolve()
    if isinstance(out, str) and not (root / Path(out).expanduser()).resolve().is_relative_to(root):
        raise wrong_use(
            f"{file}, [tool.{TABLE}]", f"'out' leads out of the plugin ({out!r})", "Give --out instead."
        )
    return _placed(table, file.parent)


def _placed(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Paths in a file are relative to that file."""
    placed = dict(table)
    for field in ("out", "python", "cache", "upstream_repo"):
        if isinstance(placed.get(field), str):
            placed[field] = str(folder / Path(placed[field]).expanduser())
    return placed


def _explain(
    error: ValidationError, line: Mapping[str, Any], files: list[tuple[Path, dict[str, Any]]]
) -> Stop:
    """The first problem, with the source that brought it in."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = str(first["loc"][0]) if first["loc"] else ""
    why, given = first["msg"].removeprefix("Value error, "), repr(first["input"])
    if given not in why:
        why += f" (given: {given})"
    option = f"--{field.replace('_', '-')}"
    if field in line:
        return wrong_use(option, why)
    if _environment(field) is not None:
        return wrong_use(f"environment variable {ENV_PREFIX}{field.upper()}", why)
    for file, table in files:
        if field in table:
            return wrong_use(f"{file}, [tool.{TABLE}], key '{field.replace('_', '-')}'", why)
    return wrong_use(option, why)

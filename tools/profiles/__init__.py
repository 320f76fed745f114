"""Profiles: what differs from plugin to plugin. Everything else in tools/ knows no plugin by name."""

from __future__ import annotations

import tomllib
from importlib import resources

from pydantic import Field

from tools.findings import Frozen


class PathRule(Frozen):
    """Where code below one plugin folder was copied from."""

    plugin: str
    """Module prefix inside the plugin, such as ``vllm_metax.registry.quant_config``."""
    upstream: str
    """Module prefix upstream, such as ``vllm.model_executor.layers.quantization``."""


class Profile(Frozen):
    """One plugin family."""

    name: str
    plugin_package: str
    """Import name of the plugin."""
    upstream_package: str
    """Import name of what it plugs into."""
    plugin_distribution: str
    """Name on the package index."""
    upstream_distribution: str
    path_rules: tuple[PathRule, ...] = ()
    """Longest prefix wins; a module below no rule is matched by its own path."""
    patch_decorators: tuple[str, ...] = ()
    """Dotted names of decorators whose arguments name the attribute to replace: (module, attribute)."""
    generated_modules: tuple[str, ...] = ()
    """Glob patterns of modules that a build makes, so that no source tree holds them."""
    components: tuple[str, ...] = ()
    """Top-level imports that are installed apart and may be absent."""
    markers: tuple[str, ...] = Field(default=())
    """Texts that mark an intended difference from upstream."""
    entry_points: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Entry points to assume when the packaging files declare none that can be read: group -> targets."""


def profile_names() -> tuple[str, ...]:
    """Names that :func:`load_profile` accepts."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


def load_profile(name: str) -> Profile:
    """The shipped profile called ``name``. Raises KeyError naming those that exist."""
    if name not in profile_names():
        raise KeyError(f"no profile {name!r}; there are: {', '.join(profile_names())}")
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return Profile.model_validate({"name": name, **tomllib.loads(text)})

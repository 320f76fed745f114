"""Where releases are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_cache() -> Path:
    """The user's cache folder of this tool; the variable METAX_UPGRADE_CACHE puts it elsewhere."""
    override = os.environ.get("METAX_UPGRADE_CACHE")
    if override:
        return Path(override).expanduser()
    return Path(platformdirs.user_cache_dir("metax-upgrade", appauthor=False))

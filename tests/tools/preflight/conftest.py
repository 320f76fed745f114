"""The fixtures of the probe's tests serve here too."""

from tests.tools.environment.conftest import place, start

__all__ = ["place", "start"]

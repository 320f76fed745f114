"""The workflow: sessions, steps, settings and the command line. The work itself is in ``tools``."""


def tool_version() -> str:
    """Version of the installed product."""
    from importlib.metadata import version

    return version("metax-upgrade")

"""Entry point of ``metax-upgrade``; the commands stand in ``agent.commands``.

Nothing is imported before the interrupt is guarded, so that Ctrl-C during start-up is as quiet as later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer

COMMANDS = "metax_upgrade.commands"
"""Entry points of other packages that add a group of commands; the name of one is the group's."""


def main() -> None:
    """Runs the command line and exits."""
    try:
        from agent.commands import app

        _extend(app)
        app()
    except KeyboardInterrupt:
        import sys

        print("\nmetax-upgrade: interrupted. Nothing was begun.", file=sys.stderr)
        sys.exit(130)


def _extend(app: typer.Typer) -> None:
    from importlib.metadata import entry_points

    for found in entry_points(group=COMMANDS):
        app.add_typer(found.load(), name=found.name)

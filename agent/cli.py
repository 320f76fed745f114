"""Entry point of ``metax-upgrade``; the commands stand in ``agent.commands``.

Nothing is imported before the interrupt is guarded, so that Ctrl-C during start-up is as quiet as later.
"""

from __future__ import annotations


def main() -> None:
    """Runs the command line and exits."""
    try:
        from agent.commands import app

        app()
    except KeyboardInterrupt:
        import sys

        print("\nmetax-upgrade: interrupted. Nothing was begun.", file=sys.stderr)
        sys.exit(130)

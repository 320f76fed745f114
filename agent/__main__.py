"""``python -m agent`` is ``metax-upgrade``."""

from agent.cli import main

main()

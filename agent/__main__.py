"""``python -m agent`` is ``metax-upgrade``."""

from agent.cli import main

# Worker processes import this module again.
if __name__ == "__main__":
    main()

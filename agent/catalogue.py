"""The checks as a person reads them: one line each, or one's documentation page."""

from __future__ import annotations

from agent.errors import wrong_use


def lines() -> list[str]:
    """Id and title of every check."""
    from tools.review import rules

    known = rules()
    width = max((len(name) for name in known), default=0)
    return [f"{name:<{width}}  {info.title}" for name, info in sorted(known.items())]


def page(name: str) -> str:
    """Documentation of one check. Raises Stop (wrong use) when there is none of that name."""
    from tools.review import rules

    known = {check.upper(): info for check, info in rules().items()}
    info = known.get(name.upper())
    if info is None:
        names = ", ".join(sorted(known))
        raise wrong_use(f"check {name!r}", "there is none of that name", f"There are: {names}.")
    return f"{name.upper()}: {info.title}\n\n{info.help.strip()}"

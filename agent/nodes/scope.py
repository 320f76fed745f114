"""Settles which plugin is reviewed and with which profile."""

from __future__ import annotations

from pathlib import Path

from agent.state import ReviewState
from agent.subject import settle
from agent.workbench import Workbench


def run(state: ReviewState, bench: Workbench) -> ReviewState:
    """Adds the plugin's specification and the profile's name."""
    request = state["request"]
    spec, profile = settle(request["plugin"] or None, request["profile"], Path(request["cwd"]))
    return {"plugin": spec, "profile": profile.name}

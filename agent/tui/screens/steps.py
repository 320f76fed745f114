"""The workflow while it runs: steps, what each took, and how far the present one is."""

from __future__ import annotations

import time

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Footer, ProgressBar, Static

from agent.tui.desk import Event, Progressed, StepBegun, StepEnded


class StepsScreen(Screen[None]):
    """One line a step."""

    CSS = """
    StepsScreen { align: center middle; }
    #box { width: 70; max-width: 100%; height: auto; border: round $primary; padding: 1 2; }
    #label { height: 1; margin-top: 1; color: $text-muted; }
    """

    def __init__(self, title: str, steps: tuple[str, ...]) -> None:
        super().__init__()
        self.heading, self.steps = title, steps
        self.took: dict[str, float] = {}
        self.running: tuple[str, float] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="box"):
            yield Static(Text(self.heading, style="bold"))
            yield Static(id="steps")
            yield Static(id="label")
            yield ProgressBar(id="bar", show_eta=False)
        yield Footer()

    def on_mount(self) -> None:
        self._draw()
        self.set_interval(0.2, self._draw)

    def tell(self, event: Event) -> None:
        """Something happened in the workflow."""
        if isinstance(event, StepBegun):
            self.running = event.name, time.monotonic()
        elif isinstance(event, StepEnded):
            self.took[event.name] = event.seconds
            self.running = None
        elif isinstance(event, Progressed):
            self.query_one("#label", Static).update(Text(event.label))
            self.query_one(ProgressBar).update(total=event.total, progress=event.done)
        self._draw()

    def _draw(self) -> None:
        text = Text()
        for step in self.steps:
            if step in self.took:
                text.append(f"  done     {step:<14}{self.took[step]:6.1f} s\n", style="green")
            elif self.running is not None and self.running[0] == step:
                text.append(
                    f"> running  {step:<14}{time.monotonic() - self.running[1]:6.1f} s\n", style="bold"
                )
            else:
                text.append(f"  waiting  {step}\n", style="dim")
        self.query_one("#steps", Static).update(text)

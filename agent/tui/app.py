"""The terminal app: runs the workflow in a thread, and shows what it found."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from agent.errors import Stop
from agent.tui.board import Sort
from agent.tui.desk import Desk, Event, Work
from agent.tui.screens.findings import FindingsScreen
from agent.tui.screens.steps import StepsScreen


class UpgradeApp(App[int]):
    """One session from its steps to its findings. Without steps, the findings are opened at once."""

    TITLE = "metax-upgrade"
    BINDINGS = [
        Binding("q", "quit", "Quit"),
        Binding("question_mark", "toggle_help", "Keys"),
    ]

    def __init__(self, title: str, steps: tuple[str, ...], run: Work) -> None:
        super().__init__()
        self.run_title, self.steps, self._work = title, steps, run
        self.stopped: BaseException | None = None
        """What ended the workflow early; the command says it after the screen is gone."""

    def on_mount(self) -> None:
        self._shown = StepsScreen(self.run_title, self.steps)
        self.push_screen(self._shown)
        self._drive()

    @work(thread=True)
    def _drive(self) -> None:
        try:
            desk = self._work(lambda event: self.call_from_thread(self._tell, event))
        except BaseException as error:  # noqa: BLE001 - the border of a thread: told where the command ends
            self.call_from_thread(partial(self._work_failed, error))
            return
        self.call_from_thread(self._work_done, desk)

    def _tell(self, event: Event) -> None:
        self._shown.tell(event)

    def _work_done(self, desk: Desk) -> None:
        self.switch_screen(FindingsScreen(desk))

    def _work_failed(self, error: BaseException) -> None:
        self.stopped = error
        self.exit(int(error.status) if isinstance(error, Stop) else 1)

    def action_toggle_help(self) -> None:
        """All keys that work here, in a panel at the side."""
        if self.screen.query("HelpPanel"):
            self.action_hide_help_panel()
        else:
            self.action_show_help_panel()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the command palette offers."""
        yield from super().get_system_commands(screen)
        if isinstance(screen, FindingsScreen):
            for sort in Sort:
                yield SystemCommand(f"Sort: {sort}", "Order of the findings", partial(screen.sort_by, sort))

"""Every key of the findings screen, and how long one takes with many findings."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static, Tabs

from agent.errors import Exit, Stop
from agent.tui.app import UpgradeApp
from agent.tui.code_view import CodeView
from agent.tui.desk import Desk, Progressed, StepBegun, StepEnded, Tell
from agent.tui.screens.findings import FindingsScreen
from agent.tui.screens.steps import StepsScreen
from tests.agent.tui.desks import desk, many
from tools.findings import Finding

Script = Callable[[Pilot[int]], Awaitable[None]]


def play(script: Script, *findings: Finding, size: tuple[int, int] = (120, 40)) -> UpgradeApp:
    """Run ``script`` at the findings screen."""

    def work(tell: Tell) -> Desk:
        return desk(*findings)

    return run(UpgradeApp("an upgrade", ("scope", "check"), work), at_findings(script), size)


def run(app: UpgradeApp, script: Script, size: tuple[int, int] = (120, 40)) -> UpgradeApp:
    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await script(pilot)

    asyncio.run(main())
    return app


def at_findings(script: Script) -> Script:
    async def played(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: isinstance(pilot.app.screen, FindingsScreen))
        await settled(pilot)
        await script(pilot)

    return played


async def until(pilot: Pilot[int], true: Callable[[], bool]) -> None:
    for _ in range(200):
        if true():
            return
        await pilot.pause(0.02)
    raise AssertionError("it did not happen within four seconds")


async def settled(pilot: Pilot[int]) -> None:
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def rows(pilot: Pilot[int]) -> list[str]:
    table = pilot.app.screen.query_one("#table", DataTable)
    return [str(key.value)[-1] for key in table.rows]


def code(pilot: Pilot[int]) -> CodeView:
    return pilot.app.screen.query_one(CodeView)


def status(pilot: Pilot[int]) -> str:
    return str(pilot.app.screen.query_one("#status", Static).render())


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
def test_findings_with_the_evidence_of_the_first(size: tuple[int, int]) -> None:
    async def script(pilot: Pilot[int]) -> None:
        assert rows(pilot) == ["1", "3", "2"]
        assert "2 errors, 1 warning" in status(pilot)
        assert code(pilot).painted.pane.title == "p/b.py:1"
        # Nothing is pushed off the screen, and both halves are there.
        table, evidence = (pilot.app.screen.query_one(n).region for n in ("#table", "#evidence"))
        assert table.area > 0
        assert evidence.area > 0
        assert pilot.app.screen.region.contains_region(evidence)

    play(script, size=size)


def test_moving_shows_the_evidence_of_each() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("down")
        await settled(pilot)
        assert code(pilot).painted.pane.title == "p/a.py:2"
        await pilot.press("p")
        await settled(pilot)
        assert code(pilot).painted.pane.title == "p/b.py:1"
        await pilot.press("n", "n")
        await settled(pilot)
        assert code(pilot).painted.pane.title == "p/b.py:6"

    play(script)


def test_tabs_by_number_and_in_turn() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("down", "down", "4")
        await settled(pilot)
        assert "base -> target" in code(pilot).painted.pane.text
        await pilot.press("right_square_bracket")
        await settled(pilot)
        assert pilot.app.screen.query_one(Tabs).active == "commits"
        await pilot.press("left_square_bracket", "left_square_bracket")
        await settled(pilot)
        assert code(pilot).painted.pane.title == "vllm/a.py:1"

    play(script)


def test_filter_and_its_faults() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("slash", *"is:silent", "enter")
        assert rows(pilot) == ["2"]
        assert pilot.app.screen.query_one("#table").has_focus
        await pilot.press("slash", *"xx")
        assert "is:silentxx is not known" in status(pilot)
        assert rows(pilot) == ["2"]
        await pilot.press("escape", "escape")
        assert rows(pilot) == ["1", "3", "2"]
        assert pilot.app.screen.query_one("#query", Input).value == ""

    play(script)


def test_nothing_left() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("slash", *"zzz", "enter")
        await settled(pilot)
        assert rows(pilot) == []
        assert "nothing matches" in str(pilot.app.screen.query_one("#told", Static).render())
        await pilot.press("space", "n", "s", "4")

    play(script)


def test_marks_and_orders() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("space", "space")
        assert "2 marked" in status(pilot)
        await pilot.press("s")
        assert rows(pilot) == ["2", "1", "3"]
        assert "sorted by check" in status(pilot)
        await pilot.press("slash", *"is:marked", "enter")
        assert rows(pilot) == ["1", "3"]

    play(script)


def test_evidence_alone_and_back() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("enter")
        assert code(pilot).has_focus
        await pilot.press("m")
        assert not pilot.app.screen.query_one("#table").display
        await pilot.press("escape")
        assert pilot.app.screen.query_one("#table").display
        assert pilot.app.screen.query_one("#table").has_focus

    play(script)


def test_the_mouse() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.click("#table", offset=(20, 3))
        await settled(pilot)
        assert code(pilot).painted.pane.title == "p/b.py:6"
        await pilot.click("#diff")
        await settled(pilot)
        assert pilot.app.screen.query_one(Tabs).active == "diff"

    play(script)


def test_keys_are_listed() -> None:
    async def script(pilot: Pilot[int]) -> None:
        await pilot.press("question_mark")
        await pilot.pause()
        assert pilot.app.screen.query("HelpPanel")
        await pilot.press("question_mark")
        await pilot.pause()
        assert not pilot.app.screen.query("HelpPanel")

    play(script)


def test_two_thousand_findings_are_all_there() -> None:
    async def script(pilot: Pilot[int]) -> None:
        assert len(rows(pilot)) == 2000
        await pilot.press("end")
        await settled(pilot)
        await pilot.press("slash", *"'number 1999'", "enter")
        assert len(rows(pilot)) == 1

    play(script, *many(2000))


def test_steps_are_shown_while_they_run() -> None:
    go = threading.Event()

    def work(tell: Tell) -> Desk:
        tell(StepBegun("scope"))
        tell(StepEnded("scope", 1.25))
        tell(StepBegun("check"))
        tell(Progressed("checking", 3, 10))
        assert go.wait(10)
        return desk()

    async def script(pilot: Pilot[int]) -> None:
        def steps() -> str:
            return str(pilot.app.screen.query_one("#steps", Static).render())

        await until(pilot, lambda: isinstance(pilot.app.screen, StepsScreen) and "running  check" in steps())
        assert "done     scope            1.2 s" in steps()
        assert "waiting  report" in steps()
        await until(pilot, lambda: str(pilot.app.screen.query_one("#label", Static).render()) == "checking")
        go.set()
        await until(pilot, lambda: isinstance(pilot.app.screen, FindingsScreen))

    run(UpgradeApp("an upgrade", ("scope", "check", "report"), work), script)


def test_what_stops_the_work_is_kept_for_the_command() -> None:
    def work(tell: Tell) -> Desk:
        raise Stop(Exit.BLOCKED, "vllm==9", "no such release", "Name another.")

    async def script(pilot: Pilot[int]) -> None:
        await until(pilot, lambda: not pilot.app.is_running or pilot.app.return_value is not None)

    app = run(UpgradeApp("an upgrade", ("scope",), work), script)
    assert isinstance(app.stopped, Stop)
    assert app.return_value == int(Exit.BLOCKED)

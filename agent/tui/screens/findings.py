"""The table of findings beside the evidence of the one under the cursor."""

from __future__ import annotations

from functools import partial

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static, Tabs
from textual.widgets import Tab as TabLabel
from textual.worker import get_current_worker

from agent.tui.board import BadQuery, Board, Sort
from agent.tui.code_view import CodeView, Painted
from agent.tui.desk import Desk
from agent.tui.panes import Pane, Tab
from tools.findings import Finding, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_COLUMNS = (("", 1), ("sev", 5), ("check", 6), ("place", 38), ("what", 160))


class FindingsScreen(Screen[None]):
    """Filter, sort and mark findings; read their evidence."""

    BINDING_GROUP_TITLE = "Findings"
    BINDINGS = [
        Binding("slash", "filter", "Filter"),
        Binding("escape", "back", "Table", show=False),
        Binding("s", "sort", "Sort"),
        Binding("space", "mark", "Mark"),
        Binding("enter", "evidence", "Evidence", show=False),
        Binding("n", "step(1)", "Next", show=False),
        Binding("p", "step(-1)", "Previous", show=False),
        Binding("right_square_bracket", "tab(1)", "Tab >", show=False),
        Binding("left_square_bracket", "tab(-1)", "< Tab", show=False),
        *[Binding(str(n), f"show('{tab.value}')", tab.value, show=False) for n, tab in enumerate(Tab, 1)],
        Binding("m", "maximize_pane", "Zoom"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (130, "-wide")]
    CSS = """
    FindingsScreen { layout: vertical; }
    #title { height: 1; background: $primary; color: $text; text-style: bold; padding: 0 1; }
    #status { height: 1; padding: 0 1; color: $text-muted; }
    #query { height: 1; border: none; padding: 0 1; background: $boost; }
    #query.-bad { background: $error 30%; }
    #body { height: 1fr; }
    FindingsScreen.-narrow #body { layout: vertical; }
    FindingsScreen.-wide #body { layout: horizontal; }
    #table { height: 1fr; width: 1fr; overflow-x: hidden; }
    #evidence { height: 1fr; width: 1fr; }
    FindingsScreen.-narrow #table { height: 2fr; }
    FindingsScreen.-narrow #evidence { height: 3fr; border-top: solid $primary; }
    FindingsScreen.-wide #evidence { border-left: solid $primary; }
    #evidence.-alone { width: 1fr; height: 1fr; }
    #told { height: auto; max-height: 4; padding: 0 1; }
    """

    def __init__(self, desk: Desk) -> None:
        super().__init__()
        self.desk = desk
        self.board = Board(desk.report)
        self.tab = Tab.LOCAL

    def compose(self) -> ComposeResult:
        yield Static(Text(self.desk.title, no_wrap=True, overflow="ellipsis"), id="title")
        yield Input(
            placeholder="filter: words, check:IMP severity:error file:platform is:silent",
            id="query",
            select_on_focus=False,
        )
        with Horizontal(id="body"):
            yield DataTable(id="table", cursor_type="row", zebra_stripes=True)
            with Vertical(id="evidence"):
                yield Static(id="told")
                yield Tabs(*[TabLabel(tab.value, id=tab.name.lower()) for tab in Tab], id="tabs")
                yield CodeView(id="code")
        yield Static(id="status")
        yield Footer()

    def on_mount(self) -> None:
        table = self.query_one("#table", DataTable)
        for name, width in _COLUMNS:
            table.add_column(name, key=name or "mark", width=width)
        self._fill()
        table.focus()

    # ---- table ----

    def _fill(self, keep: str | None = None) -> None:
        """Put the board's rows into the table, the cursor where it was."""
        table = self.query_one("#table", DataTable)
        with self.app.batch_update():
            table.clear()
            for finding in self.board.shown:
                table.add_row(*self._cells(finding), key=finding.id)
            if keep is not None and keep in table.rows:
                table.move_cursor(row=table.get_row_index(keep))
        sort = "" if self.board.sort is Sort.RANK else f"  ·  sorted by {self.board.sort}"
        marks = f"  ·  {len(self.board.marks)} marked" if self.board.marks else ""
        self.query_one("#status", Static).update(Text(self.board.counts() + sort + marks))
        if not self.board.shown:
            self._show_none()

    def _cells(self, finding: Finding) -> list[Text]:
        mark = "*" if finding.id in self.board.marks else ""
        severity = Text(finding.severity.value[:5].removesuffix("i"), style=_COLOURS[finding.severity])
        place = f"{finding.path.partition('/')[2] or finding.path}:{finding.line}"
        # The end of a path says more than its beginning.
        place = place if len(place) <= 38 else "…" + place[-37:]
        flags = ("" if finding.introduced else "(old) ") + ("(silent) " if finding.silent else "")
        open_ = "" if finding.status == "open" else f"[{finding.status}] "
        what = Text(f"{open_}{flags}{finding.message}", no_wrap=True, overflow="ellipsis")
        return [Text(mark), severity, Text(finding.check), Text(place), what]

    @property
    def current(self) -> Finding | None:
        """The finding under the cursor."""
        table = self.query_one("#table", DataTable)
        if not table.row_count:
            return None
        return self.board.by_id[str(table.coordinate_to_cell_key(table.cursor_coordinate).row_key.value)]

    @on(DataTable.RowHighlighted, "#table")
    def _moved(self) -> None:
        self._show()

    @on(DataTable.RowSelected, "#table")
    def _chosen(self) -> None:
        self.query_one(CodeView).focus()

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        try:
            self.board = self.board.filtered(event.value)
        except BadQuery as why:
            self.query_one("#query").add_class("-bad")
            self.query_one("#status", Static).update(Text(str(why)))
            return
        self.query_one("#query").remove_class("-bad")
        self._fill()

    @on(Input.Submitted, "#query")
    def _done(self) -> None:
        self.query_one("#table").focus()

    # ---- evidence ----

    @on(Tabs.TabActivated, "#tabs")
    def _turned(self, event: Tabs.TabActivated) -> None:
        self.tab = Tab[str(event.tab.id).upper()]
        self._show()

    def _show(self) -> None:
        finding = self.current
        if finding is None:
            return
        told = Text(finding.message)
        told.append(f"\n{finding.consequence}", style="dim")
        self.query_one("#told", Static).update(told)
        self._load(finding, self.tab)

    def _show_none(self) -> None:
        self.query_one("#told", Static).update("nothing matches the filter")
        self.query_one(CodeView).show(Painted(Pane("", "")))

    @work(thread=True, exclusive=True, group="pane")
    def _load(self, finding: Finding, tab: Tab) -> None:
        """Reading and colouring a long file takes longer than a key may."""
        worker = get_current_worker()
        painted = Painted(self.desk.pane(finding, tab))
        if not worker.is_cancelled:
            self.app.call_from_thread(partial(self._loaded, finding.id, tab, painted))

    def _loaded(self, finding: str, tab: Tab, painted: Painted) -> None:
        current = self.current
        if current is not None and current.id == finding and tab is self.tab:
            self.query_one(CodeView).show(painted)

    # ---- keys ----

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one("#query").focus()

    def action_back(self) -> None:
        """To the table; there, take the filter off."""
        table = self.query_one("#table", DataTable)
        if table.has_focus:
            self.query_one("#query", Input).value = ""
        else:
            self.query_one("#evidence").remove_class("-alone")
            table.display = True
            table.focus()

    def action_sort(self) -> None:
        """Order by the next of: worst first, check, file, status."""
        orders = list(Sort)
        self.sort_by(orders[(orders.index(self.board.sort) + 1) % len(orders)])

    def sort_by(self, sort: Sort) -> None:
        """Order the table."""
        keep = self.current
        self.board = self.board.sorted_by(sort)
        self._fill(keep.id if keep else None)

    def action_mark(self) -> None:
        """Mark the finding, or take the mark off, and go to the next."""
        finding = self.current
        table = self.query_one("#table", DataTable)
        if finding is None or not table.has_focus:
            return
        self.board = self.board.toggled(finding.id)
        table.update_cell(finding.id, "mark", Text("*" if finding.id in self.board.marks else ""))
        self.query_one("#status", Static).update(
            Text(f"{self.board.counts()}  ·  {len(self.board.marks)} marked")
        )
        table.action_cursor_down()

    def action_evidence(self) -> None:
        """Into the evidence."""
        self.query_one(CodeView).focus()

    def action_step(self, by: int) -> None:
        """The next or previous finding, wherever the focus is."""
        table = self.query_one("#table", DataTable)
        table.move_cursor(row=table.cursor_row + by)

    def action_tab(self, by: int) -> None:
        """The next or previous tab."""
        tabs = list(Tab)
        self.action_show(tabs[(tabs.index(self.tab) + by) % len(tabs)].value)

    def action_show(self, name: str) -> None:
        """A tab by its name."""
        self.query_one("#tabs", Tabs).active = Tab(name).name.lower()

    def action_maximize_pane(self) -> None:
        """Evidence over the whole screen, and back."""
        table = self.query_one("#table", DataTable)
        table.display = not table.display
        self.query_one("#evidence").set_class(not table.display, "-alone")
        (table if table.display else self.query_one(CodeView)).focus()

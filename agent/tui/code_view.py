"""A scrolling view of one text: numbers, colours, marked lines. Only visible lines are ever drawn."""

from __future__ import annotations

from functools import cached_property

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers.diff import DiffLexer  # type: ignore[import-untyped]
from pygments.lexers.python import PythonLexer  # type: ignore[import-untyped]
from pygments.token import (  # type: ignore[import-untyped]
    Comment,
    Generic,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    Token,
)
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agent.tui.panes import Pane

_LEXERS: dict[str, type[Lexer]] = {"python": PythonLexer, "diff": DiffLexer}
_COLOURS = (
    # Colours of the terminal's own palette: readable in 16 colours, on dark and on light ground.
    (Comment, Style(color="bright_black", italic=True)),
    (String.Doc, Style(color="bright_black", italic=True)),
    (String, Style(color="green")),
    (Keyword, Style(color="magenta")),
    (Operator.Word, Style(color="magenta")),
    (Number, Style(color="cyan")),
    (Name.Decorator, Style(color="yellow")),
    (Name.Function, Style(color="blue", bold=True)),
    (Name.Class, Style(color="blue", bold=True)),
    (Generic.Inserted, Style(color="green")),
    (Generic.Deleted, Style(color="red")),
    (Generic.Heading, Style(bold=True)),
    (Generic.Subheading, Style(color="cyan")),
)
_PLAIN = Style()
Line = list[tuple[str, Style]]


class Painted:
    """A pane with its colours worked out: slow for long files, and done off the screen's thread."""

    def __init__(self, pane: Pane) -> None:
        self.pane = pane
        self.lines: list[Line] = [[]]
        for kind, value in self._tokens():
            style = next((s for family, s in _COLOURS if kind in family), _PLAIN)
            first, *rest = value.split("\n")
            if first:
                self.lines[-1].append((first, style))
            for part in rest:
                self.lines.append([(part, style)] if part else [])
        if not self.lines[-1]:
            self.lines.pop()

    def _tokens(self) -> list[tuple[object, str]]:
        text = self.pane.text.expandtabs(4).replace("\r\n", "\n")
        # Control characters of a file must not reach the terminal.
        text = "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
        lexer = _LEXERS.get(self.pane.language)
        if lexer is None:
            return [(Token, text)]
        return list(lexer(stripnl=False, ensurenl=False).get_tokens(text))

    @cached_property
    def width(self) -> int:
        """Cells of the widest line, without numbers."""
        return max((sum(len(part) for part, _ in line) for line in self.lines), default=0)

    @property
    def gutter(self) -> int:
        """Cells of the line numbers."""
        return len(str(self.pane.first + len(self.lines))) + 1 if self.pane.numbered else 0


class CodeView(ScrollView, can_focus=True):
    """Shows what it is given; ``j`` and ``k`` move as in a pager."""

    DEFAULT_CSS = """
    CodeView { height: 1fr; background: $surface; color: $foreground; }
    CodeView:focus { background-tint: $foreground 4%; }
    """
    BINDINGS = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
        Binding("g", "scroll_home", "Top", show=False),
        Binding("G", "scroll_end", "End", show=False),
        Binding("z", "focus_line", "To the place"),
    ]
    COMPONENT_CLASSES = {"code--number", "code--mark", "code--focus"}
    DEFAULT_CSS += """
    CodeView > .code--number { color: $text-muted; }
    CodeView > .code--mark { background: $warning 15%; }
    CodeView > .code--focus { background: $warning 35%; text-style: bold; }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.painted = Painted(Pane("", ""))

    def show(self, painted: Painted) -> None:
        """Show another text, scrolled to its place."""
        self.painted = painted
        self.virtual_size = Size(painted.gutter + painted.width + 1, max(len(painted.lines), 1))
        self.border_title = painted.pane.title
        self.scroll_to(0, 0, animate=False)
        self.refresh()
        self.call_after_refresh(self.action_focus_line)

    def action_focus_line(self) -> None:
        """Scroll so that the line in question stands in the upper third."""
        focus = self.painted.pane.focus
        if focus is not None:
            top = max(focus - self.painted.pane.first - self.size.height // 3, 0)
            self.scroll_to(0, top, animate=False)

    def render_line(self, y: int) -> Strip:
        left, top = self.scroll_offset
        number = top + y
        base = self.rich_style
        width = self.size.width
        if number >= len(self.painted.lines):
            return Strip.blank(width, base)
        pane, shown = self.painted.pane, self.painted.pane.first + number
        ground = base
        if shown == pane.focus:
            ground = self.get_component_rich_style("code--focus")
        elif shown in pane.marks:
            ground = self.get_component_rich_style("code--mark")
        code = Strip([Segment(text, ground + style) for text, style in self.painted.lines[number]])
        gutter = self.painted.gutter
        strip = code.crop(left, left + width - gutter).extend_cell_length(width - gutter, ground)
        if gutter:
            muted = ground + self.get_component_rich_style("code--number", partial=True)
            strip = Strip([Segment(f"{shown:>{gutter - 1}} ", muted), *strip])
        return strip

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.refresh(Region(0, 0, *self.size))

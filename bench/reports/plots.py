"""Bar charts as SVG, written by hand: one picture a load.  Pure."""

from collections.abc import Sequence
from html import escape

from attrs import frozen

WIDTH = 720
LABEL_WIDTH = 210
FIGURE_WIDTH = 90
BAR_HEIGHT = 22
BAR_GAP = 8
TOP = 44
BOTTOM = 12
_FONT = "font-family='system-ui, sans-serif'"
_OURS = "#1a6fb5"
_OTHERS = "#9aa7b4"


@frozen
class Bar:
    """One bar: what it is of, how long it is, and what is written at its end."""

    label: str
    length: float
    figure: str
    is_ours: bool = False


def bar_chart(title: str, note: str, bars: Sequence[Bar]) -> str:
    """An SVG document of *bars*, one below the other, the longest over the whole width."""
    height = TOP + len(bars) * (BAR_HEIGHT + BAR_GAP) + BOTTOM
    longest = max((bar.length for bar in bars), default=0.0) or 1.0
    room = WIDTH - LABEL_WIDTH - FIGURE_WIDTH
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' width='{WIDTH}' height='{height}' role='img'>",
        f"<title>{escape(title)}</title>",
        "<rect width='100%' height='100%' fill='white'/>",
        f"<text x='12' y='18' {_FONT} font-size='14' font-weight='600' fill='#111'>{escape(title)}</text>",
        f"<text x='12' y='35' {_FONT} font-size='12' fill='#555'>{escape(note)}</text>",
    ]
    for number, bar in enumerate(bars):
        y = TOP + number * (BAR_HEIGHT + BAR_GAP)
        length = room * bar.length / longest
        baseline = y + BAR_HEIGHT - 6
        lines += [
            f"<text x='{LABEL_WIDTH - 8}' y='{baseline}' {_FONT} font-size='13' fill='#111' text-anchor='end'>{escape(bar.label)}</text>",
            f"<rect x='{LABEL_WIDTH}' y='{y}' width='{length:.1f}' height='{BAR_HEIGHT}' fill='{_OURS if bar.is_ours else _OTHERS}'/>",
            f"<text x='{LABEL_WIDTH + length + 6:.1f}' y='{baseline}' {_FONT} font-size='13' fill='#111'>{escape(bar.figure)}</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])

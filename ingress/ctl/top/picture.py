"""What the screen shows: lines made of a board, for the size that there is.  Pure."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

from attrs import evolve

from ingress.ctl.columns import columns, cut_inside, padded
from ingress.ctl.top.board import Board, Endpoint, HistoryEntry, Numbers, Row
from ingress.ctl.top.spans import Line, Look, Span, joined, line
from ingress.model.frozen import frozen
from ingress.wording import number_of

_BARS: Final = "▁▂▃▄▅▆▇█"
_BARS_WIDTH: Final = 30
_NEWS_LINES: Final = 4
"""Of the last failures and changes each, below the routes, where there is room."""
_LEAST_FOR_NEWS: Final = 24
_HEADER_LINES: Final = 4
_LEAST_NAME: Final = 16


class Sheet(Enum):
    """Which table is shown."""

    ROUTES = "routes"
    FAILURES = "failures"
    CHANGES = "changes"
    ENDPOINTS = "endpoints"


class Order(Enum):
    """By what routes are sorted; the value is the key for it."""

    TROUBLE = "t"
    REQUESTS = "r"
    SLOWNESS = "p"
    NAME = "n"


_ORDERED_BY: Final[dict[Order, Callable[[Row], Any]]] = {
    Order.TROUBLE: lambda row: (-row.failing, -bool(row.last_failure), -row.per_second, row.name),
    Order.REQUESTS: lambda row: (-row.per_second, row.name),
    Order.SLOWNESS: lambda row: (-(row.p99 or 0.0), row.name),
    Order.NAME: lambda row: row.name,
}
_SHEETS: Final = tuple(Sheet)
_NOTHING: Final = {
    Sheet.ROUTES: "no route is asked for",
    Sheet.FAILURES: "no failure is remembered",
    Sheet.CHANGES: "no change is remembered",
    Sheet.ENDPOINTS: "all endpoints are in rotation",
}
"""What a table says that has no rows."""


@frozen
class Asked:
    """What somebody wants to see."""

    sheet: Sheet = Sheet.ROUTES
    order: Order = Order.TROUBLE
    first: int = 0
    """How many rows of the table are above what is seen."""
    is_over: bool = False

    def after(self, key: str, page: int) -> "Asked":
        """Return what is wanted after *key*, where *page* rows are seen at once."""
        moves = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -page, "page down": page}
        if key in ("q", "Q"):
            return evolve(self, is_over=True)
        if key in moves:
            return evolve(self, first=max(0, self.first + moves[key]))
        if key in ("home", "g"):
            return evolve(self, first=0)
        if key in ("end", "G"):
            return evolve(self, first=1 << 30)
        if key in ("left", "right"):
            step = 1 if key == "right" else -1
            return evolve(self, sheet=_SHEETS[(_SHEETS.index(self.sheet) + step) % len(_SHEETS)], first=0)
        if key in ("1", "2", "3", "4"):
            return evolve(self, sheet=_SHEETS[int(key) - 1], first=0)
        if any(key == order.value for order in Order):
            return evolve(self, sheet=Sheet.ROUTES, order=Order(key), first=0)
        return self


@frozen
class Terminal:
    """What there is to draw on."""

    width: int
    height: int
    has_bars: bool = True
    """Whether it has the characters for them."""


def picture(board: Board, asked: Asked, terminal: Terminal, said: str = "") -> tuple[list[Line], Asked]:
    """Return the lines of the screen, and *asked* with what there is; *said* is what to tell of the connection, if anything."""
    height = terminal.height
    head, rows = _table(board, asked, terminal.width)
    news = _news(board, terminal) if asked.sheet is Sheet.ROUTES and height >= _LEAST_FOR_NEWS else []
    room = rows_seen(asked, terminal, len(news))
    asked = evolve(asked, first=max(0, min(asked.first, len(rows) - room)))
    seen = rows[asked.first : asked.first + room] or [line(Span(_NOTHING[asked.sheet], Look.FAINT))]
    above = [*_header(board, terminal, said), head]
    filled = [*above, *seen, *[()] * (room - len(seen)), *news][: max(0, height - 1)]
    return [*filled, _footer(asked, len(rows), room)][:height], asked


def rows_seen(asked: Asked, terminal: Terminal, news: int | None = None) -> int:
    """Return how many rows of the table are seen at once."""
    if news is None:
        news = (
            2 * (_NEWS_LINES + 1) if asked.sheet is Sheet.ROUTES and terminal.height >= _LEAST_FOR_NEWS else 0
        )
    return max(1, terminal.height - _HEADER_LINES - 2 - news)


def printed(board: Board, width: int) -> list[Line]:
    """Return all that there is as lines of text, for somebody who reads it once."""
    terminal = Terminal(width, 0, has_bars=False)
    lines = _header(board, terminal, "")
    for sheet in Sheet:
        head, rows = _table(board, Asked(sheet), width)
        if rows:
            lines += [(), head, *rows]
    return lines


def _header(board: Board, terminal: Terminal, said: str) -> list[Line]:
    status, numbers = board.status, board.numbers
    is_ready = Span("ready", Look.GOOD)
    missing = Span(f"not ready: {'; '.join(status.missing) or 'it does not say why'}", Look.BAD)
    name = f"txingress {status.version}".rstrip()
    first = joined(
        (
            Span(name, Look.BOLD),
            status.pod,
            is_ready if status.is_ready else missing if board.is_known else "",
            status.leader,
            "" if status.workers is None else number_of(int(status.workers), "worker"),
            f"{number_of(int(status.routes), 'route')} of {number_of(int(status.hosts), 'host')}",
            Span(number_of(int(status.problems), "problem"), Look.ODD) if status.problems else "",
        )
    )
    bars = _bars(board.history) if terminal.has_bars else ""
    second = joined((f"{_number(numbers.per_second)} requests/s", Span(bars, Look.FAINT), *_times(numbers)))
    third = joined(_connections(numbers))
    failures = "  ".join(f"{cause} {number:.0f}" for cause, number in numbers.failures)
    fourth = (
        line(Span(said, Look.BAD))
        if said
        else line("failed in 5 minutes: ", Span(failures, Look.BAD) if failures else "none")
    )
    return [first, second, third, fourth]


def _times(numbers: Numbers) -> Iterable[str]:
    yield f"p50 {_seconds(numbers.p50)}"
    yield f"p99 {_seconds(numbers.p99)}"
    yield f"upstream p99 {_seconds(numbers.upstream_p99)}"
    if numbers.lag is not None:
        yield f"late {_seconds(numbers.lag)}"


def _connections(numbers: Numbers) -> Iterable[str | Span]:
    most = "" if numbers.most_clients is None else f" of {numbers.most_clients:.0f}"
    yield f"{_whole(numbers.clients)}{most} {'connection' if numbers.clients == 1 and not most else 'connections'}"
    yield f"{_whole(numbers.endpoints)} {'endpoint' if numbers.endpoints == 1 else 'endpoints'}"
    if numbers.ejected:
        yield Span(f"{numbers.ejected:.0f} ejected", Look.BAD)
    if numbers.next_certificate:
        yield f"next certificate to end: {numbers.next_certificate}"


def _table(board: Board, asked: Asked, width: int) -> tuple[Line, list[Line]]:
    if asked.sheet is Sheet.ROUTES:
        rows = sorted(board.rows.values(), key=_ORDERED_BY[asked.order])
        return _routes(rows, asked.order, width)
    if asked.sheet is Sheet.ENDPOINTS:
        return _endpoints(board.endpoints, width)
    entries = board.failures if asked.sheet is Sheet.FAILURES else board.changes
    title = "FAILED" if asked.sheet is Sheet.FAILURES else "CHANGED"
    return _history(title, tuple(entries)[::-1], width)


def _routes(rows: Sequence[Row], order: Order, width: int) -> tuple[Line, list[Line]]:
    longest = max((columns(row.name) for row in rows), default=0)
    last = max((columns(row.last_failure) for row in rows), default=0)
    name = max(_LEAST_NAME, min(longest, width - 33 - last))
    titles = {
        Order.NAME: padded("INGRESS/SERVICE", name),
        Order.REQUESTS: f"{'REQ/S':>8}",
        Order.TROUBLE: f"{'FAILING':>8}",
        Order.SLOWNESS: f"{'P99':>9}",
    }
    head = joined(
        (
            *(
                Span(titles[one], Look.TURNED if one is order else Look.BOLD)
                for one in (Order.NAME, Order.REQUESTS, Order.TROUBLE, Order.SLOWNESS)
            ),
            Span("LAST FAILURE", Look.BOLD),
        ),
        " ",
    )
    return head, [_route(row, name) for row in rows]


def _route(row: Row, name: int) -> Line:
    failing = f"{row.failing:>8.1%}" if row.failing else f"{'':>8}"
    return line(
        padded(cut_inside(row.name or "no route", name), name),
        f" {_number(row.per_second):>8} ",
        Span(failing, Look.BAD if row.failing else Look.PLAIN),
        f" {_seconds(row.p99):>9} ",
        Span(row.last_failure, Look.ODD),
    )


def _history(title: str, entries: Sequence[HistoryEntry], width: int) -> tuple[Line, list[Line]]:
    what = max((columns(one.what) for one in entries), default=8)
    about = min(max((columns(one.about) for one in entries), default=8), width // 2)
    head = line(Span(f"{padded('AT', 8)}  {padded(title, max(what, len(title)))}", Look.BOLD))
    what = max(what, len(title))
    rows = [
        line(
            Span(padded(one.at, 8), Look.FAINT),
            "  ",
            Span(padded(one.what, what), Look.BAD if one.is_trouble else Look.PLAIN),
            f"  {padded(cut_inside(one.about, about), about)}  ",
            one.text,
        )
        for one in entries
    ]
    return head, rows


def _endpoints(endpoints: Sequence[Endpoint], width: int) -> tuple[Line, list[Line]]:
    address = max((columns(one.endpoint) for one in endpoints), default=8)
    backend = min(max((columns(one.backend) for one in endpoints), default=7), width // 3)
    head = line(
        Span(
            f"{padded('ENDPOINT', address)}  {padded('STATE', 11)}  {padded('BACKEND', backend)}  WHY",
            Look.BOLD,
        )
    )
    rows = [
        line(
            padded(one.endpoint, address),
            "  ",
            Span(padded(one.state, 11), Look.BAD if one.state == "ejected" else Look.ODD),
            f"  {padded(cut_inside(one.backend, backend), backend)}  ",
            one.why,
        )
        for one in endpoints
    ]
    return head, rows


def _news(board: Board, terminal: Terminal) -> list[Line]:
    lines: list[Line] = []
    for title, entries in (("FAILED LAST", board.failures), ("CHANGED LAST", board.changes)):
        head, rows = _history(title, tuple(entries)[::-1][:_NEWS_LINES], terminal.width)
        lines += [head, *rows, *[()] * (_NEWS_LINES - len(rows))]
    return lines


def _footer(asked: Asked, rows: int, room: int) -> Line:
    sheets = [
        Span(f" {number} {sheet.value} ", Look.TURNED if sheet is asked.sheet else Look.PLAIN)
        for number, sheet in enumerate(Sheet, 1)
    ]
    where = f"{asked.first + 1}-{min(asked.first + room, rows)} of {rows}" if rows > room else ""
    by = "sort: trouble requests p99 name" if asked.sheet is Sheet.ROUTES else ""
    return joined((*sheets, Span(where, Look.FAINT), Span("q ends", Look.FAINT), Span(by, Look.FAINT)), " ")


def _bars(history: Iterable[float]) -> str:
    values = [*history][-_BARS_WIDTH:]
    most = max(values, default=0.0)
    if not most:
        return ""
    return "".join(_BARS[min(int(value / most * len(_BARS)), len(_BARS) - 1)] for value in values)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.0f}"
        if value >= 100 or value == int(value)
        else f"{value:.1f}"
        if value >= 1
        else f"{value:.2g}"
    )


def _whole(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.2f} s"
        if value >= 1
        else f"{value * 1000:.0f} ms"
        if value >= 0.01
        else f"{value * 1000:.1f} ms"
    )

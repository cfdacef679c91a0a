"""The stream of a running controller, event by event."""

from collections.abc import Iterator
from typing import Final

from ingress.ctl.admin_port import AdminPort, Unreachable
from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable
from ingress.ctl.top.feed import Event, Feed, FeedError

PAGE: Final = "/api/v1/live"


def follow(port: AdminPort, last_id: str = "") -> Iterator[Event]:
    """Yield what the controller at *port* tells, after what it told with *last_id*; raises ``Mistake``, or ``Unreachable`` at the end."""
    feed = Feed()
    with port.stream(PAGE, last_id) as (status, pieces):
        if status != 200:
            port.refuse(status, PAGE)
            said = printable(next(pieces, b"")[:200].decode("utf-8", "replace").strip())
            raise Unreachable(f"{port.name} answers {status}: {said or 'it does not say why'}")
        try:
            for piece in pieces:
                yield from feed.take(piece)
        except FeedError as error:
            raise Mistake(f"{port.name}: {error}") from None
    raise Unreachable(f"{port.name} has ended its stream")

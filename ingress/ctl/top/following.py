"""The stream of a running controller, event by event; and endpoints, which are not in it."""

import json
from collections.abc import Callable, Iterator
from typing import Final

from ingress.ctl.admin_port import AdminPort, Unreachable
from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable
from ingress.ctl.top.feed import Event, Feed, FeedError

PAGE: Final = "/api/v1/live"
_ENDPOINTS: Final = "/api/v1/endpoints?limit=100&state="
_STATES: Final = ("ejected", "slow-start", "terminating")
_ENDPOINTS_EVERY: Final = 5
"""Signs of life."""


def follow(port: AdminPort, last_id: str, wants_endpoints: Callable[[], bool]) -> Iterator[Event]:
    """Yield what the controller at *port* tells, after what it told with *last_id*; raises ``Mistake``, or ``Unreachable`` at the end."""
    feed, seconds = Feed(), 0
    with port.stream(PAGE, last_id) as (status, pieces):
        if status != 200:
            port.refuse(status, PAGE)
            said = printable(next(pieces, b"")[:200].decode("utf-8", "replace").strip())
            raise Unreachable(f"{port.name} answers {status}: {said or 'it does not say why'}")
        try:
            for piece in pieces:
                for event in feed.take(piece):
                    yield event
                    seconds += event.name in ("", "numbers")
                    if (
                        event.name in ("", "numbers")
                        and seconds % _ENDPOINTS_EVERY == 1
                        and wants_endpoints()
                    ):
                        yield Event("endpoints", {"endpoints": [*_endpoints(port)]})
        except FeedError as error:
            raise Mistake(f"{port.name}: {error}") from None
    raise Unreachable(f"{port.name} has ended its stream")


def _endpoints(port: AdminPort) -> Iterator[object]:
    """Yield those that are not just in rotation, as far as the controller tells."""
    for state in _STATES:
        status, body = port.get(f"{_ENDPOINTS}{state}")
        try:
            data = json.loads(body) if status == 200 else None
        except (ValueError, RecursionError):
            data = None
        found = data.get("endpoints") if isinstance(data, dict) else None
        yield from found if isinstance(found, list) else ()

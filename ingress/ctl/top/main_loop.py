"""Somebody looks: events and keys change what is shown, until a key ends it."""

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, Full, Queue
from threading import Event as Flag
from threading import Thread
from time import monotonic
from typing import Final

from ingress.ctl.admin_port import Unreachable
from ingress.ctl.errors import Mistake
from ingress.ctl.top.board import Board
from ingress.ctl.top.feed import Event
from ingress.ctl.top.keys import keys
from ingress.ctl.top.picture import Asked, Terminal, picture, rows_seen
from ingress.ctl.top.screen import Screen
from ingress.ctl.top.spans import painted

AGAIN_SECONDS: Final = 2.0
MOST_WAITING: Final = 1000

Follow = Callable[[str], Iterator[Event]]
"""Yields events after the last id that was seen; raises ``Mistake``."""


@contextmanager
def _woken_by_size(wake: Callable[[], None]) -> Iterator[None]:
    before = signal.signal(signal.SIGWINCH, lambda number, frame: wake())
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


class MainLoop:
    """One look: *follow* is the stream, *interval* the least seconds between two pictures."""

    def __init__(
        self, follow: Follow, screen: Screen, interval: float, *, has_colour: bool, has_bars: bool
    ) -> None:
        self._follow = follow
        self._screen = screen
        self._interval = interval
        self._has_colour = has_colour
        self._has_bars = has_bars
        self._board = Board()
        self._asked = Asked()
        self._said = ""
        """What is to be told of the connection; empty while all is well."""
        self._mistake: Mistake | None = None
        self._events: Queue[Event | Mistake] = Queue(MOST_WAITING)
        self._is_over = Flag()
        self._wakes, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        os.set_blocking(self._wakes, False)

    def run(self, keys_fd: int) -> None:
        """Show what there is until a key ends it; raises ``Mistake`` where nothing was to be had from the beginning."""
        thread = Thread(target=self._feed, name="stream", daemon=True)
        due = 0.0
        with self._screen.taken(), _woken_by_size(self._wake):
            thread.start()
            try:
                while not self._asked.is_over:
                    now = monotonic()
                    if now >= due:
                        self._draw()
                        due = now + self._interval
                    found, _, _ = select.select([keys_fd, self._wakes], [], [], max(0.0, due - now))
                    if keys_fd in found and self._press(self._screen.read()):
                        due = 0.0
                    if self._wakes in found and self._take():
                        due = 0.0
            finally:
                self._is_over.set()
        if self._mistake is not None:
            raise self._mistake

    def _press(self, octets: bytes) -> bool:
        """Do what was typed; return whether the picture is another one."""
        if not octets:
            self._asked = self._asked.after("q", 1)
        before = self._asked
        for key in keys(octets):
            self._asked = self._asked.after(key, rows_seen(self._asked, self._terminal()))
        return self._asked != before

    def _take(self) -> bool:
        """Take what the stream told; return whether it must be shown at once."""
        try:
            while os.read(self._wakes, 1024):
                pass
        except BlockingIOError:
            pass
        was_known, said = bool(self._board.status.version), self._said
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                break
            if isinstance(event, Event):
                self._said = ""
                self._board.take(event.name, event.data, event.id)
            elif not isinstance(event, Unreachable) and not self._board.is_known:
                self._mistake = event
                self._asked = self._asked.after("q", 1)
            else:
                ended = f"{self._board.why_ended}; " if self._board.why_ended else ""
                self._said = f"{ended}{event.message}; it is asked again every {AGAIN_SECONDS:g} s"
                self._board.begin()
        return self._said != said or bool(self._board.status.version) != was_known

    def _terminal(self) -> Terminal:
        return Terminal(*self._screen.size, self._has_bars)

    def _draw(self) -> None:
        terminal = self._terminal()
        lines, self._asked = picture(self._board, self._asked, terminal, self._said)
        self._screen.draw([painted(one, terminal.width, self._has_colour) for one in lines])

    def _wake(self) -> None:
        try:
            os.write(self._waker, b"\0")
        except BlockingIOError:
            # It is awake by what was written before.
            return

    def _feed(self) -> None:
        """In a thread of its own: follow the stream, again and again."""
        last_id = ""
        while not self._is_over.is_set():
            try:
                for event in self._follow(last_id):
                    last_id = event.id or last_id
                    self._tell(event)
                    if self._is_over.is_set():
                        return
            except Mistake as mistake:
                self._tell(mistake)
            self._is_over.wait(AGAIN_SECONDS)

    def _tell(self, event: Event | Mistake) -> None:
        while not self._is_over.is_set():
            try:
                self._events.put(event, timeout=1.0)
                break
            except Full:
                # Whoever draws is busy, or stopped; the controller lets us go if that lasts.
                continue
        self._wake()

"""Lines of the log on their way to the parent."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define
from twisted.logger import Logger, LogPublisher, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.process.framing import NonsenseError
from ingress.process.logs.program_log import json_line
from ingress.proxy.listening.open_listeners import OpenListeners
from ingress.workers.telling.log_lines import MOST_WAITING_BYTES, LinesToParent, line_sender, tell_line


@define
class Outlet:
    """A parent that reads, or does not, or is gone."""

    is_open: bool = True
    unsent: int = 0


class LinesToParentTests(SynchronousTestCase):
    """``LinesToParent``, with a parent that is played."""

    def setUp(self) -> None:
        self.outlet = Outlet()
        self.sent: list[bytes] = []
        self.left: list[bytes] = []
        self.called: list[Callable[[], None]] = []
        self.is_in_reactor = True
        lines = LinesToParent(
            self.outlet, self.sent.append, self.called.append, lambda: self.is_in_reactor, self.left.append
        )
        publisher = LogPublisher(line_sender(lines.take))
        self.log = Logger(namespace="some.room", observer=publisher)
        self.quiet = Logger(namespace=OpenListeners.log.namespace, observer=publisher)

    def told(self) -> Sequence[dict[str, Any]]:
        """Return the events that come of what was sent."""
        with capturedLogs() as events:
            for line in self.sent:
                tell_line(line, "worker 1", 1)
        return events

    def test_told(self) -> None:
        """A line is told by the parent with its level, time and room, and of which worker it is."""
        self.log.warn("{what} is odd", what="This")
        (event,) = self.told()
        self.assertEqual(formatEvent(event), "This is odd")
        self.assertEqual(event["log_level"].name, "warn")
        self.assertEqual(event["log_system"], "worker 1: some.room#warn")

    def test_as_json(self) -> None:
        """In JSON a line of a worker has its traceback, its request and the worker apart."""
        try:
            raise ValueError("odd")
        except ValueError:
            self.log.failure("It failed", request="17")
        (event,) = self.told()
        told = json.loads(json_line(event) or "")
        self.assertEqual(
            [told[name] for name in ("level", "logger", "process", "request", "message")],
            ["critical", "some.room", "worker 1", "17", "It failed"],
        )
        self.assertIn("ValueError: odd", told["traceback"])
        self.assertNotIn("\n", (json_line(event) or "").rstrip("\n"))

    def test_braces(self) -> None:
        """What looks like a field of a format is text by then, and an exception has its traceback."""
        try:
            raise ValueError("{odd}")
        except ValueError:
            self.log.failure("It failed")
        (event,) = self.told()
        self.assertIn("ValueError: {odd}", formatEvent(event))

    def test_marks(self) -> None:
        """A line that tells of a change of a worker's does so at the parent, too, with the slot; one that only the parent can know does not."""
        mark = Mark(
            ChangeSort.EJECTION, "ejected", "Service", "shop/web", ("a.test",), is_trouble=True, state="s"
        )
        self.log.warn("It is out", change=mark)
        self.log.warn("A listener", change=Mark(ChangeSort.LISTENER, "refused"))
        marked, unmarked = self.told()
        self.assertEqual((marked["change"], marked["slot"]), (mark, 1))
        self.assertNotIn("change", unmarked)

    def test_hostile_marks(self) -> None:
        """A worker that is not itself any more makes no change of what no mark says."""
        good = ["ejection", "ejected", "Service", "shop/web", [], True, "s", False]
        tell_line(json.dumps(["warn", "room", "text", None, "", "", good]).encode(), "worker 1", 1)
        for at, wrong in (
            (0, "object"),
            (0, "nothing"),
            (0, [1]),
            (1, "x" * 9999),
            (2, None),
            (3, {"a": 1}),
            (4, ["h"] * 9),
            (4, [1]),
            (4, 7),
            (5, 1),
            (7, "no"),
        ):
            bad = [*good[:at], wrong, *good[at + 1 :]]
            octets = json.dumps(["warn", "room", "text", None, "", "", bad]).encode()
            with self.assertRaises(NonsenseError, msg=str(bad)):
                tell_line(octets, "worker 1", 1)
        for more in ([good, good], [None], ["mark"], [good[:-1]], [[*good, 1]]):
            octets = json.dumps(["warn", "room", "text", None, "", "", *more]).encode()
            with self.assertRaises(NonsenseError, msg=str(more)):
                tell_line(octets, "worker 1", 1)

    def test_quiet(self) -> None:
        """What the parent tells of itself is not told again, unless something is wrong."""
        self.quiet.info("Serving no longer")
        self.quiet.error("Cannot serve")
        self.assertEqual([formatEvent(event) for event in self.told()], ["Cannot serve"])

    def test_threads(self) -> None:
        """A line of another thread goes by the reactor's."""
        self.is_in_reactor = False
        self.log.info("From a thread")
        self.assertEqual(self.sent, [])
        self.called.pop()()
        self.assertEqual(len(self.sent), 1)

    def test_nobody_reads(self) -> None:
        """Lines that there is no room for are dropped, and the next that fits is behind one that says how many."""
        self.outlet.unsent = MOST_WAITING_BYTES + 1
        for _ in range(3):
            self.log.info("Dropped")
        self.outlet.unsent = 0
        self.log.info("Read")
        self.assertEqual(
            [formatEvent(event) for event in self.told()],
            ["3 lines of the log are missing here: the parent did not read", "Read"],
        )

    def test_no_parent(self) -> None:
        """Without a parent, what is wrong goes to standard error, and the rest nowhere."""
        self.outlet.is_open = False
        self.log.info("As usual")
        self.log.error("Wrong")
        self.assertEqual((self.sent, self.left), ([], [b"some.room#error: Wrong\n"]))

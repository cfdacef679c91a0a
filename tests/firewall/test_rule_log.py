"""What the log says of what rules found."""

from __future__ import annotations

from typing import Any, cast

from twisted.internet.task import Clock
from twisted.logger import ILogObserver, formatEvent, globalLogPublisher
from twisted.trial.unittest import SynchronousTestCase

from ingress.firewall.rule_log import LINES_A_SECOND, RuleLog, shown


class TellingTests(SynchronousTestCase):
    def setUp(self) -> None:
        self.clock = Clock()
        self.logged: list[str] = []

        def observe(event: Any) -> None:
            self.logged.append(formatEvent(event))

        observer = cast(ILogObserver, observe)
        globalLogPublisher.addObserver(observer)
        self.addCleanup(globalLogPublisher.removeObserver, observer)
        self.telling = RuleLog(self.clock.seconds)

    def test_what_visitors_wrote_is_escaped(self) -> None:
        """Ends of lines, escapes of terminals, and what is no text, are seen as such."""
        self.assertEqual(shown(b"a\nb\x1b[2J\xff\xe2\x80\xae"), "a\\x0ab\\x1b[2J\\xff\\x202e")

    def test_lines_are_bounded(self) -> None:
        """So many a second; how many more there were is told when there is room again."""
        for more, said in ((50, "50 more lines are"), (1, "1 more line is")):
            self.clock.advance(1.0)
            self.logged.clear()
            for _ in range(LINES_A_SECOND + more):
                self.telling.lines((b"x",), 1)
            self.assertEqual(len(self.logged), LINES_A_SECOND)
            self.clock.advance(1.0)
            self.telling.lines((b"y",), 1)
            self.assertEqual(self.logged[LINES_A_SECOND:], [f"Firewall: {said} not logged", "Firewall: y"])

    def test_many_lines_about_one_request(self) -> None:
        """Those that did not come along are counted; where nothing matched, nothing is told."""
        self.telling.lines((b"x", b"y"), 9)
        self.telling.lines((), 0)
        self.assertEqual(
            self.logged, ["Firewall: x", "Firewall: y", "Firewall: 7 more lines about the same request"]
        )

    def test_rules_that_are_refused(self) -> None:
        """Each reason is told once, however many processes refuse them."""
        for _ in range(5):
            self.telling.rules_refused("line 1\nis no rule")
        (line,) = self.logged
        self.assertIn("line 1\\x0ais no rule", line)

"""Lines of the program's own log."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from twisted.application.service import Application
from twisted.logger import ILogObserver, Logger, LogLevel, LogPublisher
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.serving.log_formats import LOG_LEVELS, LogForm
from ingress.process.logs.program_log import ProgramLog, json_line, text_line
from tests.proxy.exchange.access_log.test_log_lines import NOW

HOSTILE = 'a"b\\c\r\nd\x1b[0m\x00{e}\u2028\ud800'


class Case(SynchronousTestCase):
    """A log whose file is a text in memory."""

    def setUp(self) -> None:
        self.file = io.StringIO()

    def logger(self, form: LogForm, level: str = "info", *, namespace: str = "some.room") -> Logger:
        """Return a logger whose lines are written in *form*."""
        self.log = ProgramLog(form, level)
        self.log.write_to(self.file)
        return Logger(namespace=namespace, observer=LogPublisher(self.log))

    def lines(self) -> list[str]:
        """Return what was written."""
        return self.file.getvalue().splitlines()


class FormTests(Case):
    """What lines look like."""

    def test_text(self) -> None:
        """A line of text has the time in UTC with milliseconds, who says it at which level, and what is said."""
        event = {
            "log_format": "It is {what}",
            "what": "odd",
            "log_time": NOW,
            "log_level": LogLevel.warn,
            "log_namespace": "some.room",
        }
        self.assertEqual(text_line(event), "2026-09-21T14:13:20.250Z [some.room#warn] It is odd\n")

    def test_json(self) -> None:
        """A line of JSON has the same apart, and the request that is told of where there is one."""
        event: dict[str, Any] = {
            "log_format": "It is odd",
            "log_time": NOW,
            "log_level": LogLevel.warn,
            "log_namespace": "some.room",
            "request": "17",
        }
        told = json.loads(json_line(event) or "")
        self.assertEqual(
            told,
            {
                "time": "2026-09-21T14:13:20.250Z",
                "level": "warn",
                "logger": "some.room",
                "request": "17",
                "message": "It is odd",
            },
        )

    def test_traceback(self) -> None:
        """A traceback in JSON is on the line of its event."""
        log = self.logger(LogForm.JSON)
        try:
            raise ValueError(HOSTILE)
        except ValueError:
            log.failure("It failed")
        (line,) = self.lines()
        told = json.loads(line)
        self.assertEqual((told["level"], told["message"]), ("critical", "It failed"))
        self.assertIn("Traceback", told["traceback"])
        self.assertIn("test_program_log.py", told["traceback"])

    def test_hostile(self) -> None:
        """Whatever is logged, a line of JSON is plain ASCII, and means what was said."""
        log = self.logger(LogForm.JSON)
        log.error("{what}", what=HOSTILE)
        (line,) = self.lines()
        self.assertTrue(line.isascii() and line.isprintable())
        self.assertEqual(json.loads(line)["message"], HOSTILE)

    def test_odd_events(self) -> None:
        """An event that says nothing has no line, and one without time, level or room has one."""
        for form in (text_line, json_line):
            self.assertIsNone(form({}))
            self.assertIn("hm", form({"log_format": "hm", "log_time": 1e300}) or "")
            self.assertIn("formats badly", form({"log_format": "formats badly {", "log_time": None}) or "")

    def test_missing_lines(self) -> None:
        """What stands for lines that could not be written is a line of the same form."""
        self.assertEqual(json.loads(ProgramLog(LogForm.JSON).missing(3))["level"], "warn")
        for count, said in (
            (1, "1 line of the log is missing here: it could not be written\n"),
            (3, "3 lines of the log are missing here: they could not be written\n"),
        ):
            self.assertEqual(ProgramLog().missing(count), said)


class LevelTests(Case):
    """From which level on there are lines."""

    def test_levels(self) -> None:
        """What is below the level has no line, at each of them, and another one may be set at any time."""
        log = self.logger(LogForm.TEXT)
        for at, least in enumerate(LOG_LEVELS):
            self.log.heed(least)
            self.file.seek(0)
            self.file.truncate()
            for level in LOG_LEVELS:
                log.emit(LogLevel.levelWithName(level), level)
            self.assertEqual([line.rpartition(" ")[2] for line in self.lines()], list(LOG_LEVELS[at:]))

    def test_no_level(self) -> None:
        """An event of Twisted's old log, which has no level, is told as information."""
        self.logger(LogForm.TEXT)
        self.log({"log_format": "old"})
        self.log.heed("warn")
        self.log({"log_format": "older"})
        self.assertEqual(len(self.lines()), 1)


class RunnerTests(SynchronousTestCase):
    """What ``twistd`` was told."""

    def observer(self, **runner: Any) -> object:
        """Return who observes the log of an application that is run so."""
        application = Application("ingress")
        self.log = ProgramLog(runner=runner)
        self.log.belong_to(application)
        return application.getComponent(ILogObserver, None)

    def test_standard_output(self) -> None:
        """Without a file the log goes to standard output, and reopening changes nothing."""
        output = io.StringIO()
        self.patch(__import__("sys"), "stdout", output)
        for name in ("", "-", None):
            self.assertIs(self.observer(nodaemon=1, logfile=name), self.log)
            self.log({"log_format": "told"})
            self.log.reopen()
        self.assertEqual(output.getvalue().count("told"), 3)

    def test_file(self) -> None:
        """The file of ``--logfile`` is written, and opened anew when somebody moved it."""
        path = Path(self.mktemp())
        self.assertIs(self.observer(nodaemon=0, logfile=str(path)), self.log)
        self.addCleanup(lambda: self.log._file and self.log._file.close())
        self.log({"log_format": "one"})
        moved = path.rename(self.mktemp())
        self.log.reopen()
        self.log({"log_format": "two"})
        self.assertIn("one", moved.read_text())
        self.assertIn("two", path.read_text())

    def test_of_others(self) -> None:
        """Where ``twistd`` has somebody else write the log, or ends since a daemon has no standard output, it is not ours."""
        for runner in (
            {"nodaemon": 1, "syslog": 1},
            {"nodaemon": 1, "logger": "a.b"},
            {"nodaemon": 0, "logfile": "-"},
        ):
            self.assertIsNone(self.observer(**runner))
        ProgramLog().belong_to(object())

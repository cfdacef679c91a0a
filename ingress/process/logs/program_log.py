"""The program's own log: what its lines look like, from which level on there are any, and where ``twistd`` was told to have them.

``twistd`` would write text with local times, of all levels.  An application may bring an observer of its own; this is ours.
What goes to standard output passes ``ingress.process.logs.log_output``, which has nobody wait; ``twistd --logfile`` names a file, which
is Twisted's, rotates by itself, and is opened anew here when somebody moved it.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any, Final, TextIO, cast

from twisted.logger import (
    FileLogObserver,
    ILogObserver,
    Logger,
    LogLevel,
    eventAsText,
    formatEventAsClassicLogText,
)
from twisted.python.components import Componentized
from twisted.python.logfile import LogFile
from zope.interface import implementer

from ingress.model.frozen import frozen
from ingress.model.serving.log_formats import LogForm
from ingress.process.timestamps import stamp_of
from ingress.wording import number_of

_log = Logger()

_LAST_TIME: Final = 1e11
"""Seconds since the epoch; what comes later no calendar here knows."""


def text_line(event: dict[str, Any]) -> str | None:
    """Return *event* as text: time, who says it and at which level, and what; None where it says nothing."""
    return formatEventAsClassicLogText(event, formatTime=_stamp)


@frozen
class Told:
    """What an event says, apart: message and traceback, and who says it about which request."""

    logger: str
    message: str
    traceback: str = ""
    request: str = ""
    """The id of the request that it is about, or of one example."""
    process: str = ""
    """Which process says it; empty for this one."""


def told_by(event: dict[str, Any]) -> Told:
    """Return what *event* says.  One of a worker, whose lines its parent writes, has it in ``told`` already."""
    told = event.get("told")
    if isinstance(told, Told):
        return told
    return Told(
        str(event.get("log_namespace") or "-"),
        eventAsText(event, includeTraceback=False, includeTimestamp=False, includeSystem=False),
        "" if event.get("log_failure") is None else _traceback(event["log_failure"]),
        str(event.get("request") or ""),
    )


def json_line(event: dict[str, Any]) -> str | None:
    """Return *event* as an object of JSON on one line, a traceback included; None where it says nothing."""
    level, told = event.get("log_level") or LogLevel.info, told_by(event)
    if not told.message and not told.traceback:
        return None
    said = {
        "time": _stamp(event.get("log_time")),
        "level": level.name,
        "logger": told.logger,
        "process": told.process,
        "request": told.request,
        "message": told.message,
        "traceback": told.traceback,
    }
    return json.dumps({name: text for name, text in said.items() if text}) + "\n"


def _traceback(failure: object) -> str:
    return eventAsText(
        {"log_format": "", "log_failure": failure}, includeTimestamp=False, includeSystem=False
    ).strip("\n")


def _stamp(seconds: float | None) -> str:
    if seconds is None or not 0.0 <= seconds < _LAST_TIME:
        return "-"
    return stamp_of(int(seconds * 1000)).decode()


_LINES: Final = {LogForm.TEXT: text_line, LogForm.JSON: json_line}


@implementer(ILogObserver)
class ProgramLog:
    """Writes lines of *form*, from *level* on, which may be set anew at any time.

    *runner* is what ``twistd`` was told; None stands for standard output, where some other program runs us.
    """

    def __init__(
        self, form: LogForm = LogForm.TEXT, level: str = "info", runner: Mapping[str, Any] | None = None
    ) -> None:
        self._line = _LINES[form]
        self._runner = runner or {}
        self._observer: FileLogObserver | None = None
        self._file: LogFile | None = None
        self._least = LogLevel.levelWithName(level)

    def __repr__(self) -> str:
        return f"<ProgramLog from {self._least.name} on>"

    def __call__(self, event: dict[str, Any]) -> None:
        """Write the line of *event*, if it is to have one."""
        if self._observer is None or (event.get("log_level") or LogLevel.info) < self._least:
            return
        self._observer(event)

    def heed(self, level: str) -> None:
        """Write what is of *level*, or of a worse one."""
        self._least = LogLevel.levelWithName(level)

    def missing(self, count: int) -> str:
        """Return the line that stands where *count* lines could not be written."""
        message = f"{number_of(count, 'line of the log is missing here: it', 'lines of the log are missing here: they')} could not be written"
        return (
            f"{message}\n"
            if self._line is text_line
            else json.dumps({"level": "warn", "logger": "log", "message": message}) + "\n"
        )

    def belong_to(self, application: object) -> None:
        """Be the log of Twisted's *application*, unless ``twistd`` was told another one; it is begun soon after."""
        if not isinstance(application, Componentized) or other_log(self._runner):
            return
        name = self._runner.get("logfile") or ""
        is_daemon = "nodaemon" in self._runner and not self._runner["nodaemon"]
        if is_daemon and name == "-":
            return  # Twisted has words for that.
        if name in ("", "-") and not is_daemon:
            self.write_to(sys.stdout)
        else:
            self._file = LogFile.fromFullPath(name or "twistd.log")
            self.write_to(cast(TextIO, self._file))
        application.setComponent(ILogObserver, self)

    def write_to(self, file: TextIO) -> None:
        """Write to *file* from now on."""
        self._observer = FileLogObserver(file, self._line)

    def reopen(self) -> None:
        """Open the file anew that ``twistd`` logs to (``--logfile``), since somebody moved it; it stays if that fails."""
        file: Any = self._file
        if file is None:
            return
        try:
            descriptor = os.open(file.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            _log.error(
                "The log {path} cannot be opened anew, and is written where it was: {why}",
                path=file.path,
                why=error.strerror,
            )
            return
        # Under the same number, so that no thread that logs meanwhile finds a closed file.
        os.dup2(descriptor, file._file.fileno(), inheritable=False)
        os.close(descriptor)
        # Its own rotation goes by what it believes to have written there.
        file.size = os.fstat(file._file.fileno()).st_size


def other_log(runner: Mapping[str, Any]) -> str:
    """Return the option by which *runner*, the options of ``twistd``, have somebody else write the log; empty for none."""
    return next((f"--{name}" for name in ("logger", "syslog") if runner.get(name)), "")

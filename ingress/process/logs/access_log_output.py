"""The output of the access log that was chosen last: a file, standard output, or a collector.

Whoever chooses another one is in the reactor thread; the thread that writes exchanges it, at its next ``reopen``.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.logger import Logger

from ingress.errors import StartError
from ingress.model.serving.log_destinations import AccessDestination, SyslogAddress
from ingress.process.logs.file_output import AccessOutput
from ingress.process.logs.syslog_output import SyslogOutput


class Output(Protocol):
    """Takes whole lines; for one thread."""

    def write(self, batch: bytes) -> None:
        """Write *batch*; raises ``LinesLostError``."""

    def reopen(self) -> None:
        """Open anew what is written to, which may not be what it was."""

    def close(self) -> None:
        """Write no more."""


def output_to(destination: AccessDestination, *, is_shared: bool = False) -> Output:
    """Return the output that leads to *destination*; raises ``StartError`` where it cannot be opened.

    Where it *is_shared*, other processes write there, too.
    """
    if isinstance(destination, SyslogAddress):
        return SyslogOutput(destination)
    return AccessOutput(destination, is_shared=is_shared)


class AccessOutputs:
    """The output to *destination*, until another one is chosen; raises ``StartError``."""

    log = Logger()

    def __init__(
        self, destination: AccessDestination, new_output: Callable[[AccessDestination], Output]
    ) -> None:
        self._new_output = new_output
        self._chosen = self._current = destination
        self._output = new_output(destination)

    def choose(self, destination: AccessDestination) -> bool:
        """Lead to *destination* from the next ``reopen`` on; return whether that is another one."""
        is_other = destination != self._chosen
        self._chosen = destination
        return is_other

    def write(self, batch: bytes) -> None:
        """Write whole lines; raises ``LinesLostError``."""
        self._output.write(batch)

    def reopen(self) -> None:
        """Exchange the output for the one that was chosen, or open it anew; it stays if that is impossible."""
        chosen = self._chosen
        if chosen == self._current:
            self._output.reopen()
            return
        try:
            output = self._new_output(chosen)
        except StartError as error:
            self.log.error("The access log is written where it was: {why}", why=str(error))
            return
        old, self._output, self._current = self._output, output, chosen
        old.close()

"""What the log says of what rules found: lines that hold what visitors wrote, so bounded and escaped."""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from ingress.wording import number_of

LINES_A_SECOND: Final = 100
"""More are counted, and told of once the second is over."""

log = Logger()


def shown(line: bytes) -> str:
    """Return *line* for the log: what is no text, or would not be seen, is escaped."""
    text = line.decode("utf-8", "backslashreplace")
    return "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in text)


class RuleLog:
    """Tells the log, so many lines a second; *seconds* is the time."""

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._second = 0
        self._told = 0
        self._left_out = 0
        self._refused: set[str] = set()

    def lines(self, lines: tuple[bytes, ...], matched: int) -> None:
        """Tell of rules that matched, of which there were *matched*."""
        if not matched:
            return
        for line in lines:
            if self._may():
                log.warn("Firewall: {line}", line=shown(line))
        more = matched - len(lines)
        if more > 0 and self._may():
            log.warn("Firewall: {more} about the same request", more=number_of(more, "more line"))

    def said(self, line: bytes) -> None:
        """Tell of a line that a firewall process wrote: of the audit log, or because it fails."""
        if self._may():
            log.info("Firewall process: {line}", line=shown(line))

    def rules_refused(self, why: str) -> None:
        """Tell of rules that the library does not take, once for each reason."""
        if why not in self._refused and len(self._refused) < LINES_A_SECOND:
            self._refused.add(why)
            log.error(
                "The firewall cannot use a rule set, and answers for it with 503: {why}",
                why=shown(why.encode()),
            )

    def _may(self) -> bool:
        second = int(self._seconds())
        if second != self._second:
            left_out, self._left_out = self._left_out, 0
            self._second, self._told = second, 0
            if left_out:
                more = number_of(left_out, "more line is", "more lines are")
                log.warn("Firewall: {more} not logged", more=more)
        self._told += 1
        if self._told > LINES_A_SECOND:
            self._left_out += 1
            return False
        return True

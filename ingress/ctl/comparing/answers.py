"""Answers: what a side said to a sample, or why it said nothing."""

from attrs import field

from ingress.model.frozen import frozen
from ingress.wording import first_of


class SideDownError(Exception):
    """A side takes no connections; the message says which, and why."""


@frozen
class ShownCertificate:
    """The certificate that a handshake ended with."""

    fingerprint: str
    """SHA-256, in hexadecimal."""
    names: tuple[str, ...]
    is_self_made: bool = False
    """Whether it is the one that a controller makes itself for hosts that have none."""

    def __str__(self) -> str:
        names = first_of(self.names, 4)
        made = "a self-made one" if self.is_self_made else f"SHA-256 {self.fingerprint[:16]}…"
        return f"{names or 'no name'} ({made})"


@frozen
class Body:
    """The beginning of a body: as many bytes as were read of it, their hash, and whether that is all."""

    size: int = 0
    digest: str = ""
    is_whole: bool = True


@frozen
class Answer:
    """What came: *fields* in their order, without those that are about the connection; *status* 0 where nothing came."""

    status: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    body: Body = field(default=Body(), repr=False)
    is_own: bool = False
    """Whether it is a page that the controller made itself, as far as the body tells."""
    failure: str = ""
    """Why nothing came."""
    is_late: bool = False
    """Whether nothing came in time."""
    certificate: ShownCertificate | None = None

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of the fields called *name*, in lower case, in their order."""
        return tuple(value for one, value in self.fields if one.lower() == name)

    @property
    def is_overload(self) -> bool:
        """Whether it may say that there is too much to do."""
        return self.is_late or self.status in (429, 502, 503, 504)

    @property
    def retry_after(self) -> float:
        """Seconds that it asks to be left alone for; 0 where it does not."""
        values = self.values("retry-after")
        return float(values[0]) if values and values[0].isascii() and values[0].isdecimal() else 0.0

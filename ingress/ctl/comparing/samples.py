"""Samples: the requests that both sides get."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from attrs import field

from ingress.model.frozen import frozen

MAX_TARGET: Final = 8000
"""Characters of a target; RFC 9112 section 3 has everybody take so many."""
_TARGET: Final = re.compile(r"/[\x21-\x7e]*|\*")
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~!$&'()*+,;=-]+)(:[0-9]{1,5})?")
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]{0,8000}")
METHOD: Final = re.compile(r"[A-Z][A-Z-]{0,31}")

OURS_ALONE: Final = frozenset(
    [
        "host",
        "connection",
        "content-length",
        "transfer-encoding",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
        "expect",
    ]
)
"""Fields that are about the connection, or that frame a request: the client writes them, nobody else."""


@frozen
class Sample:
    """One request: *scheme* is ``http`` or ``https``, *host* goes as it is into ``Host``, *target* as it is into the request line.

    *fields* go with it besides; they may be somebody's credentials, and so they are not shown.  *of* says what it is a
    sample of, and *what* which one.
    """

    scheme: str
    method: str
    host: str
    target: str
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    of: str = field(default="", eq=False)
    what: str = field(default="", eq=False)

    @property
    def name(self) -> str:
        """The host without port, in lower case: what TLS asks for by name."""
        return host_name(self.host)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def url(self) -> str:
        """The URL, as it is sent."""
        return f"{self.scheme}://{self.host}{self.target}"


@frozen
class Chosen:
    """What is to be asked, and how much of what was left out for which reason."""

    samples: tuple[Sample, ...]
    left_out: tuple[tuple[str, int], ...] = ()


def host_name(host: str) -> str:
    """Return *host* without its port, in lower case."""
    found = _HOST.fullmatch(host)
    return (found[1] if found else host).lower().removesuffix(".")


def why_not_sent(sample: Sample) -> str:
    """Say why *sample* cannot be sent as it is; empty where it can."""
    if not _HOST.fullmatch(sample.host) or len(sample.host) > 300:
        return "the host is none that a request can name"
    if len(sample.target) > MAX_TARGET or not _TARGET.fullmatch(sample.target):
        return "the target is too long, or has characters that no request line has"
    for name, value in sample.fields:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value) or value != value.strip():
            return "a field has characters that no field has"
    return ""


class Chooser:
    """Takes samples until there are *limit*, each once, by the methods *wanted*, and counts what it leaves out."""

    def __init__(self, limit: int, wanted: Iterable[str]) -> None:
        self._limit = limit
        self._wanted = frozenset(wanted)
        self._kept: dict[Sample, None] = {}
        self._left_out: Counter[str] = Counter()

    def add(self, sample: Sample) -> None:
        """Take *sample*, or count why not."""
        if sample in self._kept:
            return
        if sample.method not in self._wanted:
            self.leave_out(f"of the method {sample.method}, which --methods does not name")
        elif why := why_not_sent(sample):
            self.leave_out(why)
        elif len(self._kept) >= self._limit:
            self.leave_out(f"beyond --limit={self._limit}")
        else:
            self._kept[sample] = None

    def leave_out(self, why: str, count: int = 1) -> None:
        """Count what cannot even become a sample."""
        self._left_out[why] += count

    def chosen(self) -> Chosen:
        """Return what was taken, in the order in which it came."""
        return Chosen(tuple(self._kept), tuple(sorted(self._left_out.items())))


def only_schemes(given: Chosen, schemes: Collection[str]) -> Chosen:
    """Return the samples of *given* that are of one of *schemes*: those for which both sides have an address."""
    left_out = Counter(dict(given.left_out))
    kept = []
    for sample in given.samples:
        if sample.scheme in schemes:
            kept.append(sample)
        else:
            left_out[f"over {sample.scheme}, for which not both sides have an address"] += 1
    return Chosen(tuple(kept), tuple(sorted(left_out.items())))

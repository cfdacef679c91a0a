"""Differences: what two answers to one sample do not have in common.  Pure."""

from collections.abc import Iterator
from enum import IntEnum
from hashlib import sha256
from typing import Final

from attrs import field

from ingress.ctl.comparing.allowances import (
    normal_backend,
    normal_fields,
    normal_location,
)
from ingress.ctl.comparing.answers import Answer, ShownCertificate
from ingress.ctl.comparing.asking_both import Pair
from ingress.ctl.comparing.samples import Sample
from ingress.model.frozen import frozen


class Weight(IntEnum):
    """How much a difference matters, from the least to the most."""

    FIELD = 1
    CERTIFICATE = 2
    LOCATION = 3
    BACKEND = 4
    STATUS = 5
    LOST = 6
    """We answer with an error, or not at all, where they do not."""
    OPEN = 7
    """We let in where they keep out."""


ANSWER: Final = "answer"
STATUS: Final = "status"
LOCATION: Final = "Location"
BACKEND: Final = "backend"
ANSWERED_BY: Final = "answered by"
CERTIFICATE: Final = "certificate"
_NOTHING: Final = "(none)"
_MAX_VALUE: Final = 1000
"""Characters of what one side says; very many differences are kept."""
_REFUSALS: Final = frozenset((401, 403, 407))


@frozen
class Difference:
    """What differs (*aspect*: one of the words of this module, or the name of a field), and what both say."""

    aspect: str
    theirs: str
    ours: str
    weight: Weight = field(eq=False)


@frozen
class Compared:
    """What came of a sample: nothing where both sides agree."""

    sample: Sample
    differences: tuple[Difference, ...] = ()
    unsteady: tuple[Difference, ...] = ()
    """What one side said this time and the other one the next time."""
    hint: str = ""
    """How the bodies differ, where nothing else does."""
    is_unanswered: bool = False
    """Whether neither side gave an answer."""
    our_status: int = 0
    """What we answered; 0 for nothing."""


class Comparing:
    """Compares answers of two sides, which are reached by *ports*; *backend_field* is what backends say who they are by."""

    def __init__(self, ports: frozenset[str] = frozenset(), backend_field: str = "") -> None:
        self._ports = ports
        self._backend_field = backend_field.lower()

    def differ(self, sample: Sample, theirs: Answer, ours: Answer) -> bool:
        """Whether there is any difference."""
        return bool(self.differences(sample, theirs, ours))

    def compare(self, pair: Pair) -> Compared:
        """Return what *pair* shows."""
        found = self.differences(pair.sample, pair.theirs, pair.ours)
        steady: list[Difference] = []
        unsteady: list[Difference] = []
        if pair.again is not None:
            second = {one.aspect: one for one in self.differences(pair.sample, *pair.again)}
            for one in found:
                is_steady = _is_shown_again(one, second.get(one.aspect))
                (steady if is_steady else unsteady).append(one)
        else:
            steady = list(found)
        hint = "" if found else self._hint(pair)
        unanswered = not pair.theirs.status and not pair.ours.status
        return Compared(pair.sample, tuple(steady), tuple(unsteady), hint, unanswered, pair.ours.status)

    def differences(self, sample: Sample, theirs: Answer, ours: Answer) -> tuple[Difference, ...]:
        """Return all differences, the worst first."""
        found = list(self._all(sample, theirs, ours))
        return tuple(sorted(found, key=lambda one: (-one.weight, one.aspect, one.theirs, one.ours)))

    def _all(self, sample: Sample, theirs: Answer, ours: Answer) -> Iterator[Difference]:
        one, other = theirs.certificate, ours.certificate
        if one is not None and other is not None and not _is_same(one, other):
            yield Difference(CERTIFICATE, str(one), str(other), Weight.CERTIFICATE)
        if not theirs.status or not ours.status:
            if bool(theirs.status) != bool(ours.status) or theirs.failure != ours.failure:
                weight = Weight.LOST if theirs.status else Weight.STATUS
                yield Difference(ANSWER, _said(theirs), _said(ours), weight)
            return
        yield from self._about_backend(theirs, ours)
        host = sample.name
        places = [normal_location(answer, host, self._ports) for answer in (theirs, ours)]
        if places[0] != places[1]:
            yield Difference(
                LOCATION, _bounded(places[0]) or _NOTHING, _bounded(places[1]) or _NOTHING, Weight.LOCATION
            )
        if theirs.status != ours.status:
            yield Difference(
                STATUS, str(theirs.status), str(ours.status), _weight(theirs.status, ours.status)
            )
            return
        is_own = theirs.is_own or ours.is_own or sample.method == "HEAD"
        about_page = theirs.status < 300 or (theirs.status >= 400 and not is_own)
        left, right = (normal_fields(one, host, self._ports, about_page) for one in (theirs, ours))
        for name in sorted(left.keys() | right.keys()):
            if name != self._backend_field and left.get(name) != right.get(name):
                yield Difference(name, _joined(left.get(name)), _joined(right.get(name)), Weight.FIELD)

    def _about_backend(self, theirs: Answer, ours: Answer) -> Iterator[Difference]:
        # Without a body nothing shows who wrote it.
        has_bodies = theirs.body.size and ours.body.size
        if self._backend_field:
            left, right = (
                ", ".join(map(normal_backend, answer.values(self._backend_field)))
                for answer in (theirs, ours)
            )
            if left != right:
                yield Difference(
                    BACKEND, _bounded(left) or _NOTHING, _bounded(right) or _NOTHING, Weight.BACKEND
                )
        elif theirs.is_own != ours.is_own and theirs.status == ours.status >= 400 and has_bodies:
            words = [
                "the controller itself" if answer.is_own else "a backend, it seems"
                for answer in (theirs, ours)
            ]
            yield Difference(ANSWERED_BY, words[0], words[1], Weight.BACKEND)

    def _hint(self, pair: Pair) -> str:
        """Say how bodies differ that should be the same."""
        theirs, ours = pair.theirs, pair.ours
        if theirs.status != 200 or ours.status != 200 or theirs.body == ours.body:
            return ""
        if theirs.values("content-encoding") or ours.values("content-encoding"):
            return ""
        sizes = f"{theirs.body.size} and {ours.body.size} bytes"
        if theirs.body.size == ours.body.size:
            sizes = f"{theirs.body.size} bytes each, and not the same"
        return sizes if theirs.body.is_whole and ours.body.is_whole else f"{sizes}, as far as they were read"


def _is_shown_again(one: Difference, other: Difference | None) -> bool:
    """Whether *other*, what a second asking showed of the same aspect, is not what changes by itself."""
    if other is None or one.theirs == other.ours or one.ours == other.theirs:
        return False
    return one.theirs == other.theirs or one.ours == other.ours


def _is_same(one: ShownCertificate, other: ShownCertificate) -> bool:
    """Whether both are the same, or both what a controller makes itself for want of another."""
    return one.fingerprint == other.fingerprint or (one.is_self_made and other.is_self_made)


def _weight(theirs: int, ours: int) -> Weight:
    if (theirs in _REFUSALS or theirs == 302) and 200 <= ours < 300:
        return Weight.OPEN
    if ours >= 400 > theirs or ours >= 500 > theirs:
        return Weight.LOST
    return Weight.STATUS


def _said(answer: Answer) -> str:
    return str(answer.status) if answer.status else answer.failure


def _joined(values: tuple[str, ...] | None) -> str:
    return _NOTHING if values is None else _bounded(" | ".join(values))


def _bounded(text: str) -> str:
    """Return *text*, or the beginning of a long one with what tells it from others that begin like it."""
    if len(text) <= _MAX_VALUE:
        return text
    digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{text[:_MAX_VALUE]}… ({len(text)} characters, SHA-256 {digest[:12]}…)"

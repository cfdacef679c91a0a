"""What is remembered of verdicts of external authentication: for how long, and how much at a time.

As in ingress-nginx nothing is remembered without a key, and then what ``auth-cache-duration`` says; what the service itself
says about its answer comes before that, as in nginx (https://nginx.org/en/docs/http/ngx_http_proxy_module.html, ``proxy_cache_valid``):
an answer that sets a cookie, or that is for one visitor alone, is not remembered at all.
"""

import re
from collections import OrderedDict, deque
from datetime import datetime
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Final, Generic, TypeVar

from ingress.annotations.contract.values import ValueRefused, quoted
from ingress.filters import Clock, ScheduledCall
from ingress.model.exchanges.sub_requests import SubAnswer
from ingress.model.frozen import frozen

V = TypeVar("V")

MAX_ENTRIES: Final = 16_384
MAX_BYTES: Final = 8 * 1024 * 1024
"""Of all that one process remembers; what was used least lately goes first."""
FORGOTTEN_AT_ONCE: Final = 1000
"""Of what a check has remembered that is gone; the rest goes a few at a time, ..."""
FORGOTTEN_LATER: Final = 8
"""... with each verdict that is remembered from then on, and with each step of a look.  Nobody asks for it."""
MAX_VALUE_BYTES: Final = 16 * 1024
"""Of one verdict; a larger one is not remembered."""
LONGEST_SECONDS: Final = 366 * 86_400.0
MAX_DURATIONS: Final = 64
MAX_CHARACTERS: Final = 4096
LOOK_SECONDS: Final = 60.0
"""How long what is over may stay; it may be what a client has shown to prove who it is."""
LOOKED_AT_ONCE: Final = 500
"""Entries in one step."""
_ENTRY_BYTES: Final = 512
"""What an entry takes beside its texts, about."""
_LONGEST_KEY: Final = 64
_USUAL: Final = (200, 301, 302)
"""The statuses that a time without any is for, as in nginx."""

_UNITS: Final = {
    "y": 31_536_000,
    "M": 2_592_000,
    "w": 604_800,
    "d": 86_400,
    "h": 3600,
    "m": 60,
    "s": 1,
    "": 1,
}
_is_time = re.compile(r"(?:[0-9]{1,9}[yMwdhms])*(?:[0-9]{1,9}[yMwdhms]?)").fullmatch
_steps = re.compile(r"([0-9]+)([yMwdhms]?)").findall
_is_status = re.compile(r"[1-5][0-9]{2}").fullmatch
_shared_max_age = re.compile(r's-maxage\s*=\s*"?([0-9]{0,10})').search
_max_age = re.compile(r'max-age\s*=\s*"?([0-9]{0,10})').search
_REFUSING: Final = ("no-cache", "no-store", "private")


@frozen
class Durations:
    """How long answers are remembered by their status; whatever is not named is not."""

    seconds: tuple[tuple[int, float], ...] = ((200, 300.0), (202, 300.0), (401, 300.0))
    """As ``200 202 401 5m`` says."""

    def of(self, status: int) -> float:
        """Return for how many seconds an answer of *status* is remembered; 0 is not at all."""
        return next((seconds for code, seconds in self.seconds if code == status), 0.0)


USUAL_DURATIONS: Final = Durations()
NO_DURATIONS: Final = Durations(())


def parse_durations(text: str) -> Durations:
    """Read ``200 202 10m, 401 30s``: statuses and a time, several of these with commas in between."""
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    found: list[tuple[int, float]] = []
    members = [member.split() for member in text.split(",") if member.strip()]
    if len(members) > MAX_DURATIONS:
        raise ValueRefused(f"has more than {MAX_DURATIONS} members")
    for member in members:
        *statuses, time = member
        if not statuses and _is_status(time):
            raise ValueRefused(f"has {quoted(time)}, which is a status without a time; write {time} 5m")
        if not _is_time(time) or not all(map(_is_status, statuses)) or len(statuses) > MAX_DURATIONS:
            raise ValueRefused(
                f"has {quoted(' '.join(member))}, which is no list of statuses and a time; write 200 401 5m"
            )
        seconds = min(LONGEST_SECONDS, float(sum(int(count) * _UNITS[unit] for count, unit in _steps(time))))
        found += [(code, seconds) for code in (map(int, statuses) if statuses else _USUAL)]
    return Durations(tuple(found)) if found else USUAL_DURATIONS


def seconds_for(answer: SubAnswer, durations: Durations, now: datetime) -> float:
    """Return for how long *answer* may be remembered, 0 for not at all; *now* is the time of day, for answers without a date."""
    if answer.field(b"set-cookie") or _varies(_all_of(answer, b"vary")):
        return 0.0
    said = answer.field(b"x-accel-expires")
    if said.isdigit():
        return min(LONGEST_SECONDS, float(said[:12]))
    control = _all_of(answer, b"cache-control").decode("latin-1").lower()
    if any(word in control for word in _REFUSING):
        return 0.0
    # We are a cache that many share (RFC 9111 section 5.2.2.10).
    age = _shared_max_age(control) or _max_age(control)
    if age is not None:
        # What is no number is in the past (RFC 9111 section 4.2.1), and not as if nothing was said.
        return min(LONGEST_SECONDS, float(age[1] or 0))
    expires = answer.field(b"expires")
    if expires:
        until = _date_of(expires)
        # By the clock that wrote it, where that says what it shows (RFC 9111 section 4.2.1).
        since = _date_of(answer.field(b"date")) or now
        # No date, such as 0, is one in the past (RFC 9111 section 5.3).
        return 0.0 if until is None else min(LONGEST_SECONDS, max(0.0, (until - since).total_seconds()))
    return durations.of(answer.status)


def _date_of(value: bytes) -> datetime | None:
    """Return the point in time that *value* says, None for none."""
    # Only who meets such an answer pays for what reads dates.
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(value.decode("latin-1"))
    except (ValueError, TypeError, OverflowError):
        return None
    return found if found.tzinfo is not None else None


def _all_of(answer: SubAnswer, wanted: bytes) -> bytes:
    return b",".join(value for name, value in answer.fields if name.lower() == wanted)


@lru_cache(maxsize=256)
def _varies(value: bytes) -> bool:
    """Whether an answer is another one by what ``Vary`` says: not by how its body is packed, which nobody reads."""
    return any(member.strip().lower() not in (b"", b"accept-encoding") for member in value.split(b","))


class VerdictCache(Generic[V]):
    """What one process remembers, for all who have a *token* of their own; bounded in number and in bytes."""

    def __init__(
        self, most: int = MAX_ENTRIES, most_bytes: int = MAX_BYTES, clock: Clock | None = None
    ) -> None:
        """By *clock* what is over is looked for; without any it stays until somebody asks for it, or it is pushed out."""
        self._clock = clock
        self._next_look: ScheduledCall | None = None
        self._most = most
        self._most_bytes = most_bytes
        self._entries: OrderedDict[tuple[object, bytes], tuple[float, int, V]] = OrderedDict()
        self._keys: dict[object, dict[bytes, None]] = {}
        """Those of each token: to look for them would be to look at all that others have remembered."""
        self._gone: deque[object] = deque()
        """The tokens of which not all is forgotten yet."""
        self.size = 0
        """About how many bytes it takes."""

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, token: object, key: bytes, now: float) -> V | None:
        """Return what is remembered under *key* and not over at *now*, in seconds of a clock that nobody sets."""
        place = token, _short(key)
        entry = self._entries.get(place)
        if entry is None:
            return None
        if entry[0] <= now:
            self._drop(place)
            return None
        self._entries.move_to_end(place)
        return entry[2]

    def put(self, token: object, key: bytes, until: float, value: V, size: int) -> None:
        """Remember *value*, which takes *size* bytes, until then, and forget others where there is no room."""
        if size > MAX_VALUE_BYTES:
            return
        place = token, _short(key)
        self._drop(place)
        if self._gone:
            self._forget_some(FORGOTTEN_LATER)
        self._entries[place] = until, size + _ENTRY_BYTES, value
        self._keys.setdefault(token, {})[place[1]] = None
        self.size += size + _ENTRY_BYTES
        while len(self._entries) > self._most or self.size > self._most_bytes:
            self._drop(next(iter(self._entries)))
        if self._next_look is None and self._clock is not None:
            self._next_look = self._clock.call_later(LOOK_SECONDS, partial(self._look, self._clock))

    def _look(self, clock: Clock) -> None:
        """Begin to look for what is over, which may be anywhere: each verdict has a time of its own."""
        self._look_at_some(clock, [*self._entries])

    def _look_at_some(self, clock: Clock, places: list[tuple[object, bytes]]) -> None:
        now = clock.seconds()
        self._forget_some(LOOKED_AT_ONCE)
        for place in places[-LOOKED_AT_ONCE:]:
            entry = self._entries.get(place)
            if entry is not None and entry[0] <= now:
                self._drop(place)
        del places[-LOOKED_AT_ONCE:]
        if places:
            self._next_look = clock.call_later(0, partial(self._look_at_some, clock, places))
        elif self._entries:
            self._next_look = clock.call_later(LOOK_SECONDS, partial(self._look, clock))
        else:
            self._next_look = None

    def forget(self, token: object) -> None:
        """Forget all that was remembered for *token*, which asks and remembers no more; very much of it by and by."""
        if token in self._keys:
            self._gone.append(token)
            self._forget_some(FORGOTTEN_AT_ONCE)

    def _forget_some(self, most: int) -> None:
        for _ in range(most):
            while self._gone and self._gone[0] not in self._keys:
                self._gone.popleft()
            if not self._gone:
                return
            token = self._gone[0]
            keys = self._keys[token]
            # The latest: to find the first of a dictionary is to go past all that are gone.
            key, _ = keys.popitem()
            self.size -= self._entries.pop((token, key))[1]
            if not keys:
                del self._keys[token]

    def _drop(self, place: tuple[object, bytes]) -> None:
        entry = self._entries.pop(place, None)
        if entry is not None:
            self.size -= entry[1]
            token, key = place
            keys = self._keys[token]
            del keys[key]
            if not keys:
                del self._keys[token]


def _short(key: bytes) -> bytes:
    # What is rendered holds no control character, so no key is taken for another one.
    return key if len(key) <= _LONGEST_KEY else b"\0" + blake2b(key, digest_size=32).digest()

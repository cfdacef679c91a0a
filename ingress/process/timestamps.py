"""Points in time as both logs and the admin port write them: RFC 3339, in UTC, with milliseconds."""

from datetime import UTC, datetime
from functools import lru_cache
from time import gmtime, strftime


def stamp_of(millisecond: int) -> bytes:
    """Return the point in time so many milliseconds after 1970 began: ``2026-11-20T16:40:00.125Z``."""
    return b"%b.%03dZ" % (stamp_of_second(millisecond // 1000), millisecond % 1000)


@lru_cache(maxsize=1)
def stamp_of_second(second: int) -> bytes:
    """Return all of it before the point: ``2026-11-20T16:40:00``."""
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(second)).encode()


def rfc3339(at: datetime) -> str:
    """Return *at*, which has its zone, in the same way."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

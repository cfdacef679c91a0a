"""Sub-requests: what a filter asks another service, and what comes of it."""

from attrs import frozen


@frozen
class SubRequest:
    """A request of a filter's own to another service.

    It goes through the pool of the proxy, under the rules for addresses that names of tenants lead to, follows no redirects,
    is tried once, and stands in no access log.
    """

    url: str
    """``http://HOST[:PORT]/TARGET`` or ``https://…``; no user, and no fragment."""
    method: bytes = b"GET"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Names and values, ``Host`` and what frames the body excepted."""
    body: bytes = b""
    seconds: float = 5.0
    """How long all of it may take."""
    max_bytes: int = 64 * 1024
    """Of the body of its answer; a longer one is a failure."""


@frozen
class SubAnswer:
    """The answer to a sub-request, whole."""

    status: int
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """In order; names as they came."""
    body: bytes = b""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty for none."""
        return next((value for called, value in self.fields if called.lower() == name), b"")


class SubRequestFailed(Exception):  # noqa: N818 - a filter that asks has to expect it
    """There is no answer to a sub-request; the message says why."""

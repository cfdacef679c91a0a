"""Sub-requests: what a filter asks another service, and what comes of it."""

from ingress.model.frozen import frozen
from ingress.model.observability.traces import TraceContext
from ingress.model.upstream.backends import BackendReference


@frozen
class SubRequest:
    """A request of a filter's own to another service.

    It goes through the pool of the proxy, under the rules for addresses that names of tenants lead to, follows no redirects,
    and stands in no access log.  It is tried again as a client's would be: only where nothing can have been done twice.
    """

    url: str
    """``http://HOST[:PORT]/TARGET`` or ``https://…``; no user, and no fragment."""
    target: bytes = b""
    """Path and query, in place of those of the URL, where they are others for each request: one URL is read once."""
    lines: bytes = b""
    """Fields that go before *fields*, as lines, each with its CRLF: what ``Facts.lines`` has, ..."""
    without: tuple[bytes, ...] = ()
    """... but for those of these names, in lower case."""
    authority: bytes = b""
    """What ``Host`` says, in place of the host of the URL."""
    method: bytes = b"GET"
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """Names and values, ``Host``, what frames the body and what belongs to a connection excepted."""
    body: bytes | None = b""
    """None: not even its length is told, whatever the method."""
    seconds: float = 5.0
    """How long all of it may take: more than 0, at most an hour."""
    max_bytes: int = 64 * 1024
    """Of the body of its answer; a longer one is a failure, ..."""
    wants_body: bool = True
    """... unless the body is not wanted: then the answer comes without one, and a longer one is not waited for."""
    trace: TraceContext | None = None
    """The trace that it is part of, as ``Facts.trace`` has it: then it is sent with that, whatever its fields say."""
    backend: BackendReference | None = None
    """A Service that routes of the snapshot lead to, too: its endpoints are asked, as its routes ask them, and the URL
    has ``Host`` and target alone."""
    is_trusted: bool = False
    """Whether the operator chose the URL: then it may lead to addresses of this host, the API server and the metadata
    service of a cloud."""
    within: tuple[str, ...] = ()
    """Networks (``10.0.0.0/8``) that the address must be in, beside what rules there are; none: it may be anywhere."""
    verifies: bool = True
    """Whether the certificate at an ``https`` URL must be for its host, and of an authority that this system trusts."""


@frozen
class SubAnswer:
    """The answer to a sub-request, whole."""

    status: int
    fields: tuple[tuple[bytes, bytes], ...] = ()
    """In order; names as they came.  What frames the body or belongs to the connection is not among them."""
    body: bytes = b""

    def field(self, name: bytes) -> bytes:
        """Return the value of the first field called *name*, in lower case; empty for none."""
        return next((value for called, value in self.fields if called.lower() == name), b"")


class SubRequestFailed(Exception):  # noqa: N818 - a filter that asks has to expect it
    """There is no answer to a sub-request; the message says why."""

"""The ``Status`` object of the Kubernetes API as an exception, and what it means.  Pure.

The same object arrives as the body of a refused request and inside an ERROR event of a watch.
Failures below HTTP get a status of 0 and a reason of our own.
"""

from typing import Any

from ingress.errors import KubernetesError
from ingress.model.observability.changes_and_failures import shown

UNREACHABLE = "Unreachable"
"""No connection, or no TLS with the API server."""
SILENT = "Silent"
"""No byte for longer than a healthy connection can be quiet."""
SLOW = "Slow"
"""An answer that comes, and not in the time that it has as a whole."""
BROKEN = "Broken"
"""The answer broke off, or is not what the API may answer."""
NO_CREDENTIALS = "NoCredentials"
"""The token cannot be read."""

NO_MESSAGE = "no message"
"""The message of a refusal that has none."""

MOST_RETRY_AFTER_SECONDS = 60.0
"""Who asks us to wait for longer, as maintenance pages of load balancers do, is asked again then."""
_LONGEST_MESSAGE = 300
_HTTP_STATUSES = range(100, 600)


class WatchError(KubernetesError):
    """What an ERROR event of a watch says, as against a refused request."""

    def __init__(self, error: KubernetesError) -> None:
        super().__init__(error.status, error.reason, error.message, error.retry_after_seconds)


class ObjectMissingError(KubernetesError):
    """The API server says of an object that was asked for by its name that there is none.

    Any other 404 says nothing of it: it may be of a load balancer in between, or of a kind that is not served.
    """

    def __init__(self, error: KubernetesError) -> None:
        super().__init__(error.status, error.reason, error.message, error.retry_after_seconds)


def error_from_status(
    status: object, http_status: int = 0, http_reason: str = "", retry_after: str | None = None
) -> KubernetesError:
    """Read *status*, decoded JSON of whatever shape; the HTTP values fill what it does not say.

    *retry_after* is the header field; only its form in seconds is understood (RFC 9110
    section 10.2.3 also has a date, which the API server does not send).
    """
    said: dict[str, Any] = status if isinstance(status, dict) else {}
    code = said.get("code")
    reason = said.get("reason")
    message = said.get("message")
    seconds: float | None = None
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        seconds = float(retry_after)
    details = said.get("details")
    asked = details.get("retryAfterSeconds") if isinstance(details, dict) else None
    if isinstance(asked, int) and asked > 0:
        seconds = max(seconds or 0.0, min(asked, MOST_RETRY_AFTER_SECONDS))
    return KubernetesError(
        code if type(code) is int and code in _HTTP_STATUSES else http_status,
        one_line(reason if isinstance(reason, str) and reason else http_reason) or "Unknown",
        one_line(message) if isinstance(message, str) and message else NO_MESSAGE,
        None if seconds is None else min(seconds, MOST_RETRY_AFTER_SECONDS),
    )


def is_of_the_server(error: KubernetesError) -> bool:
    """Whether *error* says that the API server as a whole is away or in trouble, and nothing about what was asked."""
    return error.status in (0, 401, 429) or error.status >= 500


def is_expired(error: KubernetesError) -> bool:
    """Whether the resource version or the page asked for is gone, so that only a new list helps."""
    return error.status == 410 or error.reason in ("Expired", "Gone")


def denies_streaming(error: KubernetesError) -> bool:
    """Whether a streaming list was refused in a way that a list in pages may not be."""
    return 400 <= error.status < 500 and error.status not in (401, 403, 410, 429)


def blames_version(error: KubernetesError) -> bool:
    """Whether a refusal may be about the resource version: bad request, or (504) one of the future."""
    return (400 <= error.status < 500 and error.status not in (401, 403, 429)) or error.status == 504


def one_line(text: str) -> str:
    """Bring *text* of somebody else to one line of bounded length, fit for the log and for a terminal."""
    return shown(" ".join(text.split()), _LONGEST_MESSAGE)

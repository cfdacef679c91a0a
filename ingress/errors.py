"""The error families; nothing else crosses the border of a room.

``StartError`` ends the process in one line, ``KubernetesError`` is the API
server's "no", ``ComputingRefused`` that of our own threads.  What is wrong with an object of a user is no exception at all but a
``Problem`` (``ingress.model.cluster.problems``), and an exchange that failed tells so by its
state (``ingress.proxy.exchange.exchange``).
"""


class OperatorError(Exception):
    """Tells the operator *message*, and behind it the *aside*, if there is one, in one line.

    An *aside* is what a program of somebody else wrote.  It may have secrets, and is for the log and the terminal alone, as is the text of
    the error, which has both.
    """

    def __init__(self, message: str, aside: str = "") -> None:
        super().__init__(f"{message}: {aside}" if aside else message)
        self.message = message
        self.aside = aside


class StartError(OperatorError):
    """The process cannot start."""


class KubernetesError(Exception):
    """The API server refused a request.

    *status* is the HTTP status, *reason* the ``Status.reason`` (``Expired``,
    ``Forbidden`` ...), *retry_after_seconds* what the server asked for.  The *aside* is that of an ``OperatorError``,
    and not in the text.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        retry_after_seconds: float | None = None,
        aside: str = "",
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.retry_after_seconds = retry_after_seconds
        self.aside = aside


class ComputingRefused(Exception):  # noqa: N818 - nothing failed
    """Too much waits to be computed already: of whoever asks if *is_own*, or else of all together."""

    def __init__(self, *, is_own: bool) -> None:
        super().__init__("too much waits to be computed" + (" for the same one" if is_own else ""))
        self.is_own = is_own

"""The options about HTTP/2 to clients."""

from typing import ClassVar

from twisted.python import usage

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "HTTP/2",
    (
        ("no-http2", ""),
        ("http2-prior-knowledge", ""),
    ),
)
"""Title and options, in the order in which they are shown."""


class Http2Options(usage.Options):
    """Where clients may speak HTTP/2."""

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "no-http2",
            None,
            "Speak HTTP/1.1 alone to clients; without this, those over TLS may agree on HTTP/2.",
        ],
        [
            "http2-prior-knowledge",
            None,
            "Speak HTTP/2 without TLS, too, to clients that begin with it.",
        ],
    ]

    def postOptions(self) -> None:
        """Refuse options that contradict each other."""
        if self["no-http2"] and self["http2-prior-knowledge"]:
            raise usage.UsageError("--no-http2 and --http2-prior-knowledge exclude each other")
        super().postOptions()

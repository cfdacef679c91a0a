"""The options about how the process runs: its network, its access log, its end."""

from typing import ClassVar

from twisted.python import usage

from ingress.cli import option_values
from ingress.cli.option_rows import parameter
from ingress.settings import Settings

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "Running",
    (
        ("no-epoll", ""),
        ("access-log", "FILE"),
        ("shutdown-delay", "SECONDS"),
        ("shutdown-grace", "SECONDS"),
    ),
)
"""Title and options, in the order in which they are shown."""

_DEFAULTS = Settings()


class RunningOptions(usage.Options):
    """What has nothing to do with what is served."""

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        ["no-epoll", None, "Run the data path on Twisted's own transports, as where there is no epoll."],
    ]

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter("access-log", None, "File for the access log; without it, standard output.", option_values.read_path),
        parameter(
            "shutdown-delay",
            _DEFAULTS.shutdown_delay_seconds,
            "Seconds to keep accepting after a stop was asked for, while load balancers turn away.",
            option_values.read_seconds,
        ),
        parameter(
            "shutdown-grace",
            _DEFAULTS.shutdown_grace_seconds,
            "Seconds that running requests then have to end before they are cut.",
            option_values.read_seconds,
        ),
    ]  # fmt: skip

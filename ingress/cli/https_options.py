"""The options about getting visitors to HTTPS, and keeping them there."""

import re
from typing import ClassVar

from twisted.python import usage

from ingress.cli.option_rows import parameter
from ingress.settings import STRICT_TRANSPORT, StrictTransport

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "Redirects to HTTPS",
    (
        ("no-ssl-redirect", ""),
        ("force-ssl-redirect", ""),
        ("no-hsts", ""),
        ("hsts-max-age", "SECONDS"),
        ("no-hsts-subdomains", ""),
        ("hsts-preload", ""),
    ),
)
"""Title and options, in the order in which they are shown."""


def read_max_age(text: str) -> int:
    """Read for how many whole seconds browsers remember; 0 makes them forget."""
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise ValueError("not a whole number of seconds, 0 or more")
    return int(text)


class HttpsOptions(usage.Options):
    """What holds for hosts in ``spec.tls``, unless an Ingress says otherwise."""

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "no-ssl-redirect",
            None,
            "Redirect hosts that spec.tls names only where an Ingress says so by ssl-redirect.",
        ],
        [
            "force-ssl-redirect",
            None,
            "Redirect all hosts, also those that no spec.tls names, unless an Ingress says otherwise.",
        ],
        ["no-hsts", None, "Send no Strict-Transport-Security, and let pass what upstream sends."],
        ["no-hsts-subdomains", None, "Say nothing about subdomains in Strict-Transport-Security."],
        ["hsts-preload", None, "Allow browser vendors to build the hosts into their lists; hard to undo."],
    ]

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter(
            "hsts-max-age",
            STRICT_TRANSPORT.max_age_seconds,
            "Seconds for which browsers remember to ask over HTTPS only.",
            read_max_age,
        ),
    ]

    def strict_transport(self) -> StrictTransport | None:
        """Return what browsers are told, None for nothing."""
        if self["no-hsts"]:
            return None
        return StrictTransport(
            self["hsts-max-age"], not self["no-hsts-subdomains"], bool(self["hsts-preload"])
        )

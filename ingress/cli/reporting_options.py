"""The options about what is reported back to the cluster."""

import ipaddress
import re
from typing import ClassVar

from ingress.cli.option_rows import RepeatableOptions, parameter
from ingress.cli.option_values import read_key, read_namespace
from ingress.model.object_meta import Address
from ingress.settings import Reporting
from ingress.status.election import LONGEST_SECONDS

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "Reporting to the cluster",
    (
        ("publish-status-address", "ADDRESS"),
        ("publish-service", "NAMESPACE/NAME"),
        ("election-id", "NAME"),
        ("election-namespace", "NAME"),
        ("election-ttl", "SECONDS"),
        ("clear-status-on-shutdown", ""),
    ),
)
"""Title and options, in the order in which they are shown."""

SHORTEST_TTL_SECONDS = 2

_DEFAULTS = Reporting()
_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")


def read_addresses(text: str) -> tuple[Address, ...]:
    """Read IP addresses and host names with commas between them."""
    return tuple(_read_address(part.strip()) for part in text.split(","))


def _read_address(text: str) -> Address:
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        name = text.lower().removesuffix(".")
        # What looks like an address and is none would be taken for one by whoever reads it.
        if _SUBDOMAIN.fullmatch(name) is None or name.rpartition(".")[2].isdigit():
            raise ValueError(f"{text!r} is neither an IP address nor a host name") from None
        return Address("", name)
    if "%" in text:
        raise ValueError(f"{text!r} has a zone, which means nothing elsewhere")
    return Address(str(ip))


def read_object_name(text: str) -> str:
    """Read the name of an object: an RFC 1123 subdomain."""
    if _SUBDOMAIN.fullmatch(text) is None:
        raise ValueError("not a name for an object: small letters, digits, dots and dashes")
    return text


def read_ttl(text: str) -> int:
    """Read how long a lease lasts, which the API has in whole seconds; ``30s`` is ``30``."""
    text = text.removesuffix("s")
    if not re.fullmatch(r"[0-9]{1,4}", text) or not SHORTEST_TTL_SECONDS <= int(text) <= LONGEST_SECONDS:
        raise ValueError(f"not a whole number of seconds from {SHORTEST_TTL_SECONDS} to {LONGEST_SECONDS}")
    return int(text)


class ReportingOptions(RepeatableOptions):
    """What the Ingresses show as their address, and how the replicas agree on who writes it."""

    repeatables: ClassVar[tuple[str, ...]] = ("publish-status-address",)

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "clear-status-on-shutdown",
            None,
            "Remove the addresses of Ingresses at the end, if no other replica takes the lease over meanwhile.",
        ],
    ]

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter(
            "publish-service",
            None,
            "Service whose addresses the Ingresses show, unless --publish-status-address says others.",
            read_key,
        ),
        parameter(
            "election-id",
            _DEFAULTS.election_id,
            "Name of the lease by which the replicas agree on the one that writes statuses and Events.",
            read_object_name,
        ),
        parameter(
            "election-namespace",
            None,
            "Namespace of that lease; without it, the one of the pod or of the kubeconfig's context.",
            read_namespace,
        ),
        parameter(
            "election-ttl",
            _DEFAULTS.election_ttl_seconds,
            "Seconds after which a replica that writes, and is gone without a word, is replaced.",
            read_ttl,
        ),
    ]

    def opt_publish_status_address(self, text: str) -> None:
        """IP address or host name that the Ingresses show."""
        self._add("publish-status-address", read_addresses, text)

    def reporting(self) -> Reporting:
        """Return what was decided."""
        return Reporting(
            election_id=self["election-id"],
            election_namespace=self["election-namespace"],
            election_ttl_seconds=self["election-ttl"],
            publish_addresses=tuple(
                address for some in self._repeated["publish-status-address"] for address in some
            ),
            publish_service=self["publish-service"],
            clear_status_on_shutdown=bool(self["clear-status-on-shutdown"]),
        )

"""Addresses of sides: where requests go, whatever host they name.

    10.0.0.1                                            80 for http, 443 for https
    10.0.0.1:8080                                       http alone
    http=10.0.0.1:8080,https=10.0.0.1:8443              each by itself

An address is one, and no name: what a name resolves to changes, and nothing may be sent anywhere but where somebody said.
"""

import ipaddress
import re
from typing import Final

from ingress.ctl.errors import Mistake
from ingress.model.frozen import frozen

HTTP_PORT: Final = 80
HTTPS_PORT: Final = 443
_PORT: Final = re.compile(r"(.*):([0-9]{1,5})")
_HIGHEST_PORT: Final = 65535
_FORM: Final = "write ADDRESS, ADDRESS:PORT, or http=ADDRESS:PORT,https=ADDRESS:PORT"


@frozen
class Address:
    """An IP address and a port."""

    ip: str
    port: int

    def __str__(self) -> str:
        return f"[{self.ip}]:{self.port}" if ":" in self.ip else f"{self.ip}:{self.port}"


@frozen
class SideAddresses:
    """Where one side takes requests; None where it is not said."""

    http: Address | None
    https: Address | None

    def of(self, scheme: str) -> Address | None:
        """Return where requests of *scheme* go."""
        return self.https if scheme == "https" else self.http

    @property
    def ports(self) -> frozenset[str]:
        """The ports, as they are written in URLs."""
        return frozenset(str(one.port) for one in (self.http, self.https) if one is not None)

    def __str__(self) -> str:
        said = [f"{scheme} to {one}" for scheme, one in (("http", self.http), ("https", self.https)) if one]
        return ", ".join(said)


def read_addresses(text: str, option: str) -> SideAddresses:
    """Read what *option* says; raises ``Mistake``."""
    parts = [part.strip().removesuffix("/") for part in text.replace("://", "=").split(",")]
    if len(parts) == 1 and "=" not in parts[0]:
        ip, port = _split(parts[0], option)
        if port is not None:
            return SideAddresses(Address(ip, port), None)
        return SideAddresses(Address(ip, HTTP_PORT), Address(ip, HTTPS_PORT))
    found: dict[str, Address] = {}
    for part in parts:
        scheme, sign, rest = part.partition("=")
        if not sign or scheme not in ("http", "https") or scheme in found:
            raise Mistake(f"{option} {text!r}: {_FORM}")
        ip, port = _split(rest, option)
        found[scheme] = Address(ip, port or (HTTP_PORT if scheme == "http" else HTTPS_PORT))
    return SideAddresses(found.get("http"), found.get("https"))


def _split(text: str, option: str) -> tuple[str, int | None]:
    """Split *text* into an IP address and a port, None where there is none."""
    address = _ip(text)
    if address is not None:
        return address, None
    found = _PORT.fullmatch(text)
    address = _ip(found[1]) if found else None
    if found is None or address is None:
        name = found[1] if found else text
        raise Mistake(
            f"{option} {text!r}: {name!r} is no IP address, and names are not looked up, for requests go to the two"
            f" given addresses alone; {_FORM} with what the name stands for"
        )
    port = int(found[2])
    if not 0 < port <= _HIGHEST_PORT:
        raise Mistake(f"{option} {text!r}: a port is a number from 1 to {_HIGHEST_PORT}")
    return address, port


def _ip(text: str) -> str | None:
    if text == "localhost":
        return "127.0.0.1"
    try:
        found = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    return str(found)

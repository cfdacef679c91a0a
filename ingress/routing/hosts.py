"""Hosts: the normal form of the one a request names, and the check of the one a rule names.

Nothing here looks a host up; ``ingress.routing.table`` does.
"""

import ipaddress
import re
from functools import lru_cache
from typing import Final


class HostError(ValueError):
    """The authority of a request cannot be read in exactly one way; the answer is 400.

    The message is constant text and never repeats what was received.
    """


# RFC 3986 section 3.2.2: unreserved and sub-delims.  Percent-encoding is left
# out on purpose: no DNS name needs it, and who decodes it sees another host.
_LABEL: Final = rb"[A-Za-z0-9\-_~!$&'()*+,;=]+"
_NAME: Final = re.compile(rb"(" + _LABEL + rb"(?:\." + _LABEL + rb")*)\.?(?::([0-9]{0,5}))?")
_IPV6: Final = re.compile(rb"(\[([0-9A-Fa-f:.]{2,45})\])(?::([0-9]{0,5}))?")
_HIGHEST_PORT: Final = 65535
_MAX_REMEMBERED: Final = 128
"""Bytes: what is remembered of hosts must not be much, whoever asks for them."""

_MAX_NAME_LENGTH: Final = 253
_MAX_LABEL_LENGTH: Final = 63
_RULE_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
# What nearly all rules name: nothing here is wrong with it, and a last label that begins
# with a letter ends no IP address.
_PLAIN_RULE_HOST: Final = re.compile(
    r"(?:\*\.)?(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?"
)


@lru_cache(maxsize=1024)
def _normal_short_host(authority: bytes) -> tuple[bytes, bytes]:
    return _normal_host(authority)


def normal_host(authority: bytes) -> tuple[bytes, bytes]:
    """Split *authority* (``host[:port]``, RFC 3986 section 3.2) into host and port.

    The host comes back in lower case and without its one trailing dot; an IPv6
    literal keeps its brackets.  The port is empty when there is none, and also
    for ``host:``, which RFC 3986 allows.  User information, an empty host, an
    empty label and any character that no name has raise ``HostError``.
    """
    if len(authority) <= _MAX_REMEMBERED:
        return _normal_short_host(authority)
    return _normal_host(authority)


def _normal_host(authority: bytes) -> tuple[bytes, bytes]:
    if name := _NAME.fullmatch(authority):
        host, port = name.groups()
    elif literal := _IPV6.fullmatch(authority):
        host, address, port = literal.groups()
        try:
            ipaddress.IPv6Address(address.decode("ascii"))
        except ValueError:
            raise HostError("the host is no IPv6 address") from None
    else:
        raise HostError(_what_is_wrong(authority))
    if not port:
        return host.lower(), b""
    if int(port) > _HIGHEST_PORT:
        raise HostError("the port of the host is above 65535")
    return host.lower(), port


def _what_is_wrong(authority: bytes) -> str:
    if not authority:
        return "the host is empty"
    if b"@" in authority:
        return "the host holds user information"
    return "the host is malformed"


def check_rule_host(host: str) -> str | None:
    """Say why *host* cannot be the host of an Ingress rule, or None when it can.

    ``IngressRule.host``: a DNS name (RFC 1123), or a wildcard that is the whole
    first label; no IP address, no port.  The empty host stands for all hosts.
    Letters of either case pass, since DNS makes no difference.
    """
    if not host or (len(host) <= _MAX_NAME_LENGTH and _PLAIN_RULE_HOST.fullmatch(host)):
        return None
    if not host.isascii():
        return "is not ASCII; write an internationalized name in its xn-- form"
    if _is_ip_address(host):
        return "is an IP address; a rule needs a DNS name"
    if ":" in host:
        return "holds a port or a colon; a rule's host has none"
    if host == "*":
        return "is '*' alone; leave the host out to match all hosts"
    if host.endswith("."):
        return "ends with a dot"
    if len(host) > _MAX_NAME_LENGTH:
        return f"is longer than {_MAX_NAME_LENGTH} characters"
    labels = host.lower().split(".")
    if labels[0] == "*":
        del labels[0]
    for label in labels:
        if "*" in label:
            return "has a wildcard that is not the whole first label"
        if not label:
            return "has an empty label"
        if len(label) > _MAX_LABEL_LENGTH:
            return f"has a label longer than {_MAX_LABEL_LENGTH} characters"
        if not _RULE_LABEL.fullmatch(label):
            return "is no DNS name: labels are letters, digits and inner hyphens"
    return None


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True

"""Texts of options, read into values.

Each function takes what was written for an option and returns its value,
or raises ValueError with a reason that makes sense behind the option's name.
Nothing here knows which option it reads for, and nothing listens or connects.
"""

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ingress.annotations.contract.values import Risk, ValueRefused, parse_boolean
from ingress.annotations.hosts.ciphers import parse_suites
from ingress.annotations.policy import parse_risk, parse_words
from ingress.annotations.requests.buffers import MOST_HEAD_BYTES, parse_head_size
from ingress.annotations.upstream.balancing import parse_algorithm
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectKey
from ingress.model.network.listeners import arguments_of
from ingress.model.reporting.reporting import LONGEST_LEASE_SECONDS
from ingress.model.serving.log_formats import LOG_LEVELS, LogForm
from ingress.model.serving.serving_settings import ForwardedHeaders
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.model.upstream.balancing import Algorithm
from ingress.process.systemd.descriptions import is_handed_over, read_handed_over
from ingress.translate.options import ANNOTATIONS_PREFIX

T = TypeVar("T")

MAX_PAGE_BYTES = 1024 * 1024
"""Size limit of a page read from a file; it is held in memory and sent often."""

LONGEST_SECONDS = 31_536_000
LARGEST_COUNT = 1_000_000_000
MOST_CONNECTIONS = 1_000_000
MOST_RESPONSES = 1_000_000_000
MOST_TRIES = 1000
MOST_WORKERS = 256
SHORTEST_LEASE_SECONDS = 2

SERVICE_FORM = "NAMESPACE/SERVICE[:PORT]"

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")
_HOST_NAME = re.compile(r"(?=.{1,253}\Z)(?!.*\.[0-9]+\.?\Z)[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.?")
_PORT_NAME = re.compile(r"(?=.{1,15}\Z)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*")
_FIELD_COMPARISON = re.compile(r"[A-Za-z][A-Za-z.]*(?:==?|!=)[^\s,=!]*")
_LARGEST_BACKLOG = 2**31 - 1

# By lower case.  Those over finite fields are left out: they are slow, and nobody needs them.
_TLS_GROUPS = {
    "x25519mlkem768": "X25519MLKEM768",
    "secp256r1mlkem768": "SecP256r1MLKEM768",
    "secp384r1mlkem1024": "SecP384r1MLKEM1024",
    "x25519": "X25519",
    "x448": "X448",
} | {
    spelling: group
    for group, spellings in (
        ("P-256", ("p-256", "prime256v1", "secp256r1")),
        ("P-384", ("p-384", "secp384r1")),
        ("P-521", ("p-521", "secp521r1")),
    )
    for spelling in spellings
}


def read_port(text: str) -> int:
    """Read a port between 1 and 65535."""
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise ValueError(f"{text!r} is not a port between 1 and 65535")
    return int(text)


def read_service_port(text: str) -> int | str:
    """Read a Service port: its number or its name (an IANA service name)."""
    if text.isdecimal():
        return read_port(text)
    if not _PORT_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is neither a port number nor the name of a Service port")
    return text


def read_namespace(text: str) -> str:
    """Read the name of a namespace: an RFC 1123 label."""
    if not re.fullmatch(_LABEL, text):
        raise ValueError("not the name of a namespace")
    return text


def read_host_name(text: str) -> str:
    """Read the name of a host, as ``Host`` has it, without a port; return it in lower case."""
    labels = text.lower().removesuffix(".").split(".")
    if len(text) > 253 or not all(
        re.fullmatch(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", label) for label in labels
    ):
        raise ValueError("not a host name; IP addresses and localhost need none")
    return ".".join(labels)


def read_secret_mode(text: str) -> str:
    """Read how Secrets are to be read."""
    if text not in ("watch", "get"):
        raise ValueError("neither watch nor get")
    return text


def read_field_selector(text: str) -> str:
    """Read a field selector: comparisons with ``=``, ``==`` or ``!=``, with commas between them, or nothing."""
    if text and not all(_FIELD_COMPARISON.fullmatch(part) for part in text.split(",")):
        raise ValueError("not a field selector such as type=kubernetes.io/tls")
    return text


def read_share(text: str) -> float:
    """Read a share between 0 and 1."""
    if not re.fullmatch(r"(0|1)(\.[0-9]{1,9})?|\.[0-9]{1,9}", text) or float(text) > 1:
        raise ValueError("not a number from 0 to 1")
    return float(text)


def read_log_form(text: str) -> LogForm:
    """Read what lines of the log look like."""
    if text not in tuple(LogForm):
        raise ValueError("neither text nor json")
    return LogForm(text)


def read_log_level(text: str) -> str:
    """Read a level of the log."""
    if text not in LOG_LEVELS:
        raise ValueError(f"none of {', '.join(LOG_LEVELS)}")
    return text


def read_tls_version(text: str) -> str:
    """Read the number of a version of TLS, as in ``1.2`` or ``TLSv1.3``."""
    version = text.strip().lower().removeprefix("tlsv")
    if version not in ("1.2", "1.3"):
        raise ValueError("not 1.2 or 1.3, which are the versions that are safe")
    return version


def read_tls_groups(text: str) -> str:
    """Read groups of the key exchange, separated by colons, each once; the names of curves in any usual spelling."""
    groups = []
    for word in text.split(":"):
        group = _TLS_GROUPS.get(word.strip().lower())
        if group is None:
            raise ValueError(f"{word.strip()!r} is none of {', '.join(dict.fromkeys(_TLS_GROUPS.values()))}")
        groups.append(group)
    return ":".join(dict.fromkeys(groups))


def read_key(text: str, form: str = "NAMESPACE/NAME") -> ObjectKey:
    """Read namespace and name of an object."""
    namespace, slash, name = text.partition("/")
    if not (slash and re.fullmatch(_LABEL, namespace) and _SUBDOMAIN.fullmatch(name)):
        raise ValueError(f"not of the form {form}")
    return ObjectKey(namespace, name)


def _read_service(text: str, form: str = SERVICE_FORM) -> tuple[ObjectKey, int | str]:
    key, colon, port = text.partition(":")
    return read_key(key, form), read_service_port(port) if colon else ""


def read_backend_service(text: str) -> BackendReference:
    """Read the Service and the port of a backend; without a port, its first one is meant."""
    key, port = _read_service(text)
    return BackendReference(key.namespace, key.name, port)


def read_address(text: str) -> Endpoint:
    """Read ``HOST:PORT``: an IPv4 address, an IPv6 address in brackets, or a name."""
    host, colon, port = text.rpartition(":")
    if not (colon and host):
        raise ValueError(f"{text!r} is not of the form HOST:PORT")
    if host.startswith("[") and host.endswith("]"):
        try:
            return Endpoint(str(ipaddress.IPv6Address(host[1:-1])), read_port(port))
        except ipaddress.AddressValueError:
            raise ValueError(f"{host!r} is not an IPv6 address") from None
    if ":" in host:
        raise ValueError(f"{text!r} is not of the form HOST:PORT (an IPv6 address stands in brackets)")
    try:
        ipaddress.IPv4Address(host)
    except ipaddress.AddressValueError:
        if not _HOST_NAME.fullmatch(host):
            raise ValueError(f"{host!r} is neither an address nor a host name") from None
    return Endpoint(host, read_port(port))


def read_manual_endpoint(text: str) -> ManualEndpoint:
    """Read where a Service runs, or where any Service runs."""
    form = f"{SERVICE_FORM}=HOST:PORT or *=HOST:PORT"
    service, equals, address = text.partition("=")
    if not equals:
        raise ValueError(f"not of the form {form}")
    if service == "*":
        return ManualEndpoint(None, "", read_address(address))
    key, port = _read_service(service, form)
    return ManualEndpoint(key, port, read_address(address))


def read_ip_address(text: str) -> str:
    """Read an IP address on which something can listen."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"{text!r} is no IP address") from None


def read_controller_name(text: str) -> str:
    """Read what a GatewayClass calls its controller: a domain and a path (``GatewayController``)."""
    domain, slash, path = text.partition("/")
    if _SUBDOMAIN.fullmatch(domain) is None or not slash or not re.fullmatch(r"[\x21-\x7e]+", path):
        raise ValueError(f"{text!r} is no name of a controller; write example.com/name")
    return text


def read_network(text: str) -> str:
    """Read a network in CIDR form, or one address."""
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise ValueError("is no network; write 10.0.0.0/8 or 2001:db8::/32") from None


def read_forwarded_headers(text: str) -> ForwardedHeaders:
    """Read what is believed of trusted proxies."""
    try:
        return ForwardedHeaders(text.lower())
    except ValueError:
        raise ValueError(f"none of {', '.join(ForwardedHeaders)}") from None


def read_field_name(text: str) -> str:
    """Read the name of a header field (RFC 9110 section 5.1)."""
    if re.fullmatch(r"[!#$%&'*+.^`|~0-9A-Za-z_-]{1,128}", text) is None:
        raise ValueError("not the name of a header field")
    return text


def read_as_annotation(parse: Callable[[str], T], text: str) -> T:
    """Return what *parse*, which reads values of annotations, makes of *text*."""
    try:
        return parse(text)
    except ValueRefused as refusal:
        raise ValueError(str(refusal)) from None


def read_boolean(text: str) -> bool:
    """Read ``true`` or ``false``."""
    return read_as_annotation(parse_boolean, text)


def read_risk(text: str) -> Risk:
    """Read how much risk an annotation may have."""
    return read_as_annotation(parse_risk, text)


def read_words(text: str) -> tuple[str, ...]:
    """Read words with commas between them, which may be signs."""
    return read_as_annotation(parse_words, text)


def read_suites(text: str) -> tuple[str, ...]:
    """Read suites of TLS 1.2, as the annotation does; those that are not spoken are left out."""
    return read_as_annotation(parse_suites, text).kept


def read_description(text: str, reactor: Any = None) -> str:
    """Check a listener description by letting Twisted read it; nothing listens yet.

    Descriptions that plugins of Twisted read may want the *reactor* for that.
    """
    from twisted.internet.endpoints import serverFromString

    form = "not a listener description such as tcp:80 or tcp:8080:interface=127.0.0.1"
    if is_handed_over(text):
        # Whether there is such a socket is known to the process that has it.
        read_handed_over(text)
        return text
    if text.startswith(("ssl:", "tls:")):
        raise ValueError("give a plain description such as tcp:443; --https adds TLS by itself")
    try:
        serverFromString(reactor, text)
    except TypeError:  # Too few or too many arguments; the message names Twisted's internals.
        raise ValueError(form) from None
    except Exception as error:  # Descriptions are read by plugins, which raise what they like.
        raise ValueError(f"{form} ({' '.join(str(error).split())})") from None
    _check_numbers(arguments_of(text))
    return text


def _check_numbers(arguments: Mapping[str, str]) -> None:
    """Raise ``ValueError`` for numbers that Twisted reads, and no system can listen with."""
    port, backlog, mode = (arguments.get(name) for name in ("port", "backlog", "mode"))
    if port is not None and not 0 <= int(port) <= 65535:
        raise ValueError(f"{port} is not a port between 0 and 65535")
    if backlog is not None and not -1 <= int(backlog) <= _LARGEST_BACKLOG:
        raise ValueError(f"backlog {backlog} is not a number between 0 and {_LARGEST_BACKLOG}")
    if mode is not None and not 0 <= int(mode, 8) <= 0o7777:
        raise ValueError(f"{mode} is not the mode of a file, such as 600")


def read_seconds(text: str) -> float:
    """Read a number of seconds, with or without a fraction."""
    if not re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]+)?", text):
        raise ValueError("not a number of seconds, 0 or more")
    return float(text)


def read_timeout(text: str) -> float:
    """Read how long something may take."""
    if not re.fullmatch(r"[0-9]{1,8}(?:\.[0-9]{1,6})?", text) or not 0 < float(text) <= LONGEST_SECONDS:
        raise ValueError(f"not a number of seconds, more than 0 and at most {LONGEST_SECONDS}")
    return float(text)


def read_max_age(text: str) -> int:
    """Read for how many whole seconds browsers remember; 0 makes them forget."""
    if not re.fullmatch(r"[0-9]{1,10}", text):
        raise ValueError("not a whole number of seconds, 0 or more")
    return int(text)


def read_ttl(text: str) -> int:
    """Read how long a lease lasts, which the API has in whole seconds; ``30s`` is ``30``."""
    text = text.removesuffix("s")
    least, most = SHORTEST_LEASE_SECONDS, LONGEST_LEASE_SECONDS
    if not re.fullmatch(r"[0-9]{1,4}", text) or not least <= int(text) <= most:
        raise ValueError(f"not a whole number of seconds from {least} to {most}")
    return int(text)


def _read_count(text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise ValueError(f"not a whole number from {least} to {most}")
    return int(text)


def read_requests(text: str) -> int:
    """Read how many requests there may be."""
    return _read_count(text, 1, LARGEST_COUNT)


def read_rate(text: str) -> int:
    """Read a number of bytes a second; 0 is none."""
    return _read_count(text, 0, LARGEST_COUNT)


def read_head_size(text: str) -> int:
    """Read how long the head of an answer may be."""
    return min(read_as_annotation(parse_head_size, text), MOST_HEAD_BYTES)


def read_workers(text: str) -> int:
    """Read how many processes serve; 0 stands for as many as are of use."""
    return 0 if text == "auto" else _read_count(text, 1, MOST_WORKERS)


def read_percent(text: str) -> int:
    """Read a share in percent; 0 is none."""
    return _read_count(text, 0, 99)


def read_most(text: str) -> int:
    """Read how many connections there may be."""
    return _read_count(text, 1, MOST_CONNECTIONS)


def read_most_or_all(text: str) -> int:
    """Read how many connections there may be; 0 means as many as are asked for."""
    return _read_count(text, 0, MOST_CONNECTIONS)


def read_responses(text: str) -> int:
    """Read how many answers to a datagram there are."""
    return _read_count(text, 0, MOST_RESPONSES)


def read_tries(text: str) -> int:
    """Read how many endpoints are tried; more than there can be are as many as there can be."""
    return min(_read_count(text, 0, LARGEST_COUNT), MOST_TRIES)


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


def read_algorithm(text: str) -> Algorithm:
    """Read the name of a way to share requests."""
    return read_as_annotation(parse_algorithm, text)


def read_url(text: str) -> str:
    """Check an HTTP or HTTPS URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in text):
        raise ValueError("not a URL such as https://10.0.0.1:6443")
    return text


def read_word(text: str) -> str:
    """Check a name whose form is the business of somebody else."""
    if not text or any(character.isspace() for character in text):
        raise ValueError("must not be empty or hold blanks")
    return text


def read_prefix(text: str) -> str:
    """Check the prefix of annotations: an RFC 1123 subdomain."""
    if not _SUBDOMAIN.fullmatch(text):
        raise ValueError(f"not a DNS name such as {ANNOTATIONS_PREFIX} (without the slash)")
    return text


def read_path(text: str) -> str:
    """Check a path that need not exist yet."""
    if not text:
        raise ValueError("must not be empty")
    return text


def read_existing_path(text: str) -> str:
    """Check a path that must exist."""
    if not os.path.exists(read_path(text)):
        if os.path.islink(text):
            raise ValueError("is a link to something that does not exist")
        raise ValueError("no such file or directory")
    return text


def read_socket_path(text: str) -> str:
    """Return the absolute path of a UNIX socket, which need not exist; the process may change its directory later."""
    path = os.path.abspath(read_path(text))
    most = 107
    if len(os.fsencode(path)) > most:
        raise ValueError(f"the name of a socket may have {most} bytes")
    return path


def read_page(text: str) -> bytes:
    """Read the content of the file that *text* names."""
    try:
        # A pipe that nobody writes to is an empty page, and is not waited for.
        with open(text, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as page:
            content = page.read(MAX_PAGE_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}") from None
    return _page(content)


def read_page_text(text: str) -> bytes:
    """Take *text* for the content of a page."""
    return _page(text.encode("utf-8", "replace"))


def _page(content: bytes) -> bytes:
    if len(content) > MAX_PAGE_BYTES:
        raise ValueError("larger than 1 MiB")
    return content

"""URLs as people paste them: what a client would send for one, and what it had to assume.

A client is taken to do what curl does, but for one thing: dot segments are sent as they are written.
"""

import re
from base64 import b64encode
from ipaddress import AddressValueError, IPv6Address
from typing import Final, NoReturn
from urllib.parse import quote, unquote_to_bytes

from attrs import field

from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 16 * 1024
_PORTS: Final = {"http": 80, "https": 443}
_SOCKETS: Final = {"ws": "http", "wss": "https"}
_STREAMS: Final = frozenset({"tcp", "tls", "udp"})
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]{0,30}):(?=//)")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SPACE: Final = " \t\r\n"
_PORT: Final = re.compile(r"[0-9]{1,5}", re.ASCII)
_SENT: Final = "".join(chr(number) for number in range(0x21, 0x7F))
"""What stands in a request target as it is written."""


class UrlRefused(ValueError):  # noqa: N818 - it is a verdict on a text, no failure
    """A text from which no request can be made; the message says why, and what helps."""


@frozen
class AskedUrl:
    """What a client makes of a URL."""

    scheme: str
    """``http`` or ``https``."""
    host: str
    """As it is sent: an IPv6 address in brackets, an internationalized name as ``xn--``."""
    port: int
    authority: bytes
    """What ``Host`` says."""
    target: bytes
    """Path and query, as they are sent."""
    credentials: bytes = field(default=b"", repr=False)
    """What ``Authorization`` says for the user in the URL; empty where there is none."""
    notes: tuple[str, ...] = ()
    """What was assumed, a sentence each."""

    def __str__(self) -> str:
        """Return the URL that was meant, without user."""
        return f"{self.scheme}://{self.authority.decode('ascii')}{self.target.decode('ascii')}"


@frozen
class StreamUrl:
    """A port of streams, as people write it: ``tcp://:5432``, ``udp://dns.example.com:53``, ``tls://db.example.com``."""

    scheme: str
    """``tcp``, ``udp`` or ``tls``."""
    host: str
    """As in ``AskedUrl``: the address that is connected to, and over TLS the server name; empty where none is named."""
    port: int
    notes: tuple[str, ...] = ()
    """What was assumed, a sentence each."""

    def __str__(self) -> str:
        """Return the URL that was meant."""
        return f"{self.scheme}://{self.host}:{self.port}"


def is_of_stream(text: str) -> bool:
    """Whether *text* is a URL of a stream, of which no request is read."""
    found = _SCHEME.match(text.strip(_SPACE))
    return found is not None and found[1].lower() in _STREAMS


def read_stream_url(text: str) -> StreamUrl:
    """Read *text*, which ``is_of_stream``; raises ``UrlRefused``."""
    notes: list[str] = []
    scheme, _, rest = _checked(text).partition("://")
    scheme = scheme.lower()
    authority = rest.removesuffix("/")
    for sign, what in (("@", "user"), ("/", "path"), ("?", "query"), ("#", "fragment")):
        if sign in authority:
            _refuse(f"a stream has no {what}; write it like {scheme}://HOST:PORT")
    if not authority.partition(":")[0] and scheme != "tls":
        host, port = "", _port(authority.removeprefix(":"))
    else:
        host, port = _host_and_port(authority, notes)
    if port is None and scheme != "tls":
        _refuse(f"{scheme} has no usual port; write it like {scheme}://{host}:PORT")
    return StreamUrl(scheme, host, _PORTS["https"] if port is None else port, tuple(notes))


def read_url(text: str) -> AskedUrl:
    """Read *text*; raises ``UrlRefused``."""
    notes: list[str] = []
    scheme, rest = _scheme(_checked(text), notes)
    rest, has_fragment, _ = rest.partition("#")
    if has_fragment:
        notes.append("what stands behind # stays in the browser, and is not sent")
    at = min((rest.find(sign) for sign in "/?" if sign in rest), default=len(rest))
    authority, target = rest[:at], rest[at:]
    user, has_user, authority = authority.rpartition("@")
    credentials = b""
    if has_user:
        credentials = b"Basic " + b64encode(unquote_to_bytes(user if ":" in user else f"{user}:"))
        notes.append("the user before @ is sent as Authorization, as curl does")
    host, port = _host_and_port(authority, notes)
    shown_port = "" if port is None or port == _PORTS[scheme] else f":{port}"
    return AskedUrl(
        scheme,
        host,
        _PORTS[scheme] if port is None else port,
        f"{host}{shown_port}".encode("ascii"),
        _target(target, notes),
        credentials,
        tuple(notes),
    )


def _refuse(why: str) -> NoReturn:
    raise UrlRefused(why)


def _checked(text: str) -> str:
    """Return *text* without the space around it, if it may be a URL at all."""
    url = text.strip(_SPACE)
    if not url:
        _refuse("the URL is empty; write it like https://shop.example.com/cart")
    if len(url) > MAX_CHARACTERS:
        _refuse(f"the URL has more than {MAX_CHARACTERS} characters")
    if _CONTROL.search(url):
        _refuse("the URL holds a control character, such as a line break, which no client sends")
    return url


def _scheme(url: str, notes: list[str]) -> tuple[str, str]:
    """Return the scheme of *url*, and what follows its slashes."""
    found = _SCHEME.match(url)
    if found is None:
        if url.startswith("/") and not url.startswith("//"):
            _refuse(f"the URL names no host; write it like http://HOST{url[:64]}")
        if url.startswith(":"):
            _refuse("the URL names no host; write it like https://shop.example.com/cart")
        notes.append("no scheme is named, so it is http, as with curl; write https:// for TLS")
        return "http", url.removeprefix("//")
    scheme = found[1].lower()
    if scheme in _SOCKETS:
        notes.append(f"{scheme} begins as a request of {_SOCKETS[scheme]}")
        scheme = _SOCKETS[scheme]
    if scheme in _STREAMS:
        _refuse(f"{scheme} has no requests; ingressctl explain says where its streams lead")
    if scheme not in _PORTS:
        _refuse(f"a URL of the scheme {scheme} is no request for an Ingress; write http:// or https://")
    return scheme, url[found.end() + 2 :]


def _host_and_port(authority: str, notes: list[str]) -> tuple[str, int | None]:
    if authority.startswith("["):
        literal, bracket, behind = authority[1:].partition("]")
        try:
            IPv6Address(literal)
        except AddressValueError:
            _refuse(f"[{literal[:64]}] is no IPv6 address")
        if "%" in literal:
            _refuse("an IPv6 address with a zone (%) is not sent in Host; leave the zone out")
        if not bracket or (behind and not behind.startswith(":")):
            _refuse("behind the brackets of an IPv6 address there is a port, as in [::1]:8080, or nothing")
        return f"[{literal}]", _port(behind.removeprefix(":"))
    host, _, port = authority.partition(":")
    if ":" in port:
        _refuse("an IPv6 address stands in brackets: http://[::1]/")
    if not host:
        _refuse("the URL names no host; write it like https://shop.example.com/cart")
    if "*" in host:
        notes.append("* stands for itself here; to ask a wildcard, write a name that it takes")
    if not host.isascii():
        sent = _ascii_name(host)
        notes.append(f"the name is sent as {sent}")
        host = sent
    for sign in ' %\\"<>^`{|}':
        if sign in host:
            _refuse(f"the host holds {'a space' if sign == ' ' else sign}, which no host name has")
    return host, _port(port)


def _ascii_name(host: str) -> str:
    try:
        return host.encode("idna").decode("ascii")
    except UnicodeError:
        _refuse("the host is no internationalized name; write it in its xn-- form")


def _port(text: str) -> int | None:
    if not text:
        return None
    if not _PORT.fullmatch(text) or not 0 < int(text) <= 65535:
        _refuse(f"the port {text[:16]!r} is no number from 1 to 65535")
    return int(text)


def _target(text: str, notes: list[str]) -> bytes:
    """Return path and query as a client sends them."""
    if not text.startswith("/"):
        text = f"/{text}"
    try:
        sent = quote(text, safe=_SENT)
    except UnicodeEncodeError:
        _refuse("the URL is no valid Unicode text")
    if sent != text:
        notes.append("spaces and characters beyond ASCII are sent as percent escapes")
    segments = sent.partition("?")[0].split("/")
    if "." in segments or ".." in segments:
        notes.append(
            "dot segments are sent as they are written; curl and browsers resolve them before (curl --path-as-is)"
        )
    return sent.encode("ascii")

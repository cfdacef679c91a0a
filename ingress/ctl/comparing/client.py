"""The client: one request to one address, over one connection, and one answer.

It connects to the address it was given and to nothing else, whatever the request names: nothing is resolved, no redirect is
followed, no proxy of the environment is asked.  The target goes out byte by byte as it stands in the sample.
"""

import hashlib
import re
import socket
import ssl
from collections.abc import Callable
from typing import Final

from ingress.ctl.comparing.addresses import Address, SideAddresses
from ingress.ctl.comparing.answers import Answer, Body, ShownCertificate, SideDownError
from ingress.ctl.comparing.credentials import Credentials, Hidden
from ingress.ctl.comparing.samples import Sample
from ingress.http.body import BodyError, decoder_of
from ingress.http.grammar import MAX_HEAD
from ingress.http.response_head import ResponseError, ResponseHead, parse_response_head
from ingress.proxy.exchange.replies import Replies

MAX_BODY: Final = 256 * 1024
"""Bytes of a body that are read; what follows is left."""
_PIECE: Final = 64 * 1024
_BODILESS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_SELF_MADE: Final = frozenset(("Kubernetes Ingress Controller Fake Certificate", "ingress.local"))
"""The names of what ingress-nginx and this controller show for hosts without a certificate."""
_NGINX_PAGE: Final = re.compile(rb"<hr><center>(?:nginx|openresty)[^<]*</center>|\Adefault backend - 404\Z")
_AGENT: Final = "ingressctl"


class Client:
    """Asks the side *name* at *addresses*; an answer takes at most *seconds*, by *clock*.

    *context* is what TLS goes by.
    """

    def __init__(
        self,
        name: str,
        addresses: SideAddresses,
        context: ssl.SSLContext,
        seconds: float,
        clock: Callable[[], float],
        credentials: Credentials,
        hidden: Hidden,
    ) -> None:
        self.name = name
        self.addresses = addresses
        self._context = context
        self._seconds = seconds
        self._clock = clock
        self._credentials = credentials
        self._hidden = hidden
        self._replies = Replies()

    def ask(self, sample: Sample) -> Answer:
        """Return what comes; raises ``SideDownError`` where nobody accepts the connection."""
        address = self.addresses.of(sample.scheme)
        assert address is not None
        until = self._clock() + self._seconds
        certificate: ShownCertificate | None = None
        connection = self._connect(address)
        try:
            connection.settimeout(self._left(until))
            if sample.scheme == "https":
                connection = self._handshake(connection, sample.name)
                certificate = _shown(connection)
            connection.settimeout(self._left(until))
            connection.sendall(self._octets(sample))
            return self._answer(connection, sample, until, certificate)
        except TimeoutError:
            return Answer(failure=f"no answer in {self._seconds:g} s", is_late=True, certificate=certificate)
        except ssl.SSLCertVerificationError as error:
            return Answer(failure=f"a certificate that is not trusted: {error.verify_message}")
        except ssl.SSLError as error:
            reason = (error.reason or "without a reason").lower().replace("_", " ")
            return Answer(failure=f"no TLS: {reason}", certificate=certificate)
        except (OSError, EOFError):
            return Answer(failure="it ended the connection without an answer", certificate=certificate)
        except (ResponseError, BodyError):
            return Answer(failure="what came is no answer of HTTP/1.1", certificate=certificate)
        finally:
            connection.close()

    def _connect(self, address: Address) -> socket.socket:
        family = socket.AF_INET6 if ":" in address.ip else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(self._seconds)
            connection.connect((address.ip, address.port))
        except OSError as error:
            connection.close()
            why = (
                "it does not answer" if isinstance(error, TimeoutError) else error.strerror or "no connection"
            )
            raise SideDownError(f"{self.name} takes no connection at {address}: {why}") from None
        return connection

    def _handshake(self, connection: socket.socket, name: str) -> ssl.SSLSocket:
        # An address is no server name (RFC 6066 section 3).
        asked = None if re.fullmatch(r"[0-9.]+|\[.*", name) else name
        return self._context.wrap_socket(connection, server_hostname=asked)

    def _left(self, until: float) -> float:
        left = until - self._clock()
        if left <= 0:
            raise TimeoutError
        return left

    def _octets(self, sample: Sample) -> bytes:
        """Return the request; *sample* was checked before (``why_not_sent``)."""
        given = self._credentials.given_to(sample)
        names = {name.lower() for name, _ in given}
        fields = [*given, *(one for one in sample.fields if one[0].lower() not in names)]
        known = names | {name.lower() for name, _ in sample.fields}
        lines = [f"{sample.method} {sample.target} HTTP/1.1", f"Host: {sample.host}"]
        lines += [
            f"{name}: {value}"
            for name, value in (("User-Agent", _AGENT), ("Accept", "*/*"))
            if name.lower() not in known
        ]
        lines += [f"{name}: {value}" for name, value in fields]
        if sample.method not in _BODILESS:
            lines.append("Content-Length: 0")
        return "\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1")

    def _answer(
        self, connection: socket.socket, sample: Sample, until: float, certificate: ShownCertificate | None
    ) -> Answer:
        received = bytearray()
        head = None
        while head is None or head.status < 200:
            # Heads of 1xx come before the answer.
            end = received.find(b"\r\n\r\n")
            if end < 0:
                if len(received) > MAX_HEAD:
                    raise ResponseError("a head without end")
                received += self._more(connection, until)
                continue
            head = parse_response_head(bytes(received[:end]))
            if head.status == 101:
                raise ResponseError("another protocol")
            del received[: end + 4]
        body, beginning = self._body(connection, sample, until, head, bytes(received))
        return Answer(
            head.status,
            self._fields(head),
            body,
            certificate=certificate,
            is_own=self._is_own(head.status, beginning),
        )

    def _more(self, connection: socket.socket, until: float) -> bytes:
        connection.settimeout(self._left(until))
        piece = connection.recv(_PIECE)
        if not piece:
            raise EOFError
        return piece

    def _body(
        self, connection: socket.socket, sample: Sample, until: float, head: ResponseHead, received: bytes
    ) -> tuple[Body, bytes]:
        """Read the body as far as ``MAX_BODY``; return what is known of it, and its first bytes."""
        is_empty = not head.has_body or sample.method == "HEAD"
        decoder = decoder_of(head.chunked, head.content_length, is_empty)
        digest = hashlib.sha256()
        size = 0
        beginning = b""
        is_whole = True
        while not decoder.finished:
            for piece in decoder.feed(received):
                kept = piece[: MAX_BODY - size]
                digest.update(kept)
                size += len(kept)
                beginning = (beginning + kept)[:_PIECE] if len(beginning) < _PIECE else beginning
            if decoder.finished:
                break
            if size >= MAX_BODY:
                is_whole = False
                break
            try:
                received = b"" if decoder.has_more else self._more(connection, until)
            except EOFError:
                is_whole = not head.chunked and head.content_length < 0
                break
        return Body(size, digest.hexdigest(), is_whole), beginning

    def _fields(self, head: ResponseHead) -> tuple[tuple[str, str], ...]:
        lines = head.start.decode("latin-1").split("\r\n")[1:]
        pairs = (line.partition(":") for line in lines if line)
        return tuple((name, self._hidden(value.strip())) for name, _, value in pairs)

    def _is_own(self, status: int, body: bytes) -> bool:
        if _NGINX_PAGE.search(body):
            return True
        return bool(body) and body in (
            self._replies.of(status, False).body,
            self._replies.of(status, True).body,
        )


def _shown(connection: socket.socket) -> ShownCertificate | None:
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    assert isinstance(connection, ssl.SSLSocket)
    der = connection.getpeercert(binary_form=True)
    if der is None:
        return None
    fingerprint = hashlib.sha256(der).hexdigest()
    try:
        found = x509.load_der_x509_certificate(der)
        common = [str(one.value) for one in found.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
        try:
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            hosts = names.get_values_for_type(x509.DNSName)
        except x509.ExtensionNotFound:
            hosts = common
        is_self_made = found.subject == found.issuer and bool(_SELF_MADE.intersection(common))
    except ValueError:
        return ShownCertificate(fingerprint, ("unreadable",))
    return ShownCertificate(fingerprint, tuple(hosts), is_self_made)


def client_context(verifies: bool, ca_file: str | None = None) -> ssl.SSLContext:
    """Return what TLS goes by: whether certificates are verified, by *ca_file* or the system's; raises ``OSError``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["http/1.1"])
    if not verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_file is None:
        context.load_default_certs()
    else:
        context.load_verify_locations(ca_file)
    return context

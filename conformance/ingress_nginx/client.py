"""One request to a controller, byte for byte, and its answer."""

import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from conformance.ingress_nginx.case import FIELDS, Ask

TIMEOUT_SECONDS = 8.0
LONGEST = 4 * 1024 * 1024


@dataclass(frozen=True)
class Got:
    """An answer: ``status`` is 0 where there was none, and ``ended`` says how it came to that, or whether its end was missing."""

    status: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    ended: str = ""
    certificate: str = ""


def ask_of(ask: Ask, cookies: str = "") -> bytes:
    """The bytes of a request."""
    if ask.raw:
        return ask.raw
    lines = [f"{ask.method} {ask.target} HTTP/1.1"]
    if ask.host:
        lines.append(f"Host: {ask.host}")
    named = {name.lower() for name, _ in ask.fields}
    usual = [(name, value) for name, value in FIELDS if name.lower() not in named]
    lines += [f"{name}: {value}" for name, value in (*usual, *ask.fields)]
    if cookies:
        lines.append(f"Cookie: {cookies}")
    if ask.body and not named & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(ask.body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + ask.body


def send(ask: Ask, address: str, source: str, cookies: str = "", certificates: Path = Path()) -> Got:
    """Ask once, on a connection of its own.  Whatever becomes of it is an answer."""
    try:
        with socket.create_connection(
            (address, 443 if ask.secure else 80), TIMEOUT_SECONDS, (source, 0)
        ) as plain:
            plain.sendall(ask.preface)
            if not ask.secure:
                return exchange(plain, ask, cookies)
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            if ask.highest:
                context.maximum_version = ssl.TLSVersion[ask.highest]
            if ask.certificate:
                context.load_cert_chain(
                    certificates / f"{ask.certificate}.crt", certificates / f"{ask.certificate}.key"
                )
            with context.wrap_socket(plain, server_hostname=ask.server_name or None) as tls:
                shown = tls.getpeercert(binary_form=True) or b""
                got = exchange(tls, ask, cookies)
                return Got(got.status, got.fields, got.body, got.ended, names_of(shown))
    except ssl.SSLError as error:
        return Got(ended=f"TLS: {error.reason}")
    except TimeoutError:
        return Got(ended="nothing came in time")
    except OSError as error:
        return Got(ended=type(error).__name__)


def names_of(der: bytes) -> str:
    """The DNS names of a certificate."""
    from cryptography import x509

    try:
        found = x509.load_der_x509_certificate(der).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
        return ",".join(found.value.get_values_for_type(x509.DNSName))
    except (ValueError, x509.ExtensionNotFound):
        return ""


def exchange(connection: socket.socket, ask: Ask, cookies: str) -> Got:
    connection.sendall(ask_of(ask, cookies))
    reader = connection.makefile("rb")
    method = ask.raw.split(b" ")[0].decode("latin-1") if ask.raw else ask.method
    while True:
        first = reader.readline(LONGEST)
        if not first:
            return Got(ended="closed without an answer")
        words = first.decode("latin-1").split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
            return Got(body=first + reader.read(LONGEST), ended="no head")
        status = int(words[1])
        fields = []
        while (line := reader.readline(LONGEST)) not in (b"\r\n", b"\n", b""):
            name, _, value = line.decode("latin-1").rstrip("\r\n").partition(":")
            fields.append((name, value.strip(" \t")))
        if status >= 200 or status == 101:
            break
    body, ended = body_of(reader, status, method, {name.lower(): value for name, value in fields})
    return Got(status, tuple(fields), body, ended)


def body_of(reader, status: int, method: str, fields: dict[str, str]) -> tuple[bytes, str]:  # type: ignore[no-untyped-def]
    """The body without its framing, and what was wrong with that."""
    if method == "HEAD" or status in (101, 204, 304):
        return b"", ""
    try:
        if "chunked" in fields.get("transfer-encoding", "").lower():
            body = b""
            while True:
                line = reader.readline(LONGEST)
                if not line.strip():
                    return body, "cut"
                size = int(line.split(b";")[0], 16)
                if not size:
                    while reader.readline(LONGEST) not in (b"\r\n", b"\n", b""):
                        pass
                    return body, ""
                body += reader.read(size)
                reader.readline(LONGEST)
        if "content-length" in fields:
            length = int(fields["content-length"])
            body = reader.read(min(length, LONGEST))
            return body, "" if len(body) == length else "cut"
        return reader.read(LONGEST), ""
    except TimeoutError:
        return b"", "no end in time"
    except OSError as error:
        return b"", type(error).__name__

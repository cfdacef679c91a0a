"""One request to a controller, byte for byte, and its answer."""

import select
import socket
import ssl
from dataclasses import replace
from pathlib import Path

from conformance.ingress_nginx.case import Ask, fields_of
from conformance.ingress_nginx.client_http2 import exchange_http2
from conformance.ingress_nginx.got import LONGEST, PATIENCE_SECONDS, TIMEOUT_SECONDS, Got


def ask_of(ask: Ask, cookies: str = "") -> bytes:
    """The bytes of a request."""
    if ask.raw:
        return ask.raw
    lines = [f"{ask.method} {ask.target} HTTP/1.1"]
    if ask.host:
        lines.append(f"Host: {ask.host}")
    lines += [f"{name}: {value}" for name, value in fields_of(ask, cookies)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + ask.body


def send(ask: Ask, address: str, source: str, cookies: str = "", certificates: Path = Path()) -> Got:
    """Ask once, on a connection of its own, from the address *source* or whichever leads there.  Whatever becomes of it is an answer."""
    try:
        with socket.create_connection(
            (address, 443 if ask.secure or ask.http2 else 80),
            TIMEOUT_SECONDS,
            (source, 0) if source else None,
        ) as plain:
            plain.sendall(ask.preface)
            if not (ask.secure or ask.http2):
                return exchange(plain, ask, cookies)
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            if ask.http2:
                context.set_alpn_protocols(["h2", "http/1.1"])
            if ask.highest:
                context.maximum_version = ssl.TLSVersion[ask.highest]
            if ask.certificate:
                context.load_cert_chain(
                    certificates / f"{ask.certificate}.crt", certificates / f"{ask.certificate}.key"
                )
            with context.wrap_socket(plain, server_hostname=ask.server_name or None) as tls:
                shown = tls.getpeercert(binary_form=True) or b""
                is_http2 = tls.selected_alpn_protocol() == "h2"
                got = exchange_http2(tls, ask, cookies) if is_http2 else exchange(tls, ask, cookies)
                return replace(got, certificate=names_of(shown), protocol="HTTP/2" if is_http2 else "")
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
    whole = ask_of(ask, cookies)
    interim: list[int] = []
    head, end, _ = whole.partition(b"\r\n\r\n") if ask.waits else (whole, b"", b"")
    connection.sendall(head + end)
    rest = whole[len(head) + len(end) :]
    if rest and not readable(connection, PATIENCE_SECONDS):
        connection.sendall(rest)
        rest = b""
    reader = connection.makefile("rb")
    method = ask.raw.split(b" ")[0].decode("latin-1") if ask.raw else ask.method
    while True:
        first = reader.readline(LONGEST)
        if not first:
            return Got(ended="closed without an answer", interim=tuple(interim))
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
        interim.append(status)
        connection.sendall(rest)
        rest = b""
    if status == 101 and ask.says:
        connection.sendall(ask.says)
        body, ended = reader.read(len(ask.says)), ""
    else:
        body, ended = body_of(reader, status, method, {name.lower(): value for name, value in fields})
    return Got(status, tuple(fields), body, ended, interim=tuple(interim))


def readable(connection: socket.socket, seconds: float) -> bool:
    """Whether anything comes within *seconds*."""
    if isinstance(connection, ssl.SSLSocket) and connection.pending():
        return True
    return bool(select.select([connection], [], [], seconds)[0])


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

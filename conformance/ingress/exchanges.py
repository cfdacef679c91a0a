"""One request as a client makes it, and what is wrong with its answer."""

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from conformance.ingress.scenarios import Exchange, Request

USER_AGENT = "ingress-conformance/1"
TIMEOUT_SECONDS = 10.0
REDIRECTS = frozenset({301, 302, 307, 308})
# What a client may expect of every answer of known length.
FIELDS = ("content-length", "content-type", "date", "server")


@dataclass(frozen=True)
class Answer:
    """``echo`` is what the backend says it was asked, if it is a backend that answers."""

    status: int
    version: int
    fields: Mapping[str, str]
    echo: Mapping[str, Any]


class SecureConnection(http.client.HTTPSConnection):
    """HTTPS to an address, by the name of the certificate."""

    def __init__(self, address: str, name: str, context: ssl.SSLContext) -> None:
        super().__init__(address, 443, timeout=TIMEOUT_SECONDS, context=context)
        self._name, self._trust = name, context

    def connect(self) -> None:
        self.sock = self._trust.wrap_socket(
            socket.create_connection((self.host, 443), TIMEOUT_SECONDS), server_hostname=self._name
        )


def ask(address: str, request: Request, trusted: bytes) -> Answer:
    """Ask, and follow one redirect to the same host; ``trusted`` is the PEM that certificates are checked by."""
    answer = ask_once(address, request, trusted)
    if answer.status in REDIRECTS:
        there = urlsplit(answer.fields["location"])
        secure = there.scheme == "https"
        answer = ask_once(
            address, Request(there.hostname or "", there.path or "/", request.method, secure), trusted
        )
    return answer


def ask_once(address: str, request: Request, trusted: bytes) -> Answer:
    host = request.host or address
    if request.secure:
        context = ssl.create_default_context(cadata=trusted.decode())
        connection: http.client.HTTPConnection = SecureConnection(address, host, context)
    else:
        connection = http.client.HTTPConnection(address, 80, timeout=TIMEOUT_SECONDS)
    try:
        connection.request(request.method, request.path, headers={"Host": host, "User-Agent": USER_AGENT})
        response = connection.getresponse()
        text = response.read()
    finally:
        connection.close()
    echo = json.loads(text) if text.startswith(b"{") else {}
    return Answer(
        response.status,
        response.version,
        {name.lower(): value for name, value in response.getheaders()},
        echo,
    )


def faults(exchange: Exchange, answer: Answer, address: str, sized: bool) -> list[str]:
    """What is wrong, in words; empty for the answer that has to come."""
    request = exchange.request
    if not exchange.service:
        return [] if answer.status == 404 else [f"status {answer.status} and not 404"]
    if answer.status != 200:
        return [f"status {answer.status} and not 200"]
    expected = {
        "service": exchange.service,
        "method": request.method,
        "path": request.path,
        "host": request.host or address,
        "proto": "HTTP/1.1",
    }
    found = [
        f"{name} {answer.echo.get(name)!r} and not {value!r}"
        for name, value in expected.items()
        if answer.echo.get(name) != value
    ]
    if answer.version != 11:
        found.append(f"HTTP version {answer.version} and not 11")
    if answer.echo.get("headers", {}).get("User-Agent") != [USER_AGENT]:
        found.append("another User-Agent at the backend")
    if sized:
        found += [f"no {name}" for name in FIELDS if name not in answer.fields]
    return found

"""
A blocking client for tests, on the transport of the ``kubernetes`` client.

It goes through credentials, TLS and connections as our own code does, and adds
nothing: every answer comes back as it is, whatever its status.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from attrs import frozen
from kubernetes import client, config

from tests.fakes.apiserver.kinds import Json

#: Seconds to wait for a connection, and for the next bytes of an answer.
TIMEOUT = (5, 15)


@frozen
class Answer:
    """A whole answer: HTTP status and JSON body."""

    status: int
    body: Json


class Events:
    """The events of a running watch, read one after another."""

    def __init__(self, response: Any) -> None:
        self.status: int = response.status
        self._response = response
        self._lines = self._split()

    def _split(self) -> Iterator[Json]:
        rest = b""
        for chunk in self._response.stream(65536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    yield json.loads(line)
        if rest.strip():
            yield json.loads(rest)

    def next(self) -> Json:
        """Return the next event that is no bookmark."""
        while True:
            event = self.next_of_any_type()
            if event.get("type") != "BOOKMARK":
                return event

    def next_of_any_type(self) -> Json:
        """Return the next event."""
        return next(self._lines)

    def rest(self) -> list[Json]:
        """Return everything until the server ends the watch."""
        return list(self._lines)

    def close(self) -> None:
        """Give the connection up."""
        self._response.close()


class Client:
    """Sends requests through the ``kubernetes`` client's transport and never raises for a status."""

    def __init__(self, api: Any) -> None:
        self.api = api

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str | int] | None = None,
    ) -> Answer:
        """Send a request and read its answer."""
        response = self._open(method, path, body, headers, query or {})
        return Answer(response.status, json.loads(response.data))

    def watch(self, path: str, **query: str | int) -> Events:
        """Open a watch of at most ten seconds."""
        query = {"timeoutSeconds": 10, **query, "watch": "true"}
        return Events(self._open("GET", path, None, None, query))

    def _open(
        self,
        method: str,
        path: str,
        body: Any,
        headers: Mapping[str, str] | None,
        query: Mapping[str, str | int],
    ) -> Any:
        if query:
            path = f"{path}?{urlencode(query)}"
        method, url, sent, body, _ = self.api.param_serialize(
            method,
            path,
            header_params={
                "Accept": "application/json",
                "Content-Type": "application/json",
                **(headers or {}),
            },
            body=body,
            auth_settings=["BearerToken"],
        )
        return self.api.call_api(method, url, sent, body, _request_timeout=TIMEOUT).response

    def with_token(self, token: str) -> Client:
        """Return a client that shows another token and no certificate."""
        ours, theirs = client.Configuration(), self.api.configuration
        ours.host, ours.ssl_ca_cert, ours.verify_ssl = theirs.host, theirs.ssl_ca_cert, theirs.verify_ssl
        ours.api_key = {"BearerToken": f"Bearer {token}"}
        ours.retries = False
        return Client(client.ApiClient(ours))


def connect(kubeconfig: str) -> Client:
    """Return a client for the current context of a kubeconfig."""
    configuration = client.Configuration()
    config.load_kube_config(kubeconfig, client_configuration=configuration)
    configuration.retries = False
    return Client(client.ApiClient(configuration))

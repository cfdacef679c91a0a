"""The API server as its users see it: objects as the JSON they are."""

import http.client
import json
import ssl
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

# An object of Kubernetes as JSON.
Object = dict[str, Any]

MANAGER = "conformance"


class RefusedError(Exception):
    """The API server answers a request with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class Cluster:
    """One connection, for one thread."""

    def __init__(self, address: str, port: int, certificate: Path, token: str) -> None:
        self._how = address, port, certificate, token
        context = ssl.create_default_context(cafile=str(certificate))
        self._connection = http.client.HTTPSConnection(address, port, timeout=30, context=context)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        self._resources: dict[tuple[str, str], tuple[str, bool]] = {}

    def request(self, method: str, path: str, body: object = None, kind: str = "application/json") -> Any:
        """The JSON of an answer; raises RefusedError, and OSError where there is no answer."""
        content = None if body is None else json.dumps(body)
        headers = self._headers | ({"Content-Type": kind} if content else {})
        try:
            self._connection.request(method, path, content, headers)
            answer = self._connection.getresponse()
            text = answer.read()
        except (http.client.HTTPException, OSError) as error:
            # The next request connects anew.
            self._connection.close()
            raise OSError(f"{method} {path}: {error}") from error
        if answer.status >= 400:
            raise RefusedError(answer.status, f"{method} {path}: {text.decode(errors='replace')[:2000]}")
        return json.loads(text) if text[:1] == b"{" else text.decode()

    def another(self) -> "Cluster":
        """The same for another thread."""
        return Cluster(*self._how)

    def lines(self, path: str) -> Iterator[bytes]:
        """What a watch says, event by event, until the API server ends it; raises OSError and RefusedError."""
        try:
            self._connection.request("GET", path, headers=self._headers)
            answer = self._connection.getresponse()
            if answer.status >= 400:
                raise RefusedError(answer.status, path)
            yield from answer
        except (http.client.HTTPException, OSError) as error:
            raise OSError(f"GET {path}: {error}") from error
        finally:
            self._connection.close()

    def items(self, path: str) -> list[Object]:
        """All objects of a list."""
        items: list[Object] = self.request("GET", path)["items"]
        return items

    def merge(self, path: str, change: Mapping[str, object]) -> Object:
        answer: Object = self.request("PATCH", path, change, "application/merge-patch+json")
        return answer

    def delete(self, path: str, options: Mapping[str, object] | None = None) -> None:
        """What is gone already is no error."""
        try:
            self.request("DELETE", path, options)
        except RefusedError as refused:
            if refused.status != 404:
                raise

    def apply(self, thing: Object) -> Object:
        """Make an object or change it to this (server-side apply)."""
        answer: Object = self.request(
            "PATCH",
            f"{self.path_of(thing)}?fieldManager={MANAGER}&force=true",
            thing,
            "application/apply-patch+yaml",
        )
        return answer

    def path_of(self, thing: Object) -> str:
        """Where an object is, by what the API server says of its kind."""
        version, kind = thing["apiVersion"], thing["kind"]
        plural, namespaced = self._resource(version, kind)
        metadata = thing["metadata"]
        middle = f"/namespaces/{quote(metadata.get('namespace', 'default'))}" if namespaced else ""
        return f"{group_path(version)}{middle}/{plural}/{quote(metadata['name'])}"

    def _resource(self, version: str, kind: str) -> tuple[str, bool]:
        if (version, kind) not in self._resources:
            for resource in self.request("GET", group_path(version))["resources"]:
                if "/" not in resource["name"]:
                    self._resources[version, resource["kind"]] = resource["name"], resource["namespaced"]
        return self._resources[version, kind]


def group_path(version: str) -> str:
    return f"/apis/{version}" if "/" in version else f"/api/{version}"


def read_manifests(files: Iterable[Path]) -> list[Object]:
    """The objects of YAML files, in their order."""
    return [thing for file in files for thing in yaml.safe_load_all(file.read_text()) if thing]

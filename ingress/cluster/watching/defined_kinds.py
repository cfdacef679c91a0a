"""Kinds that an API server has only where somebody installed their definitions: they are asked for while these are there.

Definitions are objects, too, and watched like any others; of all of them nothing but metadata is asked for.  Whoever may not
read them asks by *discovery* which of the kinds are served, again and again.

Sources: ``CustomResourceDefinition`` of ``apiextensions.k8s.io/v1``, ``PartialObjectMetadata`` of ``meta.k8s.io/v1``, and
``APIResourceList`` of the discovery API.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

from ingress.cluster.api.api_client import ApiResponse
from ingress.cluster.json_text import decoded
from ingress.cluster.source import Sink
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Batch, ObjectId, ObjectKey, Projection
from ingress.translate.readers.gateway.objects.definitions import Definition
from ingress.translate.readers.gateway.objects.names import DEFINITION, GROUP
from ingress.translate.readers.reader import KindRead

_LOOKS_TO_BELIEVE = 3
"""So many looks in a row have to miss a kind: one may have been answered by something in between, or by a server that just starts."""


class DefinedKinds:
    """Stands before *sink*, and tells of definitions that come and go.  Reactor thread.

    *came* is called with each of *reads* whose definition is there, again with every change of that; *went* when it is gone.
    """

    def __init__(
        self,
        sink: Sink,
        reads: Iterable[KindRead],
        came: Callable[[KindRead], None],
        went: Callable[[KindRead], None],
    ) -> None:
        self._sink = sink
        self._came = came
        self._went = went
        self._defined_by: dict[str, list[KindRead]] = {}
        for read in reads:
            self._defined_by.setdefault(read.definition, []).append(read)
        self._there: set[str] = set()

    def changed(self, batch: Batch) -> None:
        """Take changes, and look for definitions among them."""
        self._sink.changed(batch)
        for (kind, key), projection in batch.items():
            if kind is not DEFINITION or key.name not in self._defined_by:
                continue
            if projection is not None and projection.value is not None:
                self._there.add(key.name)
                for read in self._defined_by[key.name]:
                    self._came(read)
            elif key.name in self._there:
                self._there.remove(key.name)
                for read in self._defined_by[key.name]:
                    self._went(read)

    def synced(self) -> None:
        """Hand on that everything is there."""
        self._sink.synced()


class Getting(Protocol):
    """What asks the API server: ``ingress.cluster.api.api_client.ApiConnection``."""

    def get(self, path: str, query: list[tuple[str, str]]) -> ApiResponse:
        """Ask for *path*."""


class Discovery:
    """Asks which kinds of one version of the Gateway API are served, in the place of whoever may not read definitions.

    *put* takes changes.  Belongs to one thread.
    """

    def __init__(self, connection: Getting, version: str, put: Callable[[Batch], None]) -> None:
        self._connection = connection
        self._path = f"/apis/{GROUP}/{version}"
        self._put = put
        self._known: frozenset[str] = frozenset()
        self._missed: dict[str, int] = {}
        """In how many looks in a row a kind that is known was not found."""

    def look(self) -> bool:
        """Hand over what is different; return whether an answer came."""
        try:
            found = self._plurals()
        except KubernetesError as error:
            if error.status != 404:
                return False
            found = frozenset()
        self._missed = {plural: self._missed.get(plural, 0) + 1 for plural in self._known - found}
        found |= {plural for plural, times in self._missed.items() if times < _LOOKS_TO_BELIEVE}
        changes: dict[ObjectId, Projection | None] = {}
        for plural in found ^ self._known:
            key = ObjectKey("", f"{plural}.{GROUP}")
            changes[DEFINITION, key] = Projection(Definition(key, None)) if plural in found else None
        self._known = found
        self._put(changes)
        return True

    def _plurals(self) -> frozenset[str]:
        response = self._connection.get(self._path, [])
        try:
            body = response.read_all()
        finally:
            response.close()
        try:
            document = decoded(body)
        except ValueError:
            raise KubernetesError(0, "Broken", "what came is not JSON") from None
        entries = document.get("resources") if isinstance(document, dict) else None
        if not isinstance(entries, list):
            raise KubernetesError(0, "Broken", "what came is no list of resources")
        names = (entry.get("name") for entry in entries if isinstance(entry, dict))
        return frozenset(name for name in names if isinstance(name, str) and "/" not in name)

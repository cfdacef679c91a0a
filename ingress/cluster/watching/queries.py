"""The queries of list and watch.  Pure.

Source: the query parameters of list and watch in the Kubernetes API reference, and KEP-3157
for the streaming list.
"""

from collections.abc import Callable

from ingress.model.reporting.writes import JSON
from ingress.translate.readers.reader import KindRead

# Few enough that a page which cannot be decoded object by object (``page_parts``) does not hold up the other threads for long, as 500 and more do.
PAGE_OBJECTS = 250
# The API server ends a watch after this time; spread, so that replicas do not come back together,
# and below ten minutes, so that a connection does not outlive its token for long.
SHORTEST_WATCH_SECONDS = 290
LONGEST_WATCH_SECONDS = 590

Query = list[tuple[str, str]]

_METADATA_LIST = f"application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,{JSON}"
_METADATA = f"application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{JSON}"


class ListWatchRequests:
    """Queries for one kind in one *namespace*; *random* returns a number in [0, 1)."""

    def __init__(self, read: KindRead, namespace: str, random: Callable[[], float]) -> None:
        self.path = read.path(namespace)
        self._selector: Query = [("fieldSelector", read.field_selector)] if read.field_selector else []
        self._random = random
        self.accept_list = _METADATA_LIST if read.metadata_only else JSON
        """The media type that pages of lists are asked for in."""
        self.accept_present = _METADATA_LIST
        """That of the list for the present version: of its object nothing is read."""
        self.accept_watch = _METADATA if read.metadata_only else JSON
        """That of watches."""

    def page(self, next_page: str, *, in_pages: bool) -> Query:
        """A page of a list, the first or the one that the token *next_page* stands for.

        Without a resource version the answer is the newest there is.
        """
        query = [*self._selector]
        if in_pages:
            query.append(("limit", str(PAGE_OBJECTS)))
        if next_page:
            query.append(("continue", next_page))
        return query

    def present(self) -> Query:
        """One object at most, for the resource version that the API server has come to.

        Of a name alone the right may be, and it is found at once; for any other field the API server may have to look through all objects.
        """
        named = [one for one in self._selector if one[1].startswith("metadata.name=")]
        return [*named, ("limit", "1")]

    def streaming_list(self) -> Query:
        """A watch that begins with all objects."""
        return [
            *self._watch(),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
        ]

    def watch(self, version: str) -> Query:
        """A watch of what happened after *version*."""
        return [*self._watch(), ("resourceVersion", version)]

    def _watch(self) -> Query:
        spread = LONGEST_WATCH_SECONDS - SHORTEST_WATCH_SECONDS + 1
        seconds = SHORTEST_WATCH_SECONDS + int(self._random() * spread)
        return [
            *self._selector,
            ("watch", "true"),
            ("allowWatchBookmarks", "true"),
            ("timeoutSeconds", str(seconds)),
        ]

"""What pieces say: operations one after the other, each a tuple of one of these words and what belongs to it.

    BEGIN format whole          of nothing if *whole*, else of the snapshot that the follower has
      TABLE name labels …       what follows is of this table, which is there from now on; *labels* are the ``covers_labels`` of
                                its routes, certificates and handshake settings
        ROUTES routes           some of the routes of the next host, which has too many for one piece
        HOST host start stop routes filters kept
        NO_HOST host
        ORDER                   what of the routes of large hosts is to be put in order, a step of it
        EXACT host certificates, WILDCARD suffix certificates: None for an entry that went
        DEFAULT certificate
        HANDSHAKE host settings: likewise
        STREAM host route: likewise
        COUNTED counts          how many entries it has now
      NO_TABLE name
      ENDPOINTS endpoints       some of those of the next backend, which has too many for one piece
      BACKEND reference start stop endpoints near reason problems broken
      NO_BACKEND reference
      SERVING settings, LISTENERS listeners, REPLICAS count, REPLICA_ADDRESSES addresses
    MORE                        ends a piece that another one follows
    END backends tables         ends the last one; how many of these there are now

*start* and *stop* say which of the routes or endpoints that were there are replaced; all others stay, in their places.  The first *near* of
the endpoints are those near by, the others elsewhere.  The counts are
there so that a follower which went astray finds that out, and by more than what it answers.
"""

from collections.abc import Mapping
from enum import IntEnum, auto
from typing import Any, Final, TypeVar

from ingress.model.shared_map import SharedMap
from ingress.translate.snapshot import ListenerTable

K = TypeVar("K")
V = TypeVar("V")

FORMAT: Final = "txingress feed 4"
"""What the first piece begins with; another number for another arrangement."""

Operation = tuple[Any, ...]
"""A ``Word``, as a number, and what belongs to it."""


class Word(IntEnum):
    """What an operation does."""

    BEGIN = auto()
    TABLE = auto()
    ROUTES = auto()
    HOST = auto()
    NO_HOST = auto()
    ORDER = auto()
    EXACT = auto()
    WILDCARD = auto()
    DEFAULT = auto()
    HANDSHAKE = auto()
    STREAM = auto()
    COUNTED = auto()
    NO_TABLE = auto()
    ENDPOINTS = auto()
    BACKEND = auto()
    NO_BACKEND = auto()
    SERVING = auto()
    LISTENERS = auto()
    REPLICAS = auto()
    REPLICA_ADDRESSES = auto()
    MORE = auto()
    END = auto()


def counts(table: ListenerTable) -> tuple[int, ...]:
    """Return how many routes, hosts, certificates of hosts and of wildcards, handshake settings and streams *table* has."""
    certificates = table.certificates
    return (
        table.routes.count,
        table.routes.hosts,
        len(certificates.exact),
        len(certificates.wildcard),
        len(table.handshake_settings.by_host),
        len(table.streams),
    )


def shared(some: Mapping[K, V]) -> SharedMap[K, V]:
    """Return *some* as what is compared and patched: of nothing, and where all was translated at once, it is a mapping of another sort."""
    return some if isinstance(some, SharedMap) else SharedMap(some)

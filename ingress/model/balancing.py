"""How the requests of a route are shared among the endpoints of its backend.

The values only; the algorithms are in ``ingress.routing``.
"""

from enum import Enum, StrEnum
from typing import Final, NamedTuple

from attrs import frozen


class Algorithm(StrEnum):
    """What decides which endpoint is next; the names are those of options and annotations."""

    ROUND_ROBIN = "round_robin"
    LEAST_REQUESTS = "least_requests"
    EWMA = "ewma"


class Variable(Enum):
    """What of a request may be part of a hash key; the values are the names that nginx gives them."""

    TEXT = ""
    """No variable: the text itself."""
    REQUEST_URI = "request_uri"
    """The target as received, with its query."""
    URI = "uri"
    """The path in its normal form."""
    ARGS = "args"
    """The query, without its question mark."""
    HOST = "host"
    REMOTE_ADDR = "remote_addr"
    """The address of the client, not that of a trusted proxy in front of us."""
    SCHEME = "scheme"
    REQUEST_METHOD = "request_method"
    HTTP = "http_"
    """The field whose name follows, in lower case and with ``_`` for ``-``."""
    ARG = "arg_"
    """The parameter of the query whose name follows."""
    COOKIE = "cookie_"
    """The cookie whose name follows."""


class KeyPart(NamedTuple):
    """One part of a hash key; *name* is the text, or the name of the field, parameter or cookie."""

    variable: Variable
    name: bytes = b""


@frozen(cache_hash=True)
class Balancing:
    """What one route asks for.  With *hash_by*, requests of one key go to one endpoint, whatever the algorithm."""

    algorithm: Algorithm = Algorithm.ROUND_ROBIN
    hash_by: tuple[KeyPart, ...] = ()
    subset_size: int = 1
    """How many endpoints share the requests of one key."""


DEFAULT_BALANCING: Final = Balancing()

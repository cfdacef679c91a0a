"""The page that explains requests: ``/api/v1/explain?url=URL``, with ``method``, ``header`` (repeatable) and ``client``.

Pure functions from the query to text.  The explanation is found in steps, and comes in pieces, empty ones while it is being found:
``pages`` makes it in slices.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ingress.explain.asked import USUAL_CLIENT, Asked, read_asked
from ingress.explain.explaining import explaining
from ingress.explain.plain import plain
from ingress.explain.served import Served
from ingress.explain.urls import UrlRefused
from ingress.plain.steps import json_text

_PARAMETERS: Final = ("url", "method", "header", "client")


def read_query(query: Mapping[bytes, Sequence[bytes]]) -> Asked:
    """Return the request that *query* asks about; raises ``UrlRefused``, whose message says what is wrong."""
    given: dict[str, list[str]] = {}
    for name, values in query.items():
        text = name.decode("utf-8", "replace")
        if text not in _PARAMETERS:
            raise UrlRefused(f"there is no parameter {text[:32]!r}; there are {', '.join(_PARAMETERS)}")
        try:
            given[text] = [value.decode("utf-8") for value in values]
        except UnicodeDecodeError:
            raise UrlRefused(f"the parameter {text} is no UTF-8") from None
    return read_asked(
        _only("url", given, ""),
        _only("method", given, "GET"),
        given.get("header", ()),
        _only("client", given, USUAL_CLIENT),
    )


def _only(name: str, given: Mapping[str, Sequence[str]], usual: str) -> str:
    values = given.get(name, (usual,))
    if len(values) != 1:
        raise UrlRefused(f"the parameter {name} comes {len(values)} times; it may come once")
    return values[0]


def explanation_as_json(asked: Asked, served: Served) -> Iterator[str]:
    """Yield the explanation of *asked* as JSON, with the names of ``ingress.explain.explanation`` in ``camelCase``."""
    steps = explaining(asked, served)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            yield from json_text(plain(end.value))
            yield "\n"
            return
        yield ""

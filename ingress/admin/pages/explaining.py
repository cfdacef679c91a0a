"""The page that explains requests: ``/api/v1/explain?url=URL``, with ``method``, ``header`` (repeatable) and ``client``.

Pure functions from the query to text.  The explanation is found in steps, and comes in pieces, empty ones while it is being found:
``pages`` makes it in slices.
"""

from collections.abc import Iterator
from typing import Final

from ingress.admin.contract.answers import LargeAnswer
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import V1, PageRow
from ingress.admin.contract.parameters import Parameter, QueryRefusedError
from ingress.admin.contract.schemas import schema_of_class
from ingress.explain import asked_request as requests
from ingress.explain.explaining import explaining
from ingress.explain.explanation import Explanation
from ingress.explain.plain_data import plain
from ingress.explain.served import Served
from ingress.explain.urls import UrlRefused
from ingress.plain_data.steps import json_text

_PARAMETERS: Final = (
    Parameter(
        "url",
        "The request; `https://` counts, and a host alone is the root of it. `tcp://`, `udp://` and `tls://` ask about a stream.",
        missing="say which request: ?url=https://shop.example.com/cart",
    ),
    Parameter("method", "`GET` where nothing is said.", most=64),
    Parameter("header", "A field of the request, `Name: value`.", may_repeat=True),
    Parameter(
        "client", f"The address that the connection comes from; `{requests.USUAL_CLIENT}` otherwise.", most=64
    ),
)


def _explain(asked: PageRequest) -> LargeAnswer:
    given = asked.given
    try:
        request = requests.read_asked_of_any(
            given.text("url") or "",
            given.text("method") or "GET",
            given.texts("header"),
            given.text("client") or requests.USUAL_CLIENT,
        )
    except UrlRefused as refused:
        raise QueryRefusedError(str(refused)) from None
    return LargeAnswer(explanation_as_json(request, asked.sources.explained_by()))


def explanation_as_json(asked: requests.Asked | requests.AskedStream, served: Served) -> Iterator[str]:
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


ROW: Final = PageRow(
    f"{V1}explain",
    "what becomes of a request, and why: ?url=URL, and method, header, client",
    _explain,
    _PARAMETERS,
    schema_of_class(Explanation),
)

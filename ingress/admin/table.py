"""The table of pages: the one place that says which there are.

From it follow the list at the root, what queries may say, the description by OpenAPI and ``docs/api.md``.
"""

from itertools import chain
from typing import Final

from attrs import evolve
from twisted.internet.defer import Deferred
from twisted.web import http

from ingress.admin.contract.answers import Answer, LargeAnswer, StreamAnswer
from ingress.admin.contract.page_request import PageRequest
from ingress.admin.contract.page_row import V1, Made, PageRow
from ingress.admin.contract.schemas import anything
from ingress.admin.lists import (
    certificates,
    changes,
    endpoints,
    failures,
    problems,
    routes,
    streams,
    watches,
    workers,
)
from ingress.admin.pages import explaining, openapi, status_pages
from ingress.admin.pages.front_page import VARY, front_page, wants_page
from ingress.admin.pages.live_stream import MEDIA_TYPE
from ingress.admin.pages.readiness import workers_missing
from ingress.metrics.text import PROMETHEUS, format_for, takes_gzip
from ingress.plain_data.steps import json_text


def _healthy(asked: PageRequest) -> Answer:
    return Answer(b"ok\n")


def _ready(asked: PageRequest) -> Answer:
    missing = asked.sources.readiness()
    lines = missing or ("ok", *workers_missing(asked.sources.workers.states()))
    content = "".join(f"{line}\n" for line in lines).encode()
    return Answer(content, status=http.SERVICE_UNAVAILABLE if missing else http.OK)


def _metrics(asked: PageRequest) -> "Deferred[Made]":
    sources = asked.sources
    form = format_for(",".join(asked.headers.getRawHeaders("accept", [])))
    is_gzip = takes_gzip(",".join(asked.headers.getRawHeaders("accept-encoding", [])))
    return sources.workers.told().addCallback(
        lambda _: LargeAnswer(sources.metrics.pieces(form), form.content_type, is_gzip)
    )


def _index(asked: PageRequest) -> Answer:
    width = max(len(path) for path, _ in asked.pages)
    return Answer("".join(f"{path:<{width}} {meaning}\n" for path, meaning in asked.pages).encode())


def _front(asked: PageRequest) -> Answer:
    """Return the page for browsers, and the list for everybody else: ``curl`` does not ask for HTML."""
    if asked.sources.live is None or _LIVE not in (path for path, _ in asked.pages):
        return _index(asked)
    accept = ",".join(asked.headers.getRawHeaders("accept", []))
    if not wants_page(accept):
        return evolve(_index(asked), fields=VARY)
    return front_page()


def _live(asked: PageRequest) -> StreamAnswer:
    assert asked.sources.live is not None
    return StreamAnswer(asked.sources.live)


def _openapi(asked: PageRequest) -> LargeAnswer:
    return LargeAnswer(chain(json_text(openapi.document(PAGES)), ("\n",)))


_LIVE: Final = f"{V1}live"

_PROBES: Final = (
    PageRow("/", "this list; browsers get a page, where everything is shown", _front, is_probe=True),
    PageRow("/healthz", "liveness: ok as long as the process works", _healthy, is_probe=True, is_open=True),
    PageRow("/readyz", "readiness: ok, or what is missing", _ready, is_probe=True, is_open=True),
    PageRow(
        "/metrics", "counters for Prometheus", _metrics, content_type=PROMETHEUS.content_type, is_probe=True
    ),
)

PAGES: Final = (
    *_PROBES,
    status_pages.STATUS_ROW,
    PageRow(
        _LIVE,
        "what happens at the moment, as server-sent events",
        _live,
        content_type=MEDIA_TYPE,
        is_there=lambda sources: sources.live is not None,
    ),
    *routes.ROWS,
    endpoints.ROW,
    *streams.ROWS,
    *problems.ROWS,
    *certificates.ROWS,
    *watches.ROWS,
    *workers.ROWS,
    changes.ROW,
    failures.ROW,
    *status_pages.LEADER_ROWS,
    explaining.ROW,
    PageRow(
        f"{V1}openapi.json",
        "what all of these answer, by OpenAPI 3.1",
        _openapi,
        (),
        anything("A document of OpenAPI 3.1."),
    ),
)
"""All of them; the list at the root has them in this order."""

"""The table of pages: the one place that says which there are.

From it follow the list at the root, what queries may say, the description by OpenAPI and ``docs/api.md``.
"""

from itertools import chain
from typing import Final

from twisted.internet.defer import Deferred
from twisted.web import http

from ingress.admin import explaining, openapi, standing
from ingress.admin.answers import Answer, LargeAnswer
from ingress.admin.asked import Asked
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
from ingress.admin.page_row import V1, PageRow
from ingress.admin.readiness import workers_missing
from ingress.admin.schemas import anything
from ingress.metrics.text import PROMETHEUS, format_for
from ingress.plain.steps import json_text


def _healthy(asked: Asked) -> Answer:
    return Answer(b"ok\n")


def _ready(asked: Asked) -> Answer:
    missing = asked.known.readiness()
    lines = missing or ("ok", *workers_missing(asked.known.workers.states()))
    content = "".join(f"{line}\n" for line in lines).encode()
    return Answer(content, status=http.SERVICE_UNAVAILABLE if missing else http.OK)


def _metrics(asked: Asked) -> "Deferred[Answer | LargeAnswer]":
    known = asked.known
    form = format_for(",".join(asked.headers.getRawHeaders("accept", [])))
    return known.workers.told().addCallback(
        lambda _: LargeAnswer(known.metrics.pieces(form), form.content_type)
    )


def _index(asked: Asked) -> Answer:
    width = max(len(path) for path, _ in asked.pages)
    return Answer("".join(f"{path:<{width}} {meaning}\n" for path, meaning in asked.pages).encode())


def _openapi(asked: Asked) -> LargeAnswer:
    return LargeAnswer(chain(json_text(openapi.document(PAGES)), ("\n",)))


_PROBES: Final = (
    PageRow("/", "this list", _index, is_probe=True),
    PageRow("/healthz", "liveness: ok as long as the process works", _healthy, is_probe=True, is_open=True),
    PageRow("/readyz", "readiness: ok, or what is missing", _ready, is_probe=True, is_open=True),
    PageRow(
        "/metrics", "counters for Prometheus", _metrics, content_type=PROMETHEUS.content_type, is_probe=True
    ),
)

PAGES: Final = (
    *_PROBES,
    standing.STATUS_ROW,
    *routes.ROWS,
    endpoints.ROW,
    *streams.ROWS,
    *problems.ROWS,
    *certificates.ROWS,
    *watches.ROWS,
    *workers.ROWS,
    changes.ROW,
    failures.ROW,
    *standing.LEADER_ROWS,
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

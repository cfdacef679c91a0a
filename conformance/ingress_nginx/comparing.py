"""What is different between two outcomes of the same request, after what must differ is taken out.

The rules of that, all of them:

- by HTTP/2 what an endpoint is told as ``:authority`` or as ``Host`` is the same;
- names of fields are compared without regard to case, and the order of fields of different names not at all;
- ``Date``, and what concerns one connection alone (``Connection``, ``Keep-Alive``, ``Transfer-Encoding``), are left out; bodies are compared
  without their framing, and ``Content-Length`` of an answer only where an endpoint wrote the body;
- ``Server: txingress``, which we say where an endpoint says nothing, and ingress-nginx does not, is left out;
- a request id that a controller made, of 32 hexadecimal digits, is any other such;
- the value of a session cookie is any other such, also where clients send it, and times in ``Expires`` and ``Last-Modified`` are any
  other times of the same day; what cookies say as ``SameSite`` is compared without regard to case;
- a page of an error or a redirect that a controller writes itself is any other such, and so is its ``Content-Type``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from conformance.ingress_nginx.case import Ask, Told
from conformance.ingress_nginx.endpoints import Arrival
from conformance.ingress_nginx.got import Got

LEFT_OUT = frozenset({"connection", "content-length", "date", "keep-alive", "transfer-encoding"})
OUR_NAME = ("server", "txingress")
MADE_ID = re.compile(r"\b[0-9a-f]{32}\b")
TIME = re.compile(
    r"((?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4}) \d\d:\d\d:\d\d GMT"
)
COOKIE = re.compile(r"^([^=;]+)=[^;]*")
PAGE = re.compile(rb"^\s*(<!DOCTYPE html>\s*)?<html>.*</html>\s*$", re.DOTALL | re.IGNORECASE)
LINE = re.compile(rb"^[^<]{0,200}$")
"""What we write in the place of a page: a line or two."""
SHARE = 0.15
"""By how much the shares of tallied outcomes may differ: four deviations of a share of a half, in 200 tries."""


@dataclass(frozen=True)
class Outcome:
    """An answer, and what reached endpoints meanwhile, in the order in which it came; each with the name of its endpoint."""

    got: Got
    arrivals: tuple[tuple[str, Arrival], ...] = ()


@dataclass(frozen=True)
class Difference:
    """``what`` is a path such as ``answer.field.location``; the two others are what was there, or nothing."""

    what: str
    reference: str
    ours: str


def differences(
    reference: Outcome, ours: Outcome, *, which_endpoint: bool = False, sessions: Iterable[str] = ()
) -> list[Difference]:
    """All of them, in the order of an exchange.  ``sessions`` are names of cookies whose values nobody can tell."""
    pairs = [
        *pairs_of_answers(reference.got, ours.got, frozenset(sessions)),
        *pairs_of_arrivals(reference.arrivals, ours.arrivals, which_endpoint, frozenset(sessions)),
    ]
    return [Difference(what, one, other) for what, one, other in pairs if one != other]


def pairs_of_answers(one: Got, other: Got, sessions: frozenset[str]) -> list[tuple[str, str, str]]:
    pairs = [
        ("answer.status", str(one.status), str(other.status)),
        ("answer.ended", one.ended, other.ended),
        ("answer.certificate", one.certificate, other.certificate),
        ("answer.protocol", one.protocol, other.protocol),
        ("answer.interim", str(one.interim), str(other.interim)),
    ]
    if one.status != other.status:
        return pairs
    pairs += field_pairs("answer.field", one.fields, other.fields, sessions)
    pairs += field_pairs("answer.trailer", one.trailers, other.trailers, sessions)
    if are_own_pages(one, other):
        return [pair for pair in pairs if pair[0] != "answer.field.content-type"]
    return [*pairs, ("answer.body", shown(one.body), shown(other.body))]


def are_own_pages(reference: Got, ours: Got) -> bool:
    """Whether both are what a controller writes for errors and redirects: nginx's page and a line of text, or neither in answers to HEAD."""
    if reference.status < 300:
        return False
    is_page, is_ours = PAGE.match(reference.body), LINE.match(ours.body) or PAGE.match(ours.body)
    return bool(is_page and is_ours) or not (reference.body.strip() or ours.body.strip())


def pairs_of_arrivals(
    one: Sequence[tuple[str, Arrival]],
    other: Sequence[tuple[str, Arrival]],
    which_endpoint: bool,
    sessions: frozenset[str],
) -> list[tuple[str, str, str]]:
    def names(arrivals: Sequence[tuple[str, Arrival]]) -> str:
        return ", ".join(sorted(name if which_endpoint else name.partition("#")[0] for name, _ in arrivals))

    pairs = [("endpoints", names(one), names(other))]
    if pairs[0][1] != pairs[0][2]:
        return pairs
    for (name, here), (_, there) in zip(in_order(one), in_order(other), strict=True):
        at = f"endpoint.{name.partition('#')[0]}"
        pairs += [
            (f"{at}.line", here.line, there.line),
            *field_pairs(f"{at}.field", here.fields, there.fields, sessions),
            (f"{at}.body", shown(here.body), shown(there.body)),
            (f"{at}.secure", str(here.secure), str(there.secure)),
            (f"{at}.server-name", here.server_name, there.server_name),
        ]
    return pairs


def in_order(arrivals: Sequence[tuple[str, Arrival]]) -> list[tuple[str, Arrival]]:
    """By Service; several of one stay as they came."""
    return sorted(arrivals, key=lambda arrival: arrival[0].partition("#")[0])


def field_pairs(
    at: str, one: Iterable[tuple[str, str]], other: Iterable[tuple[str, str]], sessions: frozenset[str]
) -> list[tuple[str, str, str]]:
    here, there = by_name(one, sessions), by_name(other, sessions)
    return [(f"{at}.{name}", here.get(name, ""), there.get(name, "")) for name in sorted({*here, *there})]


def by_name(fields: Iterable[tuple[str, str]], sessions: frozenset[str]) -> Mapping[str, str]:
    """Values by name, several of one name with `` | `` between."""
    found: dict[str, list[str]] = {}
    for name, value in fields:
        if name.lower() not in LEFT_OUT and (name.lower(), value) != OUR_NAME:
            found.setdefault(name.lower(), []).append(normal(name.lower(), value, sessions))
    return {name: " | ".join(values) for name, values in found.items()}


def normal(name: str, value: str, sessions: frozenset[str]) -> str:
    if name == "set-cookie":
        match = COOKIE.match(value)
        if match and match[1] in sessions:
            value = COOKIE.sub(r"\1=<session>", value)
        parts = [part.strip() for part in value.split(";")]
        # The order of attributes means nothing (RFC 6265, section 4.1), nor does the case of their names.
        value = "; ".join([parts[0], *sorted(attribute(part) for part in parts[1:])])
    if name == "cookie":
        for session in sessions:
            value = re.sub(rf"(?<![^; ]){re.escape(session)}=[^;]*", f"{session}=<session>", value)
    if name == "x-request-id":
        value = MADE_ID.sub("<id>", value)
    return TIME.sub(r"\1 <time>", value)


def attribute(part: str) -> str:
    name, equals, value = part.partition("=")
    if name.lower() == "expires":
        # nginx writes years with two digits and hyphens between, which browsers read as the other form (RFC 6265, section 5.1.1).
        value = re.sub(r"(\d\d)[ -]([A-Z][a-z]{2})[ -](?:20)?(\d\d)(?!\d)", r"\1 \2 20\3", value)
    if name.lower() == "samesite":
        # Compared without regard to case (RFC 6265bis, section 5.6.7).
        value = value.lower()
    return name.lower() + equals + value


def shown(body: bytes) -> str:
    text = body.decode("latin-1")
    return text if len(text) <= 400 else f"{text[:400]}... of {len(body)} bytes"


def tally(outcomes: Iterable[Outcome]) -> Mapping[str, float]:
    """The shares of what came of the same request again and again: statuses and endpoints."""
    counted = Counter(
        f"{outcome.got.status} {','.join(name.partition('#')[0] for name, _ in outcome.arrivals)}".strip()
        for outcome in outcomes
    )
    return {what: count / counted.total() for what, count in counted.items()}


def tally_differences(reference: Mapping[str, float], ours: Mapping[str, float]) -> list[Difference]:
    return [
        Difference(f"share.{what}", f"{reference.get(what, 0):.2f}", f"{ours.get(what, 0):.2f}")
        for what in sorted({*reference, *ours})
        if abs(reference.get(what, 0) - ours.get(what, 0)) > SHARE or (what in reference) != (what in ours)
    ]


def told_of(difference: Difference, ask: Ask, told: Iterable[Told]) -> Told | None:
    """Where a difference is told, if it is."""
    for one in told:
        if fnmatchcase(difference.what, one.what) and fnmatchcase(ask.name, one.asks):
            return one
    return None

"""Allowances: what of two answers is no difference.  A fixed list, which stands in each report."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from ingress.ctl.comparing.answers import Answer
from ingress.model.frozen import frozen


@frozen
class Allowance:
    """*name* is short, *means* a sentence."""

    name: str
    means: str


ALLOWANCES: Final = (
    Allowance("order", "Fields of different names may come in any order; those of one name count in theirs. Names are compared without case."),
    Allowance("connection", "Connection, Keep-Alive, Transfer-Encoding, Content-Length, Date, Server, Via, Alt-Svc and Age are about the connection, the moment, or the program that answers."),
    Allowance("ids", "X-Request-ID, X-Correlation-ID, X-Trace-ID, traceparent and the like count as present or absent; UUIDs and hexadecimal numbers of 16 digits or more count as (id) in any field."),
    Allowance("dates", "Dates count as (date) in any field."),
    Allowance("cookies", "Of Set-Cookie the name and the attributes count; the value and Expires do not."),
    Allowance("entity tags", "An ETag counts as weak or strong; Last-Modified counts as present or absent."),
    Allowance("ports", "In Location, and wherever else a field is a URL of the host that was asked, the ports of the two sides, 80 and 443 are left out."),
    Allowance("sign-in", "In URLs of fields, the parameters state, nonce, code_challenge and csrf do not count."),
    Allowance("lists", "Spaces around commas and semicolons do not count; Vary and Allow are sets, without case; Content-Type and Strict-Transport-Security are compared without case."),
    Allowance("own pages", "Of redirects, of pages that a controller makes itself, and of errors in answer to HEAD, Content-Type, ETag, Last-Modified, Accept-Ranges and Vary do not count."),
    Allowance("other status", "Where the status differs, Location, the backend and the certificate are compared, and no other field."),
    Allowance("pods", "In the field of --backend-header the endings that Kubernetes gives to pods are left out: shop-7d4b9c6f5-x2x9k and shop-0 are shop."),
    Allowance("bodies", "Bodies are compared where both sides answer 200, as far as 256 KiB, uncompressed, and only as a hint."),
    Allowance("unsteady", "What differs is asked for once more; where one side then says what the other one said, or both say something new, it is no difference but unsteady."),
)  # fmt: skip
"""All of them."""

_UNCOMPARED: Final = frozenset(
    [
        "connection",
        "keep-alive",
        "transfer-encoding",
        "content-length",
        "date",
        "server",
        "via",
        "alt-svc",
        "age",
        "proxy-connection",
        "trailer",
    ]
)
_IDS: Final = frozenset(
    [
        "x-request-id",
        "x-correlation-id",
        "x-trace-id",
        "x-b3-traceid",
        "x-b3-spanid",
        "traceparent",
        "tracestate",
        "x-amzn-trace-id",
        "x-amz-request-id",
        "x-amz-id-2",
        "x-cloud-trace-context",
        "request-id",
        "cf-ray",
    ]
)
_OF_PAGES: Final = frozenset(("content-type", "etag", "last-modified", "accept-ranges", "vary"))
_SETS: Final = frozenset(("vary", "allow"))
_CASELESS: Final = frozenset(("content-type", "strict-transport-security"))
_PRESENT: Final = "(present)"
_DATE: Final = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [0-9]{1,2}[ -][A-Z][a-z]{2}[ -][0-9]{2,4} [0-9:]{8} (?:GMT|UTC)"
    r"|[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})"
)
_ID: Final = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{16,}\b", re.IGNORECASE
)
_PASSING: Final = re.compile(r"(?<=[?&])(state|nonce|code_challenge|csrf)=[^&]*")
_SPACES: Final = re.compile(r"\s*([,;])\s*")
_POD: Final = re.compile(r"-(?:[a-z0-9]{6,10}-[a-z0-9]{5}|[a-z0-9]{5}|[0-9]+)\Z")
_ENDING: Final = re.compile(r"(?=[a-z]*[0-9])[bcdfghjklmnpqrstvwxz2456789]{5}\Z")


def normal_fields(
    answer: Answer, host: str, ports: frozenset[str], about_page: bool
) -> Mapping[str, tuple[str, ...]]:
    """Return the fields of *answer* that count, by name in lower case; without those about a page where that is to be left out."""
    found: dict[str, list[str]] = {}
    for name, value in answer.fields:
        lower = name.lower()
        if lower in _UNCOMPARED or lower == "location" or (not about_page and lower in _OF_PAGES):
            continue
        found.setdefault(lower, []).append(_normal_value(lower, value, host, ports))
    return {
        name: (", ".join(sorted(set(", ".join(values).split(", ")))),) if name in _SETS else tuple(values)
        for name, values in found.items()
    }


def normal_location(answer: Answer, host: str, ports: frozenset[str]) -> str:
    """Return where *answer* leads, empty where it says nothing of that."""
    return ", ".join(normal_url(_general(value), host, ports) for value in answer.values("location"))


def normal_backend(value: str) -> str:
    """Return the name of what a pod belongs to."""
    found = _POD.search(value)
    if found is None:
        return value
    ending = found[0].rpartition("-")[2]
    # A word is no ending: Kubernetes takes neither vowels nor 0, 1 and 3 for its own.
    is_given = ending.isdecimal() or _ENDING.search(ending) or "-" in found[0][1:]
    return value[: found.start()] if is_given else value


def normal_url(value: str, host: str, ports: frozenset[str]) -> str:
    """Return the URL *value* without a port of the sides, if it is one of *host*."""
    scheme, sign, rest = value.partition("://")
    if not sign or scheme.lower() not in ("http", "https"):
        return value
    try:
        parts = urlsplit(value)
        port = "" if parts.port is None else str(parts.port)
        name = parts.hostname
    except ValueError:
        return value
    if port and name == host and port in ports | {"80", "443"}:
        authority, slash, path = rest.partition("/")
        return f"{scheme}://{authority.removesuffix(f':{port}')}{slash}{path}"
    return value


def _normal_value(name: str, value: str, host: str, ports: frozenset[str]) -> str:
    if name in _IDS:
        return _PRESENT
    if name == "etag":
        return "weak" if value.startswith("W/") else "strong"
    if name == "last-modified":
        return _PRESENT
    if name == "set-cookie":
        return _normal_cookie(value)
    value = _SPACES.sub(r"\1 ", _general(value)).strip()
    if name in _SETS or name in _CASELESS:
        value = value.lower()
    return normal_url(value, host, ports)


def _general(value: str) -> str:
    return _PASSING.sub(r"\1=(any)", _ID.sub("(id)", _DATE.sub("(date)", value)))


def _normal_cookie(value: str) -> str:
    pair, *attributes = [part.strip() for part in value.split(";")]
    kept = sorted(
        name.lower() + (f"={said.lower() if name.lower() != 'path' else said}" if sign else "")
        for name, sign, said in (one.partition("=") for one in attributes if one)
        if name.lower() != "expires"
    )
    return "; ".join([pair.partition("=")[0] + "=(value)", *kept])

"""Pages of which origins may use a service (CORS): ``enable-cors`` and the ``cors-...`` beside it.

As in ingress-nginx nothing happens without ``enable-cors``.  With it, answers to an origin that is allowed have the fields of
the CORS protocol (https://fetch.spec.whatwg.org/#http-cors-protocol), in place of those of the endpoint; and OPTIONS is
answered here.  Without a list everybody is allowed, by ``*``; of a list the origin that asks is repeated.

Origins are compared as texts, in upper or lower case; ``*.`` at the beginning of a host is exactly one label.  Nothing here is a
regular expression, so a dot is a dot, and an allowed origin is all of what a browser says and not the end of it.  What is no
origin is left out; where nothing is left, nobody is allowed.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import ClassVar, Final

from attrs import evolve, field

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_boolean,
    quoted,
)
from ingress.filters import ChangesBy, Facts, FieldChanges, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen

MAX_CHARACTERS: Final = 16 * 1024
"""Of a list of origins: some four hundred of them."""
MAX_NAMES_CHARACTERS: Final = 4096
"""Of a list of methods or fields, which goes out with each answer."""
MAX_ORIGIN: Final = 512
"""Bytes of what a browser may say and be compared: a scheme, a name of DNS and a port need less."""

_EVERYBODY: Final = "*"
_NULL: Final = "null"
_METHODS: Final = "GET, PUT, POST, DELETE, PATCH, OPTIONS"
_HEADERS: Final = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"
_OPTIONS: Final = frozenset({b"OPTIONS"})
_ORIGIN: Final = b"Origin"
_PREFLIGHT: Final = Reply(204)
_NOTHING_BUT_VARY: Final = FieldChanges(vary=_ORIGIN)

_match_origin = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*://)"
    r"(?:(?P<wide>\*)(?P<behind>\.[a-z0-9][a-z0-9.-]*(?::[0-9]{1,5})?)"
    r"|(?:[a-z0-9][a-z0-9.-]*|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?)",
).fullmatch
_is_label = re.compile(rb"[a-z0-9-]+").fullmatch
_is_method = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)*").fullmatch
_is_name = re.compile(r"[A-Za-z0-9_.-]+").fullmatch
_is_seconds = re.compile(r"-?[0-9]{1,10}", re.ASCII).fullmatch
_words = re.compile(r"[,\s]+").split
_space = re.compile(r"\s+").sub


@frozen(cache_hash=True)
class Origins:
    """The origins that are allowed, each in lower case; none of them by default."""

    is_everybody: bool = False
    exact: frozenset[bytes] = frozenset()
    """``https://a.example.com``, or ``null``."""
    wide: frozenset[tuple[bytes, bytes]] = frozenset()
    """Scheme, and what stands behind one label: ``https://`` and ``.example.com:8443``."""
    left_out: tuple[str, ...] = field(default=(), eq=False)
    """What was written and is no origin."""

    def __contains__(self, origin: bytes) -> bool:
        if self.is_everybody:
            return True
        if not origin or len(origin) > MAX_ORIGIN:
            return False
        lower = origin.lower()
        if lower in self.exact:
            return True
        scheme, mark, rest = lower.partition(b"://")
        label, dot, behind = rest.partition(b".")
        return (scheme + mark, dot + behind) in self.wide and _is_label(label) is not None


EVERYBODY: Final = Origins(is_everybody=True)


@frozen
class CorsSettings:
    """What the annotations of one Ingress say about other origins."""

    enabled: bool = False
    origins: Origins = EVERYBODY
    methods: str = _METHODS
    """As written; ``*`` stands for the default, as it does for *headers*."""
    headers: str = _HEADERS
    exposed: str = ""
    credentials: bool = True
    max_age_seconds: int = 1728000


def parse_origins(text: str) -> Origins:
    """Read origins, separated by commas.  Of several the good ones count; raises ``ValueRefused`` if there is none."""
    if len(text) > MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_CHARACTERS} characters")
    members = [member.strip() for member in text.split(",")]
    if _EVERYBODY in members:
        return EVERYBODY
    exact: set[bytes] = set()
    wide: set[tuple[bytes, bytes]] = set()
    left_out: list[str] = []
    for member in members:
        lower = member.lower()
        match = _match_origin(lower)
        if match is not None and match["wide"]:
            wide.add((match["scheme"].encode("ascii"), match["behind"].encode("ascii")))
        elif match is not None or lower == _NULL:
            exact.add(lower.encode("ascii"))
        elif member:
            left_out.append(member)
    if not exact and not wide:
        raise ValueRefused(
            "is no list of origins; write https://a.example.com, https://*.example.com or *, separated by commas"
        )
    return Origins(False, frozenset(exact), frozenset(wide), tuple(left_out))


def parse_methods(text: str) -> str:
    """Read methods, separated by commas; what is written is what browsers get."""
    return _or_everybody(_listed(text, _is_method, "methods", "GET, POST"))


def parse_names(text: str) -> str:
    """Read names of fields, separated by commas; what is written is what browsers get."""
    return _or_everybody(parse_exposed(text))


def parse_exposed(text: str) -> str:
    """Read names of fields of answers: ``*`` beside others stays, for in requests with credentials browsers take it by its letter."""
    return _listed(text, _is_name, "names of fields", "Content-Type, X-Team")


def _or_everybody(listed: str) -> str:
    """Return ``*`` alone where a list has it: it means the default, whatever stands beside it."""
    return _EVERYBODY if _EVERYBODY in _words(listed) else listed


def _listed(text: str, match: Callable[[str], object], what: str, example: str) -> str:
    if len(text) > MAX_NAMES_CHARACTERS:
        raise ValueRefused(f"is longer than {MAX_NAMES_CHARACTERS} characters")
    members = [member for member in _words(text) if member]
    for member in members:
        if member != _EVERYBODY and match(member) is None:
            raise ValueRefused(f"is no list of {what}; write {quoted(example)}")
    if not members:
        raise ValueRefused(f"names no {what}")
    return _space(" ", text.strip())


def parse_seconds(text: str) -> int:
    """Read for how long browsers keep what a preflight said; a negative number is for not at all."""
    if _is_seconds(text.strip()) is None:
        raise ValueRefused('is no number of seconds; write "1728000"')
    return int(text)


@frozen
class CorsPreflight:
    """Answers OPTIONS of an origin that is allowed, so that no endpoint gets it."""

    phase: ClassVar[Phase] = Phase.PREFLIGHT
    name: ClassVar[str] = "cors-preflight"

    origins: Origins

    def describe(self) -> str:
        """Say whom it answers."""
        return f"answers OPTIONS of {_shown(self.origins)} by itself"

    def make(self, services: Services) -> Filter:
        """Make the filter that answers."""
        return _Preflight(self)

    def judge(self, facts: Facts) -> Reply | None:
        """Answer OPTIONS of who is allowed; what it says stands in the fields that all answers get."""
        if facts.method != b"OPTIONS" or facts.field(b"origin") not in self.origins:
            return None
        return _PREFLIGHT


class _Preflight(Filter):
    asked_methods = _OPTIONS

    def __init__(self, spec: CorsPreflight) -> None:
        self._judge = spec.judge

    def on_request(self, facts: Facts) -> Reply | None:
        return self._judge(facts)


@frozen
class CorsFields:
    """Tells browsers what an origin may do that is allowed: on all answers, those of our own included."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "cors-fields"

    origins: Origins
    fields: tuple[tuple[bytes, bytes], ...]
    """What an origin is told besides that it is allowed."""
    credentials: bool = True

    def describe(self) -> str:
        """Say who is allowed, and what."""
        said = ", ".join(f"{name.decode()}: {value.decode()}" for name, value in self.fields)
        return f"allows {_shown(self.origins)} ({said})"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        return _ToEverybody(self) if self.origins.is_everybody else _ToSome(self)

    def changes_by(self, origin: bytes) -> FieldChanges:
        """Return what becomes of an answer to *origin*, which may be allowed or not."""
        return self.changes(origin, _ORIGIN) if origin and origin in self.origins else _NOTHING_BUT_VARY

    def changes(self, origin: bytes, vary: bytes = b"") -> FieldChanges:
        """Return what becomes of an answer to *origin*, which is allowed."""
        allowed = (b"Access-Control-Allow-Origin", origin)
        # Without credentials, an endpoint has no say about them, either.
        gone = () if self.credentials else (b"Access-Control-Allow-Credentials",)
        return FieldChanges(drop=gone, put=(allowed, *self.fields), vary=vary)


class _ToEverybody(Filter):
    def __init__(self, spec: CorsFields) -> None:
        self.answer_changes = spec.changes(b"*")


class _ToSome(Filter):
    """Repeats the origin that asks; a cache must not give that answer to another one, nor to nobody."""

    def __init__(self, spec: CorsFields) -> None:
        self.answer_changes = ChangesBy(spec.changes_by, b"origin")


def _shown(origins: Origins) -> str:
    if origins.is_everybody:
        return "all origins"
    texts = [origin.decode("ascii") for origin in origins.exact]
    texts += [f"{scheme.decode('ascii')}*{behind.decode('ascii')}" for scheme, behind in origins.wide]
    return ", ".join(sorted(texts)) or "no origin"


@lru_cache(maxsize=1024)
def _filters(settings: CorsSettings) -> tuple[FilterSpec, ...]:
    """Return the one value for all routes of whoever asks for the same."""
    methods = _METHODS if settings.methods == _EVERYBODY else settings.methods
    headers = _HEADERS if settings.headers == _EVERYBODY else settings.headers
    told = [
        ("Access-Control-Allow-Credentials", "true" if settings.credentials else ""),
        ("Access-Control-Allow-Methods", methods),
        ("Access-Control-Allow-Headers", headers),
        ("Access-Control-Expose-Headers", settings.exposed),
        ("Access-Control-Max-Age", str(settings.max_age_seconds)),
    ]
    fields = tuple((name.encode("ascii"), value.encode("ascii")) for name, value in told if value)
    origins = evolve(settings.origins, left_out=())
    return CorsPreflight(origins), CorsFields(origins, fields, settings.credentials)


def cors_filters(settings: CorsSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what answers preflights and tells browsers; nothing without ``enable-cors``."""
    return _filters(settings) if settings.enabled else ()


def cors_remarks(settings: CorsSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell what is no origin, and what browsers will not do."""
    if settings.origins.left_out:
        shown = ", ".join(map(quoted, settings.origins.left_out[:3]))
        more = len(settings.origins.left_out) - 3
        shown += f" and {more} more" if more > 0 else ""
        is_path = any(one.endswith("/") for one in settings.origins.left_out)
        hint = (
            "an origin has no path" if is_path else "write a scheme and a host, such as https://a.example.com"
        )
        yield Remark(
            "cors-allow-origin",
            f"{shown}: no origin, {hint}; it is left out, and the others are allowed",
            Reason.INVALID_ANNOTATION,
        )
    if not settings.enabled:
        return
    if settings.origins.is_everybody and settings.credentials and "cors-allow-credentials" in names:
        yield Remark(
            "cors-allow-credentials",
            "browsers send no credentials where all origins are allowed; cors-allow-origin has to list them",
        )
    if _NULL.encode() in settings.origins.exact:
        yield Remark(
            "cors-allow-origin", "null is what any page says of itself that is in a sandbox or a file"
        )
    for name, value in (("cors-allow-methods", settings.methods), ("cors-allow-headers", settings.headers)):
        if value == _EVERYBODY:
            message = f"{quoted(_EVERYBODY)} means the default list, as it does in ingress-nginx: browsers take it by its letter in requests with credentials"
            yield Remark(name, message)


CORS: Final = Family(
    name="cors",
    settings=CorsSettings(),
    acts="tells browsers which origins may use a service, and answers what they ask beforehand",
    phases=(Phase.PREFLIGHT, Phase.ANSWER),
    filters=cors_filters,
    remarks=cors_remarks,
    annotations={
        "enable-cors": Annotation(
            "enabled",
            parse_boolean,
            values="boolean; false",
            meaning="answers OPTIONS of origins that are allowed with 204, and puts the fields of CORS on their answers, in place of the endpoint's",
            differs="the preflight has neither Content-Type nor Content-Length",
        ),
        "cors-allow-origin": Annotation(
            "origins",
            parse_origins,
            refused=Origins(),
            instead="no origin is allowed",
            values="origins, separated by commas: https://a.example.com:8443, https://*.example.com, null; * for all, which is the default",
            meaning="which origins are allowed; one of a list is repeated, and every answer has Vary: Origin",
            differs="all of an origin is compared, and not its end; a refused value allows nobody; Vary is sent",
            risk=Risk.MEDIUM,
        ),
        "cors-allow-methods": Annotation(
            "methods",
            parse_methods,
            values=f"methods, separated by commas; {_METHODS}",
            meaning="which methods origins may use",
            differs="of a list with two spaces in a row, or one before a comma, ingress-nginx makes the default",
            risk=Risk.MEDIUM,
        ),
        "cors-allow-headers": Annotation(
            "headers",
            parse_names,
            values=f"names of fields, separated by commas; {_HEADERS}",
            meaning="which fields origins may send",
            risk=Risk.MEDIUM,
        ),
        "cors-expose-headers": Annotation(
            "exposed",
            parse_exposed,
            values="names of fields, separated by commas, or *; none",
            meaning="which fields of answers pages may read",
            differs="of a list with two spaces in a row, or one before a comma, ingress-nginx makes none",
            risk=Risk.MEDIUM,
        ),
        "cors-allow-credentials": Annotation(
            "credentials",
            parse_boolean,
            values="boolean; true",
            meaning="whether pages may send cookies and passwords along; browsers do so for listed origins alone",
            differs="with false, the endpoint cannot allow it, either",
        ),
        "cors-max-age": Annotation(
            "max_age_seconds",
            parse_seconds,
            values="seconds; 1728000",
            meaning="for how long browsers keep what a preflight said",
        ),
    },
)

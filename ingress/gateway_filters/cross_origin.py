"""Pages of which origins may use a service: ``CORS`` (``HTTPCORSFilter``).

Preflights, which are OPTIONS with ``Origin`` and ``Access-Control-Request-Method``, are answered here with 204: with the fields of the
CORS protocol (https://fetch.spec.whatwg.org/#http-cors-protocol) to an origin that is allowed, and without them to any other.  Other
requests go on, and what their answers say of who may read them is said here, in place of what the endpoint says.

With credentials nothing is told by an asterisk, which browsers would take by its letter: the origin, the method and the fields
that are asked about are repeated, and all fields of an answer are named that pages may read.
"""

import re
from collections.abc import Iterable
from typing import ClassVar, Final

from ingress.filters import (
    AnswerEdit,
    ChangesBy,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Phase,
    Reply,
    Services,
)
from ingress.model.frozen import frozen

MOST_ORIGINS: Final = 64
MOST_NAMES: Final = 64
MOST_BYTES: Final = 512
"""Of what a browser may say and be compared, or repeated: a scheme, a name of DNS and a port need less."""
MOST_ASKED_BYTES: Final = 4096
"""Of the names of fields that a preflight asks about."""

_ALL: Final = "*"
_OPTIONS: Final = frozenset({b"OPTIONS"})
_ORIGIN: Final = b"Origin"
_CREDENTIALS: Final = (b"Access-Control-Allow-Credentials", b"true")
_OF_ENDPOINTS: Final = (
    b"access-control-allow-origin",
    b"access-control-allow-credentials",
    b"access-control-expose-headers",
)
_USUAL_PORTS: Final = {b"http": b":80", b"https": b":443"}

_match_origin = re.compile(
    r"(?P<scheme>https?)://(?:(?P<wide>\*)(?P<behind>(?:\.[a-z0-9-]+)+)?|(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*))(?P<port>:[0-9]{1,5})?",
    re.IGNORECASE,
).fullmatch
_split_origin = re.compile(
    rb"(https?)://((?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?)|\[[0-9a-f:.]+\])(:[0-9]{1,5})?"
).fullmatch
_is_name = re.compile(r"[A-Za-z0-9!#$%&'*+\-.^_`|~]{1,256}").fullmatch
_are_names = re.compile(
    rb"[A-Za-z0-9!#$%&'*+\-.^_`|~]+(?:[ \t]*,[ \t]*[A-Za-z0-9!#$%&'*+\-.^_`|~]+)*"
).fullmatch


@frozen(cache_hash=True)
class AllowedOrigins:
    """The origins that are allowed, in lower case and without the usual port of their schemes; none of them by default."""

    is_everybody: bool = False
    exact: frozenset[tuple[bytes, bytes, bytes]] = frozenset()
    """Scheme, host and port, such as ``:8443``."""
    wide: tuple[tuple[bytes, bytes, bytes], ...] = ()
    """Scheme, what a host ends with behind one or more labels, and port; any host where that is empty."""

    def __contains__(self, origin: bytes) -> bool:
        if not origin or len(origin) > MOST_BYTES:
            return False
        if self.is_everybody:
            return True
        match = _split_origin(origin.lower())
        if match is None:
            return False
        scheme, host, port = match[1], match[2], match[3] or b""
        if port == _USUAL_PORTS[scheme]:
            port = b""
        if (scheme, host, port) in self.exact:
            return True
        return any(
            scheme == own and port == own_port and host.endswith(behind) and len(host) > len(behind)
            for own, behind, own_port in self.wide
        )

    def __str__(self) -> str:
        if self.is_everybody:
            return "all origins"
        texts = [b"%b://%b%b" % one for one in self.exact] + [b"%b://*%b%b" % one for one in self.wide]
        return ", ".join(sorted(text.decode("ascii") for text in texts)) or "no origin"


def read_origins(texts: Iterable[str]) -> AllowedOrigins | str:
    """Return the origins that *texts* name; or, as a text, what is wrong with one."""
    exact: set[tuple[bytes, bytes, bytes]] = set()
    wide: dict[tuple[bytes, bytes, bytes], None] = {}
    is_everybody = False
    for at, text in enumerate(texts):
        if at == MOST_ORIGINS:
            return f"there are more than {MOST_ORIGINS} origins"
        if text == _ALL:
            is_everybody = True
            continue
        match = _match_origin(text) if len(text) <= MOST_BYTES else None
        if match is None:
            return f"{text[:64]!a} is no origin, such as https://a.example.com, https://*.example.com or *"
        scheme = match["scheme"].lower().encode()
        port = (match["port"] or "").encode()
        if port == _USUAL_PORTS[scheme]:
            port = b""
        if match["wide"]:
            wide[scheme, (match["behind"] or "").lower().encode(), port] = None
        else:
            exact.add((scheme, match["host"].lower().encode(), port))
    return AllowedOrigins(True) if is_everybody else AllowedOrigins(False, frozenset(exact), tuple(wide))


@frozen(cache_hash=True)
class Listed:
    """Methods, or names of fields, that origins may use."""

    is_all: bool = False
    names: bytes = b""
    """As they are told: separated by commas; empty for none."""


def read_list(texts: Iterable[str]) -> Listed | str:
    """Return what *texts* list; or, as a text, what is wrong with one."""
    names: list[str] = []
    is_all = False
    for text in texts:
        if len(names) == MOST_NAMES:
            return f"there are more than {MOST_NAMES} names"
        if text == _ALL:
            is_all = True
        elif _is_name(text) is None:
            return f"{text[:64]!a} is no name"
        else:
            names.append(text)
    return Listed(True) if is_all else Listed(False, ", ".join(names).encode("ascii"))


@frozen(cache_hash=True)
class CrossOrigin:
    """What other origins may do: plain data."""

    origins: AllowedOrigins
    methods: Listed = Listed()
    fields: Listed = Listed()
    exposed: Listed = Listed()
    credentials: bool = False
    max_age: int = 5
    """Seconds."""

    @property
    def repeats_origin(self) -> bool:
        """Whether the origin that asks is named, so that an answer is for it alone."""
        return self.credentials or not self.origins.is_everybody

    def told(self, origin: bytes) -> tuple[tuple[bytes, bytes], ...]:
        """Return what each answer to *origin* says, which is allowed."""
        said = [(b"Access-Control-Allow-Origin", origin if self.repeats_origin else b"*")]
        if self.credentials:
            said.append(_CREDENTIALS)
        if self.exposed.names:
            said.append((b"Access-Control-Expose-Headers", self.exposed.names))
        elif self.exposed.is_all and not self.credentials:
            said.append((b"Access-Control-Expose-Headers", b"*"))
        return tuple(said)

    def told_before(self, facts: Facts) -> tuple[tuple[bytes, bytes], ...]:
        """Return what the answer to a preflight says besides."""
        said = []
        for name, listed, asked, most in (
            (b"Access-Control-Allow-Methods", self.methods, b"access-control-request-method", MOST_BYTES),
            (
                b"Access-Control-Allow-Headers",
                self.fields,
                b"access-control-request-headers",
                MOST_ASKED_BYTES,
            ),
        ):
            value = listed.names
            if listed.is_all:
                value = b"*"
                if self.credentials:
                    value = facts.field(asked)
                    value = value if len(value) <= most and _are_names(value) is not None else b""
            if value:
                said.append((name, value))
        said.append((b"Access-Control-Max-Age", b"%d" % self.max_age))
        return tuple(said)


def is_preflight(facts: Facts) -> bool:
    """Whether a browser asks what a page may do."""
    return (
        facts.method == b"OPTIONS"
        and bool(facts.field(b"origin"))
        and bool(facts.field(b"access-control-request-method"))
    )


@frozen(cache_hash=True)
class RoutePreflight:
    """Answers preflights, so that no endpoint gets them."""

    phase: ClassVar[Phase] = Phase.PREFLIGHT
    name: ClassVar[str] = "route-preflight"

    cross_origin: CrossOrigin

    def describe(self) -> str:
        """Say whom it answers what."""
        return f"answers preflights, and allows {self.cross_origin.origins}"

    def make(self, services: Services) -> Filter:
        """Make the filter that answers."""
        return _Preflight(self)

    def judge(self, facts: Facts) -> Reply | None:
        """Answer a preflight; what all answers say is not among its fields."""
        if not is_preflight(facts):
            return None
        is_allowed = facts.field(b"origin") in self.cross_origin.origins
        return Reply(204, self.cross_origin.told_before(facts) if is_allowed else ())


class _Preflight(Filter):
    asked_methods = _OPTIONS

    def __init__(self, spec: RoutePreflight) -> None:
        self._judge = spec.judge

    def on_request(self, facts: Facts) -> Reply | None:
        return self._judge(facts)


@frozen(cache_hash=True)
class RouteCrossOrigin:
    """Tells browsers on all answers, those of our own included, which origins may read them."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "route-cross-origin"

    cross_origin: CrossOrigin

    def describe(self) -> str:
        """Say whom it allows."""
        with_credentials = " with credentials" if self.cross_origin.credentials else ""
        return f"has {self.cross_origin.origins} read answers{with_credentials}"

    def make(self, services: Services) -> Filter:
        """Make the filter that tells."""
        cross_origin = self.cross_origin
        if cross_origin.exposed.is_all and cross_origin.credentials:
            return _NamesFields(cross_origin)
        return _ToSome(cross_origin) if cross_origin.repeats_origin else _ToEverybody(cross_origin)


def _changes(cross_origin: CrossOrigin, origin: bytes) -> FieldChanges:
    told = cross_origin.told(origin) if origin in cross_origin.origins else ()
    return FieldChanges(drop=_OF_ENDPOINTS, put=told, vary=_ORIGIN)


class _ToEverybody(Filter):
    def __init__(self, cross_origin: CrossOrigin) -> None:
        self.answer_changes = FieldChanges(drop=_OF_ENDPOINTS, put=cross_origin.told(b"*"))


class _ToSome(Filter):
    """Repeats the origin that asks; a cache must not give that answer to another one, nor to nobody."""

    def __init__(self, cross_origin: CrossOrigin) -> None:
        self.answer_changes = ChangesBy(lambda origin: _changes(cross_origin, origin), b"origin")


class _NamesFields(Filter):
    """Names all fields of an answer, in place of the asterisk that browsers take by its letter."""

    def __init__(self, cross_origin: CrossOrigin) -> None:
        self._cross_origin = cross_origin

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        origin = facts.field(b"origin")
        edit.change(_changes(self._cross_origin, origin))
        if origin in self._cross_origin.origins:
            names = dict.fromkeys(name for name in edit.names() if not name.startswith(b"access-control-"))
            edit.put(b"Access-Control-Expose-Headers", b", ".join(names))


def cross_origin_filters(cross_origin: CrossOrigin) -> tuple[FilterSpec, ...]:
    """Return what answers preflights, and what tells browsers."""
    return RoutePreflight(cross_origin), RouteCrossOrigin(cross_origin)

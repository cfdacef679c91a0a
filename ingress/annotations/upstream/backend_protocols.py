"""How backends are spoken to: ``backend-protocol``, ``secure-backends``, ``proxy-http-version``, ``proxy-ssl-*`` and ``fastcgi-*``.

What these annotations ask for is secrecy, and the certainty of who is at the other end.  So
a value that cannot be read never gives less of either: verification that is asked for in
words that nobody knows is on, and a Secret that cannot be named closes the backends that
are spoken to over TLS.  Like ingress-nginx, TLS is not verified unless that is asked for.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from ingress.annotations.contract.references import Found, Reference
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    Risk,
    ValueRefused,
    parse_boolean,
    parse_object_key,
    parse_switch,
)
from ingress.annotations.upstream.fastcgi import (
    INDEX,
    PARAMS,
    UNREADABLE_CONFIG_MAP,
    FastCgiSettings,
    fastcgi_contents,
    fastcgi_filters,
    fastcgi_references,
    parse_index,
)
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.model.requests.templates import Part, Template, TemplateRefused, read_template
from ingress.model.upstream.upstream_tls import DEFAULT_DEPTH, TlsSettings, TlsVersion

UNREADABLE_SECRET: Final = ObjectKey("", "")
"""Stands where ``proxy-ssl-secret`` names none: something was asked for, and nobody knows what."""

OF_HOST: Final = "server_name"
"""The variable that is the host of the rule."""
_NAME_VARIABLES: Final = frozenset((OF_HOST, "ingress_name", "namespace", "service_name"))
"""Those that may stand in ``proxy-ssl-name``, and ``$host`` for the host: were it for requests to say, each would have connections of its own."""

_MAX_DEPTH: Final = 100
_MAX_CIPHERS_CHARACTERS: Final = 2048
_MAX_HOST_CHARACTERS: Final = 253

_match_host = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*").fullmatch
_match_ciphers = re.compile(r"[A-Za-z0-9:+!_, -]+").fullmatch
_match_number_at_end = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)").fullmatch

_VERSIONS: Final = {"TLSv1.2": TlsVersion.TLS_1_2, "TLSv1.3": TlsVersion.TLS_1_3}
_OLD_VERSIONS: Final = frozenset({"SSLv2", "SSLv3", "TLSv1", "TLSv1.1"})


class BackendProtocol(StrEnum):
    """The values of ``backend-protocol``."""

    HTTP = "HTTP"
    HTTPS = "HTTPS"
    AUTO_HTTP = "AUTO_HTTP"
    """Over TLS what came over TLS, and in the clear what came in the clear."""
    GRPC = "GRPC"
    """HTTP/2 in the clear, be it gRPC or not."""
    GRPCS = "GRPCS"
    """HTTP/2 over TLS."""
    FCGI = "FCGI"
    """FastCGI in the clear; what is told by it is for ``ingress.annotations.upstream.fastcgi`` to say."""


def parse_protocol(text: str) -> BackendProtocol:
    """Read ``backend-protocol``, in any case, as ingress-nginx does."""
    try:
        return BackendProtocol(text.strip().upper())
    except ValueError:
        raise ValueRefused("is not HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI") from None


def parse_http_version(text: str) -> None:
    """Read ``proxy-http-version``; what can be asked for is what is done anyway."""
    version = text.strip()
    if version == "1.0":
        raise ValueRefused("asks for a version that endpoints are not spoken to in")
    if version != "1.1":
        raise ValueRefused('is not "1.1"; for HTTP/2 write backend-protocol: GRPC')


def parse_secret(text: str) -> ObjectKey:
    """Read ``NAMESPACE/NAME``."""
    key = parse_object_key(text)
    if not key.namespace:
        raise ValueRefused("does not name a Secret; write NAMESPACE/NAME")
    return key


def parse_depth(text: str) -> int:
    """Read how many intermediate certificates there may be."""
    if re.fullmatch(r"[0-9]{1,3}", text) is None or int(text) > _MAX_DEPTH:
        raise ValueRefused(f"is not a number from 0 to {_MAX_DEPTH}")
    return int(text)


def parse_name(text: str) -> str | Template:
    """Read the name that a certificate must be for, which host and Service of a route may decide.

    ``$host`` becomes ``$server_name``, which a route decides.
    """
    if "$" not in text:
        return read_name(text)
    if len(text) > _MAX_HOST_CHARACTERS:
        raise ValueRefused(f"is longer than {_MAX_HOST_CHARACTERS} characters")
    try:
        parts = read_template(text.strip()).parts
    except TemplateRefused as refusal:
        raise ValueRefused(str(refusal)) from None
    template = Template(tuple(Part(OF_HOST, b"") if part.variable == "host" else part for part in parts))
    if not template.variables <= _NAME_VARIABLES:
        known = ", ".join(f"${name}" for name in sorted(_NAME_VARIABLES | {"host"}))
        raise ValueRefused(f"holds a variable that is no fact of the route; there are {known}")
    read_name(str(template.bound(dict.fromkeys(_NAME_VARIABLES, "x"))))
    return template


def read_name(text: str) -> str:
    """Read a DNS name, or an IP address in its one spelling; raises ``ValueRefused``."""
    name = text.strip().lower().removesuffix(".")
    try:
        return str(ip_address(name))
    except ValueError:
        pass
    if len(name) > _MAX_HOST_CHARACTERS or _match_host(name) is None or _match_number_at_end(name):
        raise ValueRefused("is neither a DNS name nor an IP address")
    return name


def parse_versions(text: str) -> tuple[TlsVersion, ...]:
    """Read the versions of TLS, separated by spaces.  None that is older than 1.2 is ever spoken."""
    words = text.split()
    if not words or any(word not in _VERSIONS and word not in _OLD_VERSIONS for word in words):
        raise ValueRefused('is not a list of versions; write "TLSv1.2 TLSv1.3"')
    if not _OLD_VERSIONS.isdisjoint(words):
        raise ValueRefused("names a version older than TLSv1.2, and none of these is spoken")
    return tuple(sorted({_VERSIONS[word] for word in words}))


def parse_ciphers(text: str) -> str:
    """Read a list of ciphers as OpenSSL does, but for those without secrecy or identity, and those over finite fields.

    With the latter a server chooses numbers of up to 10,000 bits, with which a handshake takes tenths of a second.
    """
    if len(text) > _MAX_CIPHERS_CHARACTERS or _match_ciphers(text) is None:
        raise ValueRefused("is not a list of ciphers in OpenSSL's notation")
    ciphers = f"{text.strip()}:!aNULL:!eNULL:!DHE"
    if not _selects_any(ciphers):
        raise ValueRefused(
            "names no cipher that OpenSSL has, apart from those with DHE, which are not spoken"
        )
    return ciphers


@lru_cache(maxsize=256)
def _selects_any(ciphers: str) -> bool:
    # Families are loaded with the options, for whose help TLS need not be.
    from OpenSSL import SSL

    try:
        SSL.Context(SSL.TLS_CLIENT_METHOD).set_cipher_list(ciphers.encode("ascii"))
    except SSL.Error:
        return False
    return True


@frozen
class UpstreamSettings:
    """What the annotations of one Ingress say about the protocol of its backends."""

    protocol: BackendProtocol | None = None
    secure_backends: bool = False
    """The old spelling of HTTPS; the new one has the last word."""
    secret: ObjectKey | None = None
    verify: bool = False
    depth: int = DEFAULT_DEPTH
    name: str | Template = ""
    send_name: bool | None = None
    versions: tuple[TlsVersion, ...] = TlsSettings().versions
    ciphers: str = ""
    http_version: None = None
    """There is no choice."""
    fastcgi_index: str = ""
    fastcgi_params: ObjectKey | None = None
    fastcgi_keeps: bool = False

    @property
    def asked(self) -> BackendProtocol | None:
        """The protocol that is asked for; None where nothing is said."""
        if self.protocol is None and self.secure_backends:
            return BackendProtocol.HTTPS
        return self.protocol

    @property
    def fastcgi(self) -> FastCgiSettings | None:
        """What is said of FastCGI; None where it is not spoken."""
        if self.asked is not BackendProtocol.FCGI:
            return None
        return FastCgiSettings(self.fastcgi_index, self.fastcgi_params, self.fastcgi_keeps)

    @property
    def tls_settings(self) -> TlsSettings:
        """What is asked of TLS, apart from what the Secret holds, and from a name that routes decide."""
        name = self.name if isinstance(self.name, str) else ""
        return TlsSettings(self.verify, self.depth, name, self.send_name, self.versions, self.ciphers)


def _speaks_fastcgi(settings: UpstreamSettings) -> bool:
    return settings.asked is BackendProtocol.FCGI


def _filters(settings: UpstreamSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what tells endpoints of FastCGI; nothing where another protocol is spoken."""
    asked = settings.fastcgi
    return () if asked is None else fastcgi_filters(asked, facts)


def _references(settings: UpstreamSettings, asking: ObjectKey) -> Iterator[Reference]:
    asked = settings.fastcgi
    return iter(()) if asked is None else fastcgi_references(asked, asking)


def _contents(settings: UpstreamSettings, asking: ObjectKey, found: Found) -> Iterator[Remark]:
    asked = settings.fastcgi
    return iter(()) if asked is None else fastcgi_contents(asked, asking, found)


def _remarks(settings: UpstreamSettings, names: frozenset[str]) -> Iterator[Remark]:
    """Tell of certificates that are judged here, and not in ingress-nginx: endpoints with one of their own making answer 502.

    And of what is said of FastCGI, where that is not spoken, or is not enough for PHP-FPM.
    """
    if settings.fastcgi is None:
        # Where no protocol is asked for at all, that is for lint to say.
        for name in sorted(names & {INDEX, PARAMS} if settings.asked is not None else ()):
            yield Remark(name, "has no effect without backend-protocol: FCGI")
    elif settings.fastcgi_params is None:
        message = (
            f"without {PARAMS} endpoints are told no SCRIPT_FILENAME, without which PHP-FPM finds no script"
        )
        yield Remark("backend-protocol", message)
    is_secure = settings.asked in (BackendProtocol.HTTPS, BackendProtocol.GRPCS)
    if is_secure and settings.verify and settings.secret is None:
        message = (
            "without proxy-ssl-secret ingress-nginx does not read it, and judges no certificate; here those of endpoints are"
            " judged by the authorities that the system trusts"
        )
        yield Remark("proxy-ssl-verify", message)


UPSTREAMS: Final = Family(
    name="upstreams",
    settings=UpstreamSettings(),
    acts="the protocol of endpoints, and TLS to them",
    remarks=_remarks,
    phases=(Phase.EDITS,),
    filters=_filters,
    by_path=True,
    by_path_where=_speaks_fastcgi,
    references=_references,
    contents=_contents,
    annotations={
        "backend-protocol": Annotation(
            "protocol",
            parse_protocol,
            values="`HTTP`, `HTTPS`, `AUTO_HTTP`, `GRPC`, `GRPCS`, `FCGI`; HTTP",
            meaning="what is spoken to endpoints",
            differs="with `FCGI`, endpoints are told `X-Forwarded-...` as by HTTP, and what is said of timeouts, errors, cookies"
            " and redirects holds, too",
        ),
        INDEX: Annotation(
            "fastcgi_index",
            parse_index,
            instead="no file is added",
            values="name of a file; none",
            meaning="what `$fastcgi_script_name` has behind a path that ends with a slash",
            risk=Risk.MEDIUM,
        ),
        PARAMS: Annotation(
            "fastcgi_params",
            parse_object_key,
            UNREADABLE_CONFIG_MAP,
            "the paths answer 503",
            values="a ConfigMap of the own namespace: its name, or `namespace/name`; none",
            meaning="tells endpoints of FastCGI its keys and values as params, over those of nginx's `fastcgi_params`;"
            " variables are rendered",
            differs="a value with a variable that is not known is told and not sent",
            risk=Risk.MEDIUM,
        ),
        "secure-backends": Annotation(
            "secure_backends",
            parse_boolean,
            True,
            "HTTPS is spoken",
            values="`true` or `false`; false",
            meaning="the old spelling of `backend-protocol: HTTPS`",
        ),
        "proxy-http-version": Annotation(
            "http_version",
            parse_http_version,
            instead="HTTP/1.1 is spoken",
            values="`1.1`",
            meaning="endpoints are spoken to in HTTP/1.1, as they are without it",
            differs="`1.0` is refused: endpoints get HTTP/1.1",
        ),
        "proxy-ssl-secret": Annotation(
            "secret",
            parse_secret,
            UNREADABLE_SECRET,
            "backends that are spoken to over TLS answer 503",
            values="`NAMESPACE/NAME`",
            meaning="the certificate shown to endpoints, and the authorities that theirs are judged by",
            differs="only Secrets of the own namespace",
            risk=Risk.MEDIUM,
        ),
        "proxy-ssl-verify": Annotation(
            "verify",
            parse_switch,
            True,
            "certificates are verified",
            values="`on` or `off`; off",
            meaning="whether certificates of endpoints are judged",
            differs="without `proxy-ssl-secret` ingress-nginx does not read it; here the authorities of the system judge",
        ),
        "proxy-ssl-verify-depth": Annotation(
            "depth", parse_depth, values="a number; 1", meaning="how many authorities may stand between"
        ),
        "proxy-ssl-name": Annotation(
            "name",
            parse_name,
            values="a name, perhaps with $host, $server_name, $namespace, $ingress_name or $service_name",
            meaning="whom the certificate of an endpoint is to be for",
            differs="$host is the host of the rule",
            risk=Risk.HIGH,
        ),
        "proxy-ssl-server-name": Annotation(
            "send_name",
            parse_switch,
            values="`on` or `off`; off",
            meaning="whether the name of `proxy-ssl-name` is sent to endpoints (SNI)",
        ),
        "proxy-ssl-protocols": Annotation(
            "versions",
            parse_versions,
            values="`TLSv1.2`, `TLSv1.3`",
            meaning="which versions are spoken to endpoints",
            differs="versions below 1.2 are refused",
        ),
        "proxy-ssl-ciphers": Annotation(
            "ciphers",
            parse_ciphers,
            values="suites by name",
            meaning="which suites are offered to endpoints",
            risk=Risk.MEDIUM,
        ),
    },
    options={
        "fastcgi-keep-connections": Annotation(
            "fastcgi_keeps",
            parse_boolean,
            values="`true` or `false`; false",
            meaning="whether connections to endpoints of FastCGI are kept between requests, each of which keeps a process of PHP-FPM",
        ),
    },
)

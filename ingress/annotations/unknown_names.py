"""Names below our prefix that mean nothing: what ingress-nginx never had, had once, or has in another spelling.

Whoever writes one believes that it works.  One wish is mostly written with several names (``rate-limit``,
``rate-limit-window`` …), and is told once for an object, with what does what is meant.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import Final

from ingress.annotations.contract.values import MAX_SHOWN_CHARACTERS
from ingress.model.frozen import frozen


@frozen
class Wish:
    """What is meant by *names*, and what there is for it.  A star at the end of a name stands for whatever follows."""

    names: tuple[str, ...]
    has: str
    """A sentence that goes on after a semicolon."""
    was: str = "ingress-nginx never had {}"
    """What is said of the names, with ``{}`` where they are meant."""


# fmt: off
OF_INGRESS_NGINX: Final = frozenset({
    "affinity", "affinity-canary-behavior", "affinity-mode", "allowlist-source-range", "app-root",
    "auth-always-set-cookie", "auth-cache-duration", "auth-cache-key", "auth-keepalive",
    "auth-keepalive-requests", "auth-keepalive-share-vars", "auth-keepalive-timeout", "auth-method",
    "auth-proxy-set-headers", "auth-realm", "auth-request-redirect", "auth-response-headers", "auth-secret",
    "auth-secret-type", "auth-signin", "auth-signin-redirect-param", "auth-snippet", "auth-tls-error-page",
    "auth-tls-match-cn", "auth-tls-pass-certificate-to-upstream", "auth-tls-secret", "auth-tls-verify-client",
    "auth-tls-verify-depth", "auth-type", "auth-url", "backend-protocol", "canary", "canary-by-cookie",
    "canary-by-header", "canary-by-header-pattern", "canary-by-header-value", "canary-weight",
    "canary-weight-total", "client-body-buffer-size", "configuration-snippet", "connection-proxy-header",
    "cors-allow-credentials", "cors-allow-headers", "cors-allow-methods", "cors-allow-origin",
    "cors-expose-headers", "cors-max-age", "custom-headers", "custom-http-errors", "default-backend",
    "denylist-source-range", "disable-proxy-intercept-errors", "enable-access-log", "enable-cors",
    "enable-custom-http-errors", "enable-global-auth", "enable-modsecurity", "enable-opentelemetry", "enable-owasp-core-rules",
    "enable-rewrite-log", "fastcgi-index", "fastcgi-params-configmap", "force-ssl-redirect",
    "from-to-www-redirect", "limit-allowlist", "limit-burst-multiplier", "limit-connections", "limit-rate",
    "limit-rate-after", "limit-rpm", "limit-rps", "limit-whitelist", "load-balance", "mirror-host",
    "mirror-request-body", "mirror-target", "modsecurity-snippet", "modsecurity-transaction-id",
    "opentelemetry-operation-name", "opentelemetry-trust-incoming-span", "permanent-redirect",
    "permanent-redirect-code", "preserve-trailing-slash", "proxy-body-size", "proxy-buffer-size",
    "proxy-buffering", "proxy-buffers-number", "proxy-busy-buffers-size", "proxy-connect-timeout",
    "proxy-cookie-domain", "proxy-cookie-path", "proxy-http-version", "proxy-max-temp-file-size",
    "proxy-next-upstream", "proxy-next-upstream-timeout", "proxy-next-upstream-tries", "proxy-read-timeout",
    "proxy-redirect-from", "proxy-redirect-to", "proxy-request-buffering", "proxy-send-timeout",
    "proxy-ssl-ciphers", "proxy-ssl-name", "proxy-ssl-protocols", "proxy-ssl-secret", "proxy-ssl-server-name",
    "proxy-ssl-verify", "proxy-ssl-verify-depth", "relative-redirects", "rewrite-target", "satisfy",
    "server-alias", "server-snippet", "service-upstream", "session-cookie-change-on-failure",
    "session-cookie-conditional-samesite-none", "session-cookie-domain", "session-cookie-expires",
    "session-cookie-max-age", "session-cookie-name", "session-cookie-partitioned", "session-cookie-path",
    "session-cookie-samesite", "session-cookie-secure", "ssl-ciphers", "ssl-passthrough",
    "ssl-prefer-server-ciphers", "ssl-redirect", "stream-snippet", "temporal-redirect",
    "temporal-redirect-code", "upstream-hash-by", "upstream-hash-by-subset", "upstream-hash-by-subset-size",
    "upstream-vhost", "use-port-in-redirects", "use-regex", "whitelist-source-range", "x-forwarded-prefix",
})
# fmt: on
"""All annotations that ingress-nginx has, under both names where it gave one a second
(https://kubernetes.github.io/ingress-nginx/user-guide/nginx-configuration/annotations-risk/)."""

_HAD: Final = "ingress-nginx does not have {} any more"

WISHES: Final = (
    Wish(
        (
            "rate-limit*",
            "ratelimit*",
            "limit-requests*",
            "limit-req*",
            "limit-conn*",
            "limit-window",
            "limit-burst",
            "requests-per-second",
            "throttle*",
        ),
        "requests are not limited by that, here or there: limit-rps, limit-rpm and limit-connections limit them for each client",
    ),
    Wish(
        ("global-rate-limit*",),
        "limit-rps and limit-rpm limit requests for each client, with --limits-shared by all replicas together",
        _HAD,
    ),
    Wish(
        (
            "websocket*",
            "enable-websocket*",
            "websockets*",
            "proxy-websocket*",
            "use-websocket*",
            "upgrade-websocket*",
        ),
        "none is needed: WebSockets pass on every path, and proxy-read-timeout and proxy-send-timeout say how long they may be silent",
    ),
    Wish(
        (
            "client-max-body-size",
            "max-body-size",
            "body-size",
            "request-body-size",
            "client-body-max-size",
            "max-request-body-size",
            "proxy-max-body-size",
            "client-body-size",
        ),
        "proxy-body-size says how large the body of a request may be",
    ),
    Wish(
        (
            "ssl-protocols",
            "tls-version*",
            "ssl-min-version",
            "min-tls-version",
            "tls-min-version",
            "ssl-version",
        ),
        "the versions of TLS are those of all hosts, and the operator's to say, by ssl-protocols in the ConfigMap or"
        " --tls-min-version; proxy-ssl-protocols is about TLS to endpoints",
    ),
    Wish(
        (
            "healthcheck*",
            "health-check*",
            "enable-health-check*",
            "enable-healthcheck*",
            "upstream-health-check*",
            "upstream-healthcheck*",
        ),
        "the readinessProbe of a pod decides whether it gets requests",
    ),
    Wish(
        ("upstream-max-fails", "upstream-fail-timeout", "max-fails", "fail-timeout"),
        "an endpoint that cannot be reached is left out for a while without it, and proxy-next-upstream says when another is tried",
        _HAD,
    ),
    Wish(
        ("hsts*", "enable-hsts*", "ssl-hsts*", "strict-transport-security"),
        "Strict-Transport-Security is the operator's to say, by hsts… in the ConfigMap or the options --hsts-…, and is sent by default",
    ),
    Wish(
        (
            "gzip*",
            "use-gzip",
            "enable-gzip",
            "enable-compression",
            "compression*",
            "brotli*",
            "enable-brotli",
            "use-brotli",
        ),
        "compression is the operator's to say, by use-gzip and enable-brotli in the ConfigMap or the options of these names",
    ),
    Wish(
        (
            "use-forwarded-headers",
            "enable-real-ip",
            "real-ip*",
            "proxy-real-ip-cidr",
            "set-real-ip-from",
            "compute-full-forwarded-for",
            "forwarded-for-header",
            "use-proxy-protocol",
            "proxy-protocol*",
            "forwarded-headers",
        ),
        "whom to believe about the address of a client is the operator's to say, by keys of these names in the ConfigMap"
        " or --trusted-proxies",
    ),
    Wish(
        (
            "add-headers",
            "set-headers",
            "response-headers",
            "custom-response-headers",
            "security-headers",
            "enable-security-headers",
            "x-frame-options",
            "x-content-type-options",
            "content-security-policy",
            "referrer-policy",
            "frame-options",
            "xss-protection",
            "permissions-policy",
        ),
        "custom-headers names a ConfigMap with fields for answers, and more_set_headers in a configuration-snippet sets one",
    ),
    Wish(
        (
            "proxy-set-header",
            "proxy-set-headers",
            "custom-request-headers",
            "request-headers",
            "proxy-headers",
        ),
        "proxy_set_header in a configuration-snippet sends a field to the endpoint; for all Ingresses it is proxy-set-headers in the ConfigMap",
    ),
    Wish(
        (
            "tls-secret",
            "ssl-certificate*",
            "ssl-cert*",
            "tls-certificate*",
            "certificate-secret",
            "ssl-secret",
        ),
        "the certificate of a host is the Secret that spec.tls names",
    ),
    Wish(
        (
            "force-https",
            "https-redirect",
            "redirect-to-https",
            "ssl-force-redirect",
            "redirect-https",
            "http-redirect",
            "force-ssl",
            "enable-ssl-redirect",
            "tls-redirect",
            "https-only",
        ),
        "ssl-redirect redirects hosts of spec.tls to HTTPS, by default, and force-ssl-redirect all others",
    ),
    Wish(
        (
            "sticky-session*",
            "session-affinity*",
            "enable-sticky-session*",
            "affinity-cookie*",
            "session-cookie",
            "sticky*",
            "session-sticky*",
        ),
        'affinity: "cookie" keeps a client at one endpoint, with session-cookie-name and its family',
    ),
    Wish(
        ("session-cookie-hash",),
        "affinity goes by the cookie alone, and which hash that takes is nobody's to choose",
        _HAD,
    ),
    Wish(
        (
            "connect-timeout",
            "read-timeout",
            "send-timeout",
            "proxy-timeout",
            "timeout*",
            "upstream-timeout",
            "request-timeout",
            "backend-timeout",
            "proxy-request-timeout",
            "upstream-connect-timeout",
            "upstream-read-timeout",
            "upstream-send-timeout",
        ),
        "proxy-connect-timeout, proxy-read-timeout and proxy-send-timeout say how long an endpoint may take",
    ),
    Wish(
        (
            "client-body-timeout",
            "client-header-timeout",
            "keep-alive*",
            "keepalive*",
            "upstream-keepalive*",
            "large-client-header-buffers",
            "client-header-buffer-size",
            "proxy-stream-timeout",
        ),
        "these are the operator's to say, in the ConfigMap or as options, for all hosts",
    ),
    Wish(
        (
            "cors-enable*",
            "cors-origin*",
            "cors-allow-origins",
            "cors-allowed-*",
            "allow-origin*",
            "cors-methods",
            "cors-headers",
            "cors",
            "cors-expose*",
        ),
        'enable-cors: "true" with cors-allow-origin, cors-allow-methods, cors-allow-headers and cors-expose-headers does that',
    ),
    Wish(
        (
            "whitelist",
            "ip-whitelist*",
            "allow-ip*",
            "allowlist",
            "ip-allowlist*",
            "whitelist-ip*",
            "source-range*",
            "allowed-ips",
            "whitelist-source-ip*",
            "ip-white-list*",
        ),
        "nobody is kept out by that, here or there: allowlist-source-range says who may come in",
    ),
    Wish(
        (
            "blacklist*",
            "ip-blacklist*",
            "denylist",
            "deny-ip*",
            "block-ip*",
            "blocklist*",
            "blacklist-source-range",
        ),
        "nobody is kept out by that, here or there: denylist-source-range says who may not come in",
    ),
    Wish(
        ("basic-auth*", "auth-basic*", "enable-auth", "auth-enabled", "enable-basic-auth", "auth-file"),
        "nobody is asked for a password by that, here or there: auth-type and auth-secret do it",
    ),
    Wish(
        (
            "rewrite-path",
            "path-rewrite",
            "url-rewrite",
            "rewrite",
            "rewrites",
            "target-rewrite",
            "rewrite-url",
        ),
        "rewrite-target replaces the path",
    ),
    Wish(
        ("add-base-url", "base-url-scheme"),
        "the bodies of answers are not changed; have the application know its base URL, by x-forwarded-prefix if it can",
        _HAD,
    ),
    Wish(("grpc-backend",), 'backend-protocol: "GRPC" does that', _HAD),
    Wish(("secure-verify-ca-secret",), "proxy-ssl-secret and proxy-ssl-verify do that", _HAD),
    Wish(
        ("http2-push-preload", "server-push", "http2-push"),
        "no browser takes pushed answers any more; Link fields reach it as they are",
        _HAD,
    ),
    Wish(
        ("http2", "enable-http2", "use-http2", "http2-enable*", "http-version"),
        "none is needed: clients that speak HTTP/2 get it, unless the operator says --no-http2",
    ),
    Wish(
        (
            "proxy-cache*",
            "enable-cache",
            "cache*",
            "enable-caching",
            "enable-proxy-cache",
            "browser-cache*",
            "server-cache*",
        ),
        "nothing is cached here; Cache-Control of the application, or expires in a configuration-snippet, lets browsers keep answers",
    ),
    Wish(
        ("lua-resty-waf*", "enable-waf", "waf*"),
        "there is no firewall of applications here",
        _HAD,
    ),
    Wish(("enable-influxdb", "influxdb*"), "metrics are at the admin port, for Prometheus", _HAD),
    Wish(
        ("enable-opentracing", "opentracing*"),
        "enable-opentelemetry says what there is about tracing",
        _HAD,
    ),
    Wish(
        ("ingress.class", "ingress-class", "class", "ingressclass"),
        "spec.ingressClassName names the class of an Ingress",
    ),
    Wish(
        ("cluster-issuer", "issuer", "tls-acme", "acme*"),
        "cert-manager reads cert-manager.io/cluster-issuer and cert-manager.io/issuer",
    ),
    Wish(
        ("server-tokens", "hide-server*", "server-header"),
        "none is needed: no answer names the server, or says its version",
    ),
    Wish(
        ("access-log*", "error-log*", "log-format*", "enable-logging", "disable-access-log", "log-level"),
        "enable-access-log turns the access log of an Ingress off; how a line looks is the operator's to say, by log-format-upstream",
    ),
    Wish(
        ("redirect*", "url-redirect", "permanent-redirect-url", "return", "return-code"),
        "permanent-redirect and temporal-redirect answer with a redirect",
    ),
    Wish(
        ("load-balancing*", "load-balancer*", "lb-*", "balance*", "upstream-balance*", "load-balance-*"),
        "load-balance chooses how requests are shared among endpoints, and upstream-hash-by sends equal ones to one endpoint",
    ),
    Wish(
        ("max-connections*", "max-conns", "upstream-max-conn*", "worker-connections", "connections-limit"),
        "limit-connections bounds the requests of a client that run at one time",
    ),
    Wish(
        ("enable-underscores-in-headers", "underscores-in-headers", "ignore-invalid-headers"),
        "that is the operator's to say, for all hosts, by enable-underscores-in-headers in the ConfigMap",
    ),
    Wish(
        ("retry*", "retries*", "proxy-retry*", "proxy-retries", "max-retries", "upstream-retries"),
        "proxy-next-upstream, proxy-next-upstream-tries and proxy-next-upstream-timeout say when another endpoint is tried",
    ),
    Wish(
        ("circuit-breaker*", "outlier-detection*"),
        "an endpoint that cannot be reached is left out for a while without it",
    ),
    Wish(
        ("ssl-verify*", "verify-client*", "client-cert*", "mtls*", "auth-tls"),
        "nobody is asked for a certificate by that, here or there: auth-tls-secret and auth-tls-verify-client do it",
    ),
    Wish(
        ("modsecurity", "modsecurity-enabled", "enable-modsec*", "owasp*"),
        "there is no firewall of applications here",
    ),
    Wish(
        ("health-path", "backend-path", "path-prefix", "strip-prefix*", "strip-path", "prefix-strip*"),
        'a path such as /api(/|$)(.*) with rewrite-target: "/$2" strips what a path begins with',
    ),
    Wish(
        ("default-backend-service", "error-page*", "custom-error-pages", "custom-errors", "error-pages"),
        "custom-http-errors names the statuses that default-backend answers in place of the Service",
    ),
)

_BY_NAME: Final = {name: wish for wish in WISHES for name in wish.names if not name.endswith("*")}
_BEGINNINGS: Final = sorted(
    ((name[:-1], wish) for wish in WISHES for name in wish.names if name.endswith("*")),
    key=lambda row: -len(row[0]),
)
_MOST_NAMES: Final = 8
"""How many names one message repeats, and how many that stand for nothing have a message of their own."""
_MOST_WISHES: Final = 256
"""How many names of one object are looked at for what they stand for."""
_SURE: Final = 0.88
"""How much two names have in common where one is written instead of the other, and not only asked about: ``canary-header``, and not
``proxy-pass-headers`` for ``auth-proxy-set-headers``."""


@frozen
class UnknownNames:
    """Some names of one object that mean nothing, and what to say of them."""

    names: tuple[str, ...]
    """As they were given, without prefix."""
    message: str
    meant: str = ""
    """The name of which it is a slip, so that it can be written instead; empty for none."""


def told_of(names: Sequence[str], known: Collection[str]) -> Iterator[UnknownNames]:
    """Yield what to say of *names*, one for each wish; *known* are the names of annotations that there are.

    It takes about a millisecond from one to the next, ten in all, however many and however long the names are, and yields no more than who
    reads it can use.
    """
    wishes: dict[Wish | None, list[str]] = {}
    for count, name in enumerate(names):
        wishes.setdefault(_wish(name) if count < _MOST_WISHES else None, []).append(name)
    for wish, some in wishes.items():
        if wish is not None:
            it = "it" if len(some) == 1 else "them"
            yield UnknownNames(tuple(some), f"{wish.was.format(it)}; {wish.has}")
            continue
        for name in some[:_MOST_NAMES]:
            is_looked_at = len(name) <= MAX_SHOWN_CHARACTERS
            close, meant = _closest(name, frozenset(known)) if is_looked_at else ("", "")
            perhaps = f"; perhaps {close} is meant" if close else ""
            yield UnknownNames((name,), f"ingress-nginx has no annotation of this name{perhaps}", meant)
        rest = tuple(some[_MOST_NAMES:])
        if rest:
            which = "annotation of this name" if len(rest) == 1 else "annotations of these names"
            yield UnknownNames(rest, f"ingress-nginx has no {which}")


@lru_cache(maxsize=1024)
def _closest(name: str, known: frozenset[str]) -> tuple[str, str]:
    """Return the one that is close to *name*, and once more if it is meant for sure; empty for none."""
    # A slip is copied from one object to the next, and to look for what is meant takes a millisecond.
    spelt = _spelt(name)
    close = next(iter(get_close_matches(spelt, known, 1, 0.75)), "")
    return close, close if SequenceMatcher(None, close, spelt).ratio() >= _SURE else ""


def _spelt(name: str) -> str:
    """Return *name* in the spelling that annotations have."""
    return name.lower().replace("_", "-")


def _wish(name: str) -> Wish | None:
    return _wish_of(_spelt(name[:MAX_SHOWN_CHARACTERS]))


@lru_cache(maxsize=1024)
def _wish_of(lowered: str) -> Wish | None:
    # The same few names stand on thousands of objects.
    found = _BY_NAME.get(lowered)
    if found is None:
        found = next((wish for beginning, wish in _BEGINNINGS if lowered.startswith(beginning)), None)
    return found


def shown_together(names: Sequence[str], show: Callable[[str], str]) -> str:
    """Return *names* for a message, each as *show* has it, and the first few of many."""
    more = len(names) - _MOST_NAMES
    return ", ".join(map(show, names[:_MOST_NAMES])) + (f" and {more} more" if more > 0 else "")

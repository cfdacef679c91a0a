"""What is told of the cases of several modules: differences by the names of the cases that show them."""

from collections.abc import Iterable
from dataclasses import replace

from conformance.ingress_nginx.case import Case, Told
from conformance.ingress_nginx.cases.documents import (
    ANNOTATIONS,
    AUTH,
    CANARIES,
    CLIENTS,
    ERRORS,
    EVERYBODY,
    FAILING,
    KEYS,
    MIRRORS,
    ORIGINS,
    OTHER_KEYS,
    SNIPPETS,
    TARGETS,
    TRUST,
    UNHONORED,
    UPSTREAM,
    VERSIONS,
)

SESSIONS = "docs/affinity-and-canaries.md#sessions"
OPERATORS = "docs/snippets.md#the-operators"
COMPRESSED = "docs/compression.md#which-answers"
CODINGS = "docs/compression.md: of which nginx knows the first alone"
UNKNOWN = "docs/configmap.md: ingress-nginx tells no port"
VALUES = "docs/configmap.md: it goes on with its default"
LAST_WORD = "docs/configmap.md#who-has-the-last-word"
FIELDS = "docs/configured-fields.md: ingress-nginx sends both"
RISK = "docs/options.md: an Ingress that asks for more answers 503"
LEFT_OUT = (Told("answer.status", EVERYBODY), Told("endpoints", EVERYBODY))
"""ingress-nginx leaves the whole Ingress out for such a value."""
CLOSED = (Told("answer.status", LAST_WORD), Told("endpoints", LAST_WORD))
"""What the value would guard is closed here, and open there."""

ROWS: tuple[tuple[str, tuple[Told, ...]], ...] = (
    (
        "forwarded-full-auth forwarded-auth-ok auth-foo auth-cookies auth-cache auth-cache-denied auth-two-paths auth-keepalive"
        " auth-keepalive-denied auth-large-answer auth-regex-path auth-rewrite auth-tls auth-beside-lists auth-satisfy-any smuggled"
        " everywhere-ok everywhere-401 everywhere-403 everywhere-500 everywhere-method everywhere-fields everywhere-cookie"
        " everywhere-cookie-off everywhere-signin everywhere-signin-param everywhere-redirect everywhere-snippet everywhere-off-word"
        " everywhere-beside-own everywhere-beside-signin everywhere-beside-fields everywhere-cache everywhere-challenge"
        " everywhere-but-location canary-auth-url auth-signin-fields auth-set-in-snippet auth-set-cookie-in-snippet auth-beside-regex"
        " auth-refused-beside-regex auth-one-path-open auth-and-app-root auth-and-pages auth-signin-and-pages auth-websocket"
        " auth-options-beside-cors satisfy-any-auth-url satisfy-any-auth-signin",
        (Told("endpoint.auth.field.*", AUTH),),
    ),
    ("everywhere-method-wrong everywhere-invalid everywhere-no-scheme", CLOSED),
    ("forwarded-field-full real-ip-field", (Told("endpoint.web.field.x-original-forwarded-for", TRUST),)),
    ("proxy-protocol", (Told("endpoint.web.field.x-forwarded-port", UNKNOWN, "*UNKNOWN"), Told("answer.ended", TRUST, "GET http://HOST/a"))),
    ("hsts-forwarded forwarded-host", (Told("endpoint.web.field.x-forwarded-port", TRUST),)),
    ("forwarded-protocols proxy-protocol-and-fields", (Told("endpoint.web.field.*", TRUST),)),
    ("forwarded-app-root behind-app-root behind-snippet-redirect", (Told("answer.field.location", TRUST),)),
    (
        "forwarded-errors default-with-errors errors-of-all-own ipv6-endpoint-errors pages-denied pages-password pages-large"
        " pages-none-there pages-rewritten pages-vhost pages-session pages-snippet pages-fields pages-hidden auth-and-pages"
        " basic-and-pages pages-and-body pages-regex pages-cors pages-canary pages-denied-by-list"
        " default-backend-none-there default-backend-of-two-paths session-cors-pages gzip-beside-pages",
        (Told("endpoint.errors.*", ERRORS),),
    ),
    ("pages-session pages-cors session-cors-pages", (Told("answer.field.access-control-*", ERRORS),)),
    ("session-cors-pages", (Told("answer.field.set-cookie", ERRORS),)),
    ("pages-regex", (Told("endpoints", ERRORS, "* */b"),)),
    ("pages-fields", (Told("answer.field.x-a", ERRORS),)),
    ("pages-of-two pages-of-own-service", (Told("endpoint.*.line", ERRORS),)),
    ("pages-of-own-service", (Told("answer.body", ERRORS),)),
    ("canary-errors pages-canary", (Told("*", ERRORS),)),
    ("underscores-both", (Told("endpoint.web.field.x_*", "docs/options.md: unless another spelling of theirs"),)),
    ("small-head", (Told("answer.status", OTHER_KEYS), Told("endpoints", OTHER_KEYS))),
    ("add-variables", (Told("answer.field.server", "docs/configured-fields.md: takes it away again"),)),
    ("boolean-2-ssl-redirect boolean-4-ssl-redirect", (Told("answer.status", VALUES), Told("endpoints", VALUES))),
    ("boolean-2-hsts", (Told("answer.field.strict-transport-security", VALUES),)),
    ("number-timeout", (Told("answer.status", VALUES),)),
    ("set-odd-fields fields-of-all-and-own", (Told("endpoint.web.field.x-*", FIELDS),)),
    ("add-on-answers", (Told("answer.status", ERRORS, "* */418"),)),
    ("default-backend-of-error", (Told("endpoint.rest.*", ERRORS),)),
    ("errors-odd errors-not-here", (Told("answer.status", ERRORS),)),
    ("no-tls-redirect no-tls-redirect-forced", (Told("*", "docs/options.md: which never are", "* */.well-known/acme-challenge/x"),)),
    ("redirect-code-wrong", (Told("answer.status", "docs/redirects.md#for-operators"),)),
    ("relative-permanent relative-snippet", (Told("answer.field.location", VERSIONS),)),
    ("brotli", (Told("answer.body", VERSIONS),)),
    ("block-beside-allow", (Told("*", KEYS),)),
    ("block-of-nobody block-www", (Told("answer.status", EVERYBODY),)),
    ("location-and-own", (Told("answer.field.x-a", OPERATORS),)),
    ("server-all-headers", (Told("answer.field.x-server", OPERATORS),)),
    ("next-of-all read-timeout-of-all ipv6-endpoint-breaks pages-breaks pages-slow", (Told("endpoints", FAILING),)),
    ("gzip-proxied", (Told("answer.field.*", COMPRESSED, "HEAD *"),)),
    ("gzip-etag", (Told("answer.field.*", COMPRESSED, "HEAD *"), Told("answer.field.vary", COMPRESSED, "GET *"))),
    ("gzip-q", (Told("answer.*", CODINGS, "* Accept-Encoding:?*"),)),
    ("gzip-no-transform", (Told("answer.*", COMPRESSED),)),
    ("http-gzip http-map", (Told("answer.*", UNHONORED),)),
    ("words-blocked risk-medium risk-high", (Told("answer.status", RISK),)),
    ("external-tls", (Told("endpoint.backend.server-name", UPSTREAM),)),
    ("resource", (Told("*", "docs/problems.md: and not what the default backend says", "* */static*"),)),
    ("alias-twice", (Told("*", "docs/further-hosts.md#whose-they-are"),)),
    ("tls-other-host", (Told("*", "docs/tls.md#which-hosts-redirect-and-which-insist", "* http://*"),)),
    (
        "cors-comma cors-wrong cors-wild-port cors-subdomains cors-subdomains-port cors-subdomains-several cors-two-stars"
        " cors-star-inside cors-bare-wildcard cors-beside-root canary-cors auth-options-beside-cors pages-cors",
        (Told("answer.field.vary", ORIGINS),),
    ),
    ("cors-beside-root", (Told("answer.field.access-control-*", "docs/cors.md#what-is-answered-here"),)),
    ("cors-schemes", (Told("answer.field.*", ORIGINS),)),
    (
        "wrong-permanent-redirect-2 wrong-upstream-vhost-0 wrong-custom-http-errors-0 wrong-custom-http-errors-1"
        " wrong-custom-http-errors-2 wrong-connection-proxy-header-0 wrong-connection-proxy-header-1 wrong-default-backend-0"
        " wrong-server-alias-1 wrong-proxy-read-timeout-0 wrong-proxy-connect-timeout-0",
        LEFT_OUT,
    ),
    ("target-argument pages-spaces pages-redirects mutual-error-path permanent-code-abc app-root-with-query temporal-uri", LEFT_OUT),
    ("pages-spaces pages-redirects", (Told("answer.*", EVERYBODY),)),
    ("mutual-match-wrong", (*LEFT_OUT[:1], Told("answer.certificate", EVERYBODY))),
    ("mutual-match-either mutual-match-any", (Told("answer.status", CLIENTS, "GET http://*"),)),
    ("redirect-to-variables redirect-of-all-cases", (Told("answer.field.*", EVERYBODY),)),
    ("vhost-6", (Told("endpoint.web.field.host", "docs/rewritten-fields.md#to-endpoints"),)),
    ("ssl-to-named", (Told("endpoint.tls-web.server-name", UPSTREAM),)),
    ("session-failing-moves", (Told("answer.status", SESSIONS),)),
    ("session-of-regex", (Told("answer.field.set-cookie", SESSIONS),)),
    ("denylist-satisfy", (Told("*", f"{ANNOTATIONS}: whom a `denylist-source-range` names stays out"),)),
    ("canary-header-twice", (Told("endpoints", VERSIONS),)),
    ("target-slash-end", (Told("*", TARGETS),)),
    ("set-twice set-host more-input-host", (Told("endpoint.web.field.*", SNIPPETS),)),
    ("set-of-client", (Told("endpoint.web.field.x-a", "docs/variables.md#of-the-request"),)),
    ("rewrite-302", (Told("answer.field.location", f"{ANNOTATIONS}: a redirect to a path names the port that was asked"),)),
    ("wrong-auth-type-0", LEFT_OUT[:1]),
    ("balance-wrong-own limit-wrong limit-allow-wrong", (Told("share.*", EVERYBODY),)),
    ("wrong-rewrite-target-2", (Told("answer.status", TARGETS), Told("endpoints", TARGETS))),
    ("wrong-rewrite-target-1", (Told("endpoint.web.line", TARGETS), Told("answer.body", TARGETS))),
    ("wrong-x-forwarded-prefix-0", (Told("endpoint.web.field.x-forwarded-prefix", f"{ANNOTATIONS}: it is sent where no path is rewritten"),)),
    ("canary-two", (Told("endpoints", CANARIES),)),
    ("session-negative-age session-unknown session-beside-app-cookie session-breaks", (Told("answer.field.set-cookie", SESSIONS),)),
    ("permanent-code-300 permanent-code-304", (Told("answer.status", "docs/redirects.md#redirects"),)),
    ("redirect-beside-rewrite list-rewritten", (Told("answer.status", EVERYBODY, "* */[xb]"),)),
    ("auth-beside-regex", (Told("endpoints", EVERYBODY, "* */x"),)),
    ("snippet-on-rest", (Told("answer.field.x-a", EVERYBODY, "* */b"),)),
    ("https-vhost-and-name", (Told("endpoint.tls-web.server-name", UPSTREAM),)),
    ("snippet-lists", (Told("*", SNIPPETS, "* from .2"),)),
    ("group-of-rest", (Told("*", TARGETS, "* */a"), Told("answer.status", EVERYBODY, "* */ab"))),
    ("named-group", LEFT_OUT),
    ("percent-in-path", (Told("endpoints", EVERYBODY),)),
    ("challenges", (Told("answer.status", "docs/options.md: which never are", "* */other"),)),
    ("framing-fields", (Told("endpoint.web.field.x-a", "docs/variables.md#of-the-request", "* TE:trailers"),)),
    ("behind-snippet", (Told("answer.field.x-seen", "docs/variables.md#of-the-request"),)),
    ("behind-session", (Told("answer.field.set-cookie", f"{ANNOTATIONS}: one that is told over HTTPS is so in any case"),)),
    ("return-200-empty", (Told("answer.field.content-type", SNIPPETS),)),
    ("server-beside-regex", (Told("*", SNIPPETS, "* */in/a"),)),
    ("headers-map-and-snippet", (Told("answer.field.x-a", SNIPPETS),)),
    ("headers-map-not-allowed", (Told("*", f"{ANNOTATIONS}: a field that is not allowed, are told and cost no 503"),)),
    ("uri-in-redirect", (Told("answer.field.location", SNIPPETS),)),
    ("forwarded-away real-ip-by-hand", (Told("endpoint.web.field.*", SNIPPETS),)),
    (
        "mirror-host-variable mirror-no-uri mirror-fixed mirror-slow canary-mirror mirror-rewritten mirror-no-body",
        (Told("endpoint.shadow.*", MIRRORS),),
    ),
    ("mirror-no-body", (Told("endpoints", MIRRORS, "POST *"),)),
)  # fmt: skip


def telling(cases: Iterable[Case]) -> tuple[Case, ...]:
    """The cases with what ``ROWS`` tell of each beside its own."""
    found: dict[str, tuple[Told, ...]] = {}
    for names, told in ROWS:
        for name in names.split():
            found[name] = (*found.get(name, ()), *told)
    return tuple(replace(case, told=(*case.told, *found.get(case.name, ()))) for case in cases)

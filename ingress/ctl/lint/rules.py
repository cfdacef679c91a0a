"""The rules: every finding is of one of these, and each says how much it matters.

Each reason of a problem is a rule (``docs/problems.md``), and lint has some of its own.  ``docs/lint-rules.md`` is made
from this table.
"""

from collections.abc import Mapping
from typing import Final

from ingress.ctl.lint.finding import Level
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen


@frozen
class Rule:
    """*name* is CamelCase, *means* a sentence for lists of rules, *advice* what helps wherever it is found, which may be empty."""

    name: str
    level: Level
    means: str
    advice: str = ""


CONVERTED: Final = "have kubectl convert write all of it in the new version"
_NOTE, _WARNING, _ERROR = Level.NOTE, Level.WARNING, Level.ERROR

_OF_REASONS: Final[Mapping[Reason, tuple[Level, str, str]]] = {
    Reason.MALFORMED_OBJECT: (
        _ERROR,
        "A field is not of the shape that its kind has.",
        "an API server would refuse it",
    ),
    Reason.MALFORMED_MANIFEST: (_ERROR, "A file cannot be read as manifests.", ""),
    Reason.UNRENDERED_MANIFEST: (
        _WARNING,
        "Another program has to make the manifests whole first; they are judged as they stand.",
        "render them, and lint what comes of it: kubectl kustomize … | ingressctl lint -",
    ),
    Reason.DUPLICATE_OBJECT: (
        _WARNING,
        "The same object stands twice otherwise among files that are applied together; the first one is judged. Of what is no Ingress it is a note.",
        "remove one of them",
    ),
    Reason.DEPRECATED_VERSION: (
        _WARNING,
        "The object is written in a version that clusters do not take any more; of the Gateway API, in one that newer releases may not have, which is a note.",
        f"{CONVERTED}, backends and pathType, too",
    ),
    Reason.MISSING_PATH_TYPE: (
        _WARNING,
        "A path lacks its `pathType`, without which an API server takes no Ingress.",
        "",
    ),
    Reason.INVALID_HOST: (
        _ERROR,
        "A host is no DNS name, so its rule or certificate counts for nothing.",
        "",
    ),
    Reason.INVALID_PATH: (_ERROR, "No request can match the path, or its type does not exist.", ""),
    Reason.UNSUPPORTED_PATH: (
        _ERROR,
        "The path is a regular expression that is not run here, and answers 503.",
        "write it without what looks around or back, or as plain paths",
    ),
    Reason.TOO_MANY_EXPRESSIONS: (
        _ERROR,
        "The path is a regular expression behind so many of its host that requests for it are answered 414.",
        "let expressions begin differently, join some of them, or move some to another host",
    ),
    Reason.INVALID_BACKEND: (
        _ERROR,
        "A backend names nothing that there could be; its path answers 503.",
        "",
    ),
    Reason.INVALID_RULE: (_ERROR, "A rule serves nothing.", "write paths, or a default backend"),
    Reason.PATH_CONFLICT: (
        _ERROR,
        "Another Ingress has the same host and path, or all paths of a rule without any, or this one has it twice; the message names who gets the requests.",
        "agree who has the path",
    ),
    Reason.DEFAULT_BACKEND_CONFLICT: (
        _ERROR,
        "Another Ingress gets the requests that this default backend is for.",
        "",
    ),
    Reason.SERVICE_NOT_FOUND: (
        _ERROR,
        "There is no such Service, so the path answers 503; a warning where it may be in files that were not read.",
        "",
    ),
    Reason.SERVICE_PORT_NOT_FOUND: (_ERROR, "The Service has no such port; the path answers 503.", ""),
    Reason.TARGET_PORT_NAMED: (
        _WARNING,
        "The backend names the targetPort of a port of its Service. It is served, as by ingress-nginx; the API asks for the port.",
        "name the port of the Service",
    ),
    Reason.EXTERNAL_NAME_FORBIDDEN: (
        _ERROR,
        "The Service is of type ExternalName, which is not allowed unless the operator says so; the path answers 503.",
        "",
    ),
    Reason.ENDPOINT_FORBIDDEN: (
        _ERROR,
        "An endpoint is where nobody may have the controller connect to.",
        "",
    ),
    Reason.RESOURCE_BACKEND: (_ERROR, "The backend is no Service; the path answers 503.", "name a Service"),
    Reason.SECRET_NOT_FOUND: (
        _ERROR,
        "There is no such Secret; a warning where it may be in files that were not read.",
        "",
    ),
    Reason.SECRET_FORBIDDEN: (_WARNING, "The controller may not read the Secret.", ""),
    Reason.INVALID_PASSWORDS: (_ERROR, "A Secret with passwords has what lets nobody in.", ""),
    Reason.CONFIG_MAP_NOT_FOUND: (
        _ERROR,
        "There is no such ConfigMap; a warning where it may be in files that were not read.",
        "",
    ),
    Reason.CONFIG_MAP_FORBIDDEN: (_WARNING, "The controller may not read the ConfigMap.", ""),
    Reason.INVALID_CERTIFICATE: (_ERROR, "The Secret holds no certificate that can be used.", ""),
    Reason.CERTIFICATE_EXPIRED: (_WARNING, "The certificate has ended.", "renew it"),
    Reason.CERTIFICATE_NOT_YET_VALID: (_WARNING, "The validity of the certificate has not begun.", ""),
    Reason.CERTIFICATE_NAME_MISMATCH: (
        _ERROR,
        "The certificate does not cover a host that it is to be shown for.",
        "issue one for the host, or correct the host",
    ),
    Reason.CERTIFICATE_CONFLICT: (_WARNING, "Another Ingress brings the certificate of the host.", ""),
    Reason.CLIENT_AUTHENTICATION_CONFLICT: (
        _ERROR,
        "Another Ingress decides which client certificates the host demands.",
        "",
    ),
    Reason.CANARY_WITHOUT_PRIMARY: (
        _WARNING,
        "A canary stands behind no path of what was read, so it gets no requests.",
        "lint it together with the Ingress that it stands behind",
    ),
    Reason.HOST_CONFLICT: (_WARNING, "The host belongs to another namespace, or is another Ingress's.", ""),
    Reason.PASSTHROUGH_CONFLICT: (_WARNING, "TLS of a host is to pass through and to be terminated.", ""),
    Reason.LISTENER_CONFLICT: (_ERROR, "Another object has the address of a listener.", ""),
    Reason.NOT_ALLOWED_BY_LISTENERS: (
        _ERROR,
        "No listener of the parent takes routes of this kind or namespace.",
        "have the owner of the Gateway allow it, or attach it elsewhere",
    ),
    Reason.NO_MATCHING_PARENT: (
        _ERROR,
        "The parent has no listener of the name or port that the route asks for.",
        "name a listener that there is",
    ),
    Reason.NO_MATCHING_LISTENER_HOSTNAME: (
        _ERROR,
        "No host of the route is one of the listener's.",
        "name a host that both have",
    ),
    Reason.UNSUPPORTED_VALUE: (
        _ERROR,
        "Part of the object asks for what this controller does not do, or what makes no sense.",
        "write what the message names",
    ),
    Reason.INCOMPATIBLE_FILTERS: (
        _ERROR,
        "Filters stand together that contradict each other.",
        "keep one of them",
    ),
    Reason.REFERENCE_NOT_PERMITTED: (
        _ERROR,
        "A reference to another namespace that no ReferenceGrant there permits.",
        "have the other namespace grant it by a ReferenceGrant",
    ),
    Reason.INVALID_KIND: (
        _ERROR,
        "A reference to an object of a kind that cannot stand there.",
        "refer to a Service, or as the message says",
    ),
    Reason.UNSUPPORTED_PROTOCOL: (
        _ERROR,
        "A protocol that this controller does not speak.",
        "name a protocol that the message names",
    ),
    Reason.PROTOCOL_CONFLICT: (
        _ERROR,
        "An older listener has the port for another protocol.",
        "use another port",
    ),
    Reason.HOSTNAME_CONFLICT: (
        _ERROR,
        "An older listener has the same port and hostname.",
        "use another hostname or port",
    ),
    Reason.INVALID_ROUTE_KINDS: (
        _ERROR,
        "A listener allows kinds of routes that it cannot take.",
        "name kinds that fit the protocol",
    ),
    Reason.INVALID_CLIENT_CERTIFICATE_REF: (
        _ERROR,
        "The certificate that a Gateway is to show to endpoints cannot be used.",
        "refer to a Secret of type kubernetes.io/tls",
    ),
    Reason.INVALID_CERTIFICATE_REF: (
        _ERROR,
        "A listener has no usable certificate.",
        "refer to a Secret of type kubernetes.io/tls",
    ),
    Reason.UNKNOWN_TLS_OPTION: (
        _WARNING,
        "A listener has TLS options, of which this controller knows none.",
        "remove them, if they were for another controller",
    ),
    Reason.PORT_UNAVAILABLE: (
        _ERROR,
        "The port of a listener cannot be had.",
        "use another port, or have the operator allow it",
    ),
    Reason.SERVICE_CONFLICT: (
        _WARNING,
        "The Service for the labels and annotations of a Gateway is somebody else's.",
        "give that Service another name, or delete it",
    ),
    Reason.UNSUPPORTED_ADDRESS: (
        _ERROR,
        "An address of a type that this controller does not know.",
        "ask for an IPAddress",
    ),
    Reason.ADDRESS_NOT_USABLE: (
        _ERROR,
        "An address that this controller does not have.",
        "ask for an address that there is, or for none",
    ),
    Reason.ADDRESS_NOT_ASSIGNED: (
        _ERROR,
        "All addresses for Gateways are taken.",
        "have the operator give more addresses (--gateway-address)",
    ),
    Reason.INVALID_PARAMETERS: (_ERROR, "Parameters that nothing is known of.", "remove parametersRef"),
    Reason.NOT_ALLOWED: (
        _ERROR,
        "The Gateway takes no listeners of this ListenerSet's namespace.",
        "have the owner of the Gateway allow it",
    ),
    Reason.PARENT_NOT_ACCEPTED: (
        _ERROR,
        "The Gateway of a ListenerSet is not accepted itself.",
        "see the problems of the Gateway",
    ),
    Reason.INVALID_CA_REF: (
        _ERROR,
        "Authorities that are missing or malformed.",
        "refer to a ConfigMap with the key ca.crt",
    ),
    Reason.INVALID_CA_KIND: (
        _ERROR,
        "Authorities of a kind that cannot hold them.",
        "refer to a ConfigMap with the key ca.crt",
    ),
    Reason.NO_VALID_CA: (_ERROR, "None of the authorities can be used.", "correct one of them"),
    Reason.POLICY_CONFLICTED: (
        _ERROR,
        "An older policy has the same target.",
        "keep one policy for a target",
    ),
    Reason.TARGET_NOT_FOUND: (
        _ERROR,
        "The target of a policy does not exist.",
        "name a Service that there is",
    ),
    Reason.UNSUPPORTED_VERSION: (
        _ERROR,
        "The definitions of the Gateway API in the cluster are of another version.",
        "install the version that the message names",
    ),
    Reason.CLASS_CONFLICT: (
        _WARNING,
        "Field and annotation name different classes; the field counts.",
        "remove the annotation, or have the field say the same",
    ),
    Reason.CATCH_ALL_DISABLED: (
        _ERROR,
        "The Ingress has a defaultBackend, so nothing of it is served with `--disable-catch-all`.",
        "write a rule with the path / for each host that is meant",
    ),
    Reason.INVALID_ANNOTATION: (_ERROR, "The value of an annotation is not one that is accepted.", ""),
    Reason.UNSUPPORTED_ANNOTATION: (
        _WARNING,
        "An annotation of ingress-nginx, or a part of it, is not honored; the Ingress is served without it.",
        "",
    ),
    Reason.UNKNOWN_ANNOTATION: (
        _WARNING,
        "ingress-nginx has no annotation of this name, so nothing was ever asked for by it.",
        "",
    ),
    Reason.ANNOTATION_NOTE: (_NOTE, "There is something to know about an annotation that is honored.", ""),
    Reason.INVALID_OPTION: (
        _ERROR,
        "The operator's ConfigMap has an option that there is not, or a value that it does not take.",
        "",
    ),
    Reason.OPTION_AT_START: (
        _WARNING,
        "The operator's ConfigMap has an option that is decided at the start.",
        "",
    ),
    Reason.UNSUPPORTED_OPTION: (
        _WARNING,
        "The operator's ConfigMap has a key of ingress-nginx that is not honored.",
        "",
    ),
    Reason.OPTION_NOTE: (_NOTE, "There is something to know about a key of the operator's ConfigMap.", ""),
    Reason.OPTION_OVERRIDDEN: (
        _WARNING,
        "The command line says something else of a key of the operator's ConfigMap.",
        "",
    ),
    Reason.WATCH_REFUSED: (_WARNING, "The API server refuses to have a kind listed or watched.", ""),
    Reason.TICKET_KEYS_USED_UP: (
        _WARNING,
        "Workers of the controller have no ticket keys of TLS in common any more.",
        "",
    ),
    Reason.WORKERS_ENDING: (_WARNING, "Workers of the controller end again and again.", ""),
}

_OWN: Final[list[Rule]] = []


def _rule(name: str, level: Level, means: str, advice: str = "") -> Rule:
    """Add a rule of lint's own."""
    rule = Rule(name, level, means, advice)
    _OWN.append(rule)
    return rule


CLOSED_PATHS: Final = _rule(
    "ClosedPaths",
    _ERROR,
    "What would keep somebody out is not honored, so the paths answer 503 rather than be open.",
    "remove the annotation, or guard the paths otherwise",
)
RULE_SHADOWED: Final = _rule(
    "RuleShadowed",
    _ERROR,
    "Every path of a rule belongs to others, so the rule serves nothing.",
    "remove the rule",
)
REGEX_NOT_ASKED: Final = _rule(
    "RegexNotAsked",
    _ERROR,
    "A path looks like a regular expression, and nobody asks for these on the host, so it is compared as it is written.",
    'use-regex: "true" makes expressions of the paths of the host',
)
REWRITE_TO_ONE_PATH: Final = _rule(
    "RewriteToOnePath",
    _WARNING,
    "`rewrite-target` sends every request below a path to one and the same path, since it repeats nothing of what came.",
)
REWRITE_TO_ITSELF: Final = _rule(
    "RewriteToItself",
    _NOTE,
    "`rewrite-target` is the path itself, and rewrites nothing here; ingress-nginx sends all that is below such a path to it.",
)
PATH_NEEDS_QUIRK: Final = _rule(
    "PathNeedsQuirk",
    _WARNING,
    "A path works as a regular expression only because another Ingress of the host asks for these.",
    'write use-regex: "true" on this Ingress, too',
)
PATH_MADE_EXPRESSION: Final = _rule(
    "PathMadeExpression",
    _NOTE,
    "Another Ingress of the host makes a regular expression of a plain path, which takes whatever begins like it.",
)
TYPE_MEANS_NOTHING: Final = _rule(
    "TypeMeansNothing",
    _NOTE,
    "Beside `use-regex` or `rewrite-target` a `pathType` of `Exact` or `Prefix` means nothing: the path takes whatever begins like it, in any case.",
    "a $ at the end of an expression makes it exact; (/|$) keeps it to whole elements",
)
SLASH_REDIRECT: Final = _rule(
    "SlashRedirect",
    _NOTE,
    "A path that ends in a slash answers a request without it by a redirect, as ingress-nginx does and the API does not.",
)
PATH_TAKEN: Final = _rule(
    "PathTakenByExpression",
    _WARNING,
    "Requests for a path go to a regular expression of another Ingress, whose text is longer.",
    "make the expression narrower, or the path longer",
)
PATH_SHADOWED: Final = _rule(
    "PathShadowed",
    _WARNING,
    "All requests for a path go to another path of the same Ingress.",
    "remove the path",
)
TLS_HOST_WITHOUT_RULE: Final = _rule(
    "TlsHostWithoutRule",
    _WARNING,
    "`spec.tls` names a host that no rule has, so nothing is served there.",
    "correct the host, or add a rule for it",
)
DEFAULT_BACKEND_OF_ALL: Final = _rule(
    "DefaultBackendOfAll",
    _WARNING,
    "The default backend of an Ingress with rules gets the requests for hosts that no rule names, too, which ingress-nginx keeps from it.",
    "give each rule a path / in place of spec.defaultBackend",
)
RULE_WITHOUT_PATHS: Final = _rule(
    "RuleWithoutPaths",
    _NOTE,
    "A rule without paths answers what no path of its host takes, such as by a redirect; in ingress-nginx the oldest Ingress of the host decides about that, and nobody's rule of all hosts.",
    "write the path / of type Prefix to have it in both, or take the rule out",
)
HOST_WITHOUT_TLS: Final = _rule(
    "HostWithoutTls",
    _WARNING,
    "An Ingress has `tls` for some of its hosts and not for this one, which shows the default certificate.",
    "add the host to spec.tls",
)
TLS_WITHOUT_SECRET: Final = _rule(
    "TlsWithoutSecret", _NOTE, "An entry of `tls` names no Secret, so its hosts show the default certificate."
)
HOST_IN_NAMESPACES: Final = _rule(
    "HostInTwoNamespaces",
    _NOTE,
    "Ingresses of several namespaces have rules for one host, which belongs to the namespace of the oldest.",
)
PLAIN_HTTP_BESIDE_TLS: Final = _rule(
    "PlainHttpBesideTls",
    _NOTE,
    '`ssl-redirect: "false"` serves hosts that have a certificate over plain HTTP, too.',
)
REDIRECT_WITHOUT_TLS: Final = _rule(
    "RedirectWithoutTls",
    _NOTE,
    "`force-ssl-redirect` sends visitors to HTTPS on a host without `tls`, which shows the default certificate.",
    "name the host in spec.tls, unless something in front of the controller terminates TLS",
)
NO_CLASS: Final = _rule(
    "NoClass",
    _WARNING,
    "The object has no class, so it is served only where the class is the default, or with `--watch-without-class`; it is judged as if it were.",
)
OTHER_CLASS: Final = _rule(
    "OtherClass", _NOTE, "The object is of another controller's class, and not judged."
)
UNKNOWN_CLASS: Final = _rule(
    "UnknownClass",
    _WARNING,
    "Nobody is known to serve the class of the object, which is not judged; a note beside Ingresses that are.",
)
MISTYPED_CLASS: Final = _rule(
    "MistypedClass",
    _ERROR,
    "Nobody is known to serve the class of the object, whose name is that of a class of ours with one letter mistyped.",
)
NOT_JUDGED: Final = frozenset({OTHER_CLASS.name, UNKNOWN_CLASS.name, MISTYPED_CLASS.name})
"""What is found of objects that are not ours, and are not judged for it."""
UNKNOWN_FIELD: Final = _rule(
    "UnknownField",
    _ERROR,
    "An Ingress has no field of this name, so what stands in it is asked of nobody: an API server drops it, or refuses the Ingress.",
)
MISTYPED_CONTROLLER: Final = _rule(
    "MistypedController",
    _ERROR,
    "The controller of an IngressClass or a GatewayClass is ours with one letter mistyped, so nobody serves the class.",
)
CLASS_BY_ANNOTATION: Final = _rule(
    "ClassByAnnotation",
    _NOTE,
    "The class is named by `kubernetes.io/ingress.class`, which is deprecated in favor of `spec.ingressClassName`.",
)
OTHER_PREFIX: Final = _rule(
    "OtherPrefix",
    _WARNING,
    "An annotation is called as one of ingress-nginx and has a prefix that nobody reads here.",
)
WITHOUT_EFFECT: Final = _rule(
    "WithoutEffect", _WARNING, "An annotation asks for nothing without another one, which is missing."
)
PASSWORDS_OVER_HTTP: Final = _rule(
    "PasswordsOverHttp",
    _WARNING,
    "Passwords are asked for on hosts that are served over plain HTTP.",
    "name the hosts in spec.tls, or force HTTPS by force-ssl-redirect",
)
AUTH_OVER_HTTP: Final = _rule(
    "AuthOverHttp",
    _WARNING,
    "Whoever may come in is decided, or signs in, over plain HTTP at another host.",
    "write https",
)
SHARED_VERDICTS: Final = _rule(
    "SharedVerdicts",
    _WARNING,
    "`auth-cache-key` holds nothing that tells visitors apart, so one is let in on another's verdict.",
    "use what they send to be known, as in $http_authorization or a cookie",
)
ANYONE_SATISFIES: Final = _rule(
    "AnyoneSatisfies",
    _ERROR,
    "`satisfy: any` beside a list that has all addresses, if only those of IPv4 or of IPv6, lets everybody in, without password or question.",
    "list the networks that need not show a password",
)
ALLOWS_EVERYBODY: Final = _rule(
    "AllowsEverybody",
    _WARNING,
    "A list has all addresses, if only those of IPv4 or of IPv6, so it keeps nobody out, keeps everybody out, or exempts everybody.",
)
CORS_EVERYBODY: Final = _rule(
    "CorsAllOriginsWithCredentials",
    _WARNING,
    "CORS allows all origins, and credentials besides, which browsers refuse.",
    "list the origins in cors-allow-origin, or set cors-allow-credentials to false",
)
CORS_NULL: Final = _rule(
    "CorsNullOrigin",
    _WARNING,
    "CORS allows the origin `null`, which any page can have that is in a sandbox or a file.",
    "remove null from cors-allow-origin",
)
UPSTREAM_NOT_VERIFIED: Final = _rule(
    "UpstreamNotVerified",
    _NOTE,
    "Endpoints are spoken to over TLS, and nobody looks whose certificates they have.",
    'proxy-ssl-verify: "on" with proxy-ssl-secret and proxy-ssl-name judges them',
)
OPEN_REDIRECT: Final = _rule(
    "OpenRedirect",
    _WARNING,
    "Whoever makes a link decides to which host a redirect leads.",
    "write the host as text, or as $host",
)
CRITICAL_RISK: Final = _rule(
    "CriticalRisk",
    _NOTE,
    "The annotation is of those that ingress-nginx grades Critical, and forbids unless told otherwise; here it is data, and never executed.",
)
BODY_WITHOUT_LIMIT: Final = _rule(
    "BodyWithoutLimit", _NOTE, "Request bodies may be of any size.", "say how large they may be, as in 100m"
)
ANY_CERTIFICATE: Final = _rule(
    "AnyCertificate",
    _WARNING,
    "Client certificates are asked for, and those of any authority are let in.",
    'auth-tls-verify-client: "on" judges them',
)
CERTIFICATE_NOT_REQUIRED: Final = _rule(
    "CertificateNotRequired",
    _NOTE,
    "Client certificates are asked for and not required, so it is for the endpoint to look whether there was one.",
)
MIRROR_OVER_HTTP: Final = _rule(
    "MirrorOverHttp",
    _WARNING,
    "Copies of requests, with all credentials in them, go to another host over plain HTTP.",
    "write https",
)

RULES: Final[Mapping[str, Rule]] = {
    rule.name: rule
    for rule in sorted(
        (*(Rule(reason.value, *_OF_REASONS[reason]) for reason in Reason), *_OWN), key=lambda rule: rule.name
    )
}
"""By name."""

"""What is asked, and what has to come back: the scenarios as a table, by feature.

The former tests (kubernetes-sigs/ingress-controller-conformance, "@conformance @release-1.19") asked this of every
controller.  Here are their facts; every feature has a namespace of its own.
"""

from dataclasses import dataclass

from conformance.cluster import Object

# The class of k8s/base.
CLASS_NAME = "nginx"
NAMED_PORT = "http"


@dataclass(frozen=True)
class Request:
    """To the address that the Ingress shows; an empty host is that address itself."""

    host: str
    path: str = "/"
    method: str = "GET"
    secure: bool = False


@dataclass(frozen=True)
class Exchange:
    """``service`` answers with 200, or nobody with 404 where it is empty."""

    scenario: str
    request: Request
    service: str = ""


@dataclass(frozen=True)
class Feature:
    """An Ingress and what is asked of it.

    ``secret``: the host of the certificate in its one TLS entry.  ``shows_address``: whether it is ours.  ``pods``: as many
    have to answer.  ``sized``: the answer has to say how long it is, and the fields that every answer has.
    """

    name: str
    spec: Object
    exchanges: tuple[Exchange, ...] = ()
    secret: str = ""
    shows_address: bool = True
    pods: int = 1
    sized: bool = False

    @property
    def services(self) -> list[str]:
        """The names of the Services that it leads to."""
        rules = [path["backend"] for rule in self.spec.get("rules", ()) for path in rule["http"]["paths"]]
        backends = [*rules, *([self.spec["defaultBackend"]] if "defaultBackend" in self.spec else ())]
        return sorted({str(backend["service"]["name"]) for backend in backends})

    @property
    def scenarios(self) -> list[str]:
        """Their names, of which one may be of several exchanges."""
        return list(dict.fromkeys(exchange.scenario for exchange in self.exchanges)) or [self.name]


def backend(service: str, port: Object | None = None) -> Object:
    return {"service": {"name": service, "port": port or {"number": 8080}}}


def rule(host: str, *paths: tuple[str, str, str]) -> Object:
    """A rule of paths, types and Services."""
    found = [{"path": path, "pathType": kind, "backend": backend(service)} for path, kind, service in paths]
    return {"host": host, "http": {"paths": found}}


def ask(host: str, *answers: tuple[str, str]) -> tuple[Exchange, ...]:
    """One scenario for each path and the Service that has to answer it."""
    return tuple(
        Exchange(f"{host} {path} -> {service or '404'}", Request(host, path), service)
        for path, service in answers
    )


ECHO = "echo-service"
DEFAULT_BACKEND = Feature(
    name="IngressDefaultBackend",
    spec={"defaultBackend": backend(ECHO)},
    exchanges=tuple(
        Exchange("IngressDefaultBackend", request, ECHO)
        for request in (
            Request("my-host"),
            Request("my-host", "/sub-path"),
            Request("some-host", method="POST"),
            Request("", "/resource", "PUT"),
            Request("some-host", "/resource", "DELETE"),
            Request("my-host", "/resource", "PATCH"),
        )
    ),
    sized=True,
)
NAMED = {"path": "/", "pathType": "Prefix", "backend": backend("foo-bar-com", {"name": NAMED_PORT})}
HOST_RULES = Feature(
    name="IngressHostRules",
    spec={
        "tls": [{"hosts": ["foo.bar.com"], "secretName": "certificate"}],
        "rules": [
            rule("*.foo.com", ("/", "Prefix", "wildcard-foo-com")),
            {"host": "foo.bar.com", "http": {"paths": [NAMED]}},
        ],
    },
    exchanges=(
        Exchange("https foo.bar.com -> foo-bar-com", Request("foo.bar.com", secure=True), "foo-bar-com"),
        *ask("foo.bar.com", ("/", "foo-bar-com")),
        *ask("subdomain.bar.com", ("/", "")),
        *ask("bar.foo.com", ("/", "wildcard-foo-com")),
        *ask("baz.bar.foo.com", ("/", "")),
        *ask("foo.com", ("/", "")),
    ),
    secret="foo.bar.com",
)
OTHER_CLASS = Feature(
    name="IngressClass",
    spec={"ingressClassName": "some-invalid-class-name", "defaultBackend": backend(ECHO)},
    shows_address=False,
)
LOAD_BALANCING = Feature(name="IngressLoadBalancing", spec={"defaultBackend": backend(ECHO)}, pods=10)
PATH_RULES = Feature(
    name="IngressPathRules",
    spec={
        "rules": [
            rule("exact-path-rules", ("/foo", "Exact", "foo-exact")),
            rule(
                "prefix-path-rules",
                ("/foo", "Prefix", "foo-prefix"),
                ("/aaa/bbb", "Prefix", "aaa-slash-bbb-prefix"),
                ("/aaa", "Prefix", "aaa-prefix"),
            ),
            rule("mixed-path-rules", ("/foo", "Prefix", "foo-prefix"), ("/foo", "Exact", "foo-exact")),
            rule(
                "trailing-slash-path-rules",
                ("/aaa/bbb/", "Prefix", "aaa-slash-bbb-slash-prefix"),
                ("/foo/", "Exact", "foo-slash-exact"),
            ),
        ]
    },
    exchanges=(
        *ask("exact-path-rules", ("/foo", "foo-exact"), ("/foo/", ""), ("/FOO", ""), ("/bar", "")),
        *ask("prefix-path-rules", ("/foo", "foo-prefix"), ("/foo/", "foo-prefix"), ("/FOO", "")),
        Exchange("prefix-path-rules /foo/, once more", Request("prefix-path-rules", "/foo/"), "foo-prefix"),
        *ask(
            "prefix-path-rules",
            ("/aaa/bbb", "aaa-slash-bbb-prefix"),
            ("/aaa/bbb/ccc", "aaa-slash-bbb-prefix"),
        ),
        *ask("prefix-path-rules", ("/aaa/ccc", "aaa-prefix"), ("/aaaccc", "")),
        *ask("mixed-path-rules", ("/foo", "foo-exact")),
        *ask("trailing-slash-path-rules", ("/aaa/bbb", "aaa-slash-bbb-slash-prefix")),
        *ask("trailing-slash-path-rules", ("/aaa/bbb/", "aaa-slash-bbb-slash-prefix"), ("/foo", "")),
    ),
)
FEATURES = (DEFAULT_BACKEND, HOST_RULES, OTHER_CLASS, LOAD_BALANCING, PATH_RULES)

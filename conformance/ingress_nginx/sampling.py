"""Sets of Ingresses and requests by chance, for routing: the same seed and number make the same ones.

Wherever a set says ``HOST`` its own host is meant.  What is made is what an API server takes, and what nginx takes: a configuration that it
refuses would be one for all sets that are served at the same time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from conformance.cluster import Object
from conformance.ingress_nginx.case import CLASS, PREFIX, Ask, backend_of

BATCH = 100
"""How many sets are served at the same time; the first of them alone may say something of hosts that nobody names."""

WAVES = 3
"""How many seconds apart the creation of the Ingresses of a set may be."""

SPACES = 2
SERVICES = tuple("abcdef")
"""Services with an endpoint, in each namespace; the port 80 is called http, and 8080 alt."""

CANARIES = tuple("ghij")
"""Those of canaries, each of one path: ingress-nginx ends where a Service of a canary is that of a path, too, or a canary has none."""

MISSING, EMPTY, OUTSIDE = "missing", "empty", "outside"
"""A Service that there is not, one without endpoints, and one of type ExternalName."""

KINDS = ("plain", "regex", "mixed", "redirect", "canary", "errors", "all")
PATHS = (
    "/",
    "/a",
    "/a/",
    "/a/b",
    "/a/b/",
    "/ab",
    "/a.b",
    "/A",
    "/a-b",
    "/b",
    "/b/",
    "/a/b/c",
    "/a%20b",
    "/a+b",
    "/a~b",
)
EXPRESSIONS = (
    "/a(/|$)(.*)",
    "/(a|b)/(.*)",
    "/a/.*",
    "/[a-z]+/b",
    "/.*",
    "/a$",
    "/a/?(.*)",
    "/a.b",
    "/b(/c)?",
    "/(.+)/x",
    "/([^/]+)",
    "/a/b",
    "/a/",
    "/",
    "/()(.*)",
    "/b/([0-9]+)/(.*)",
    "/A/(.*)",
)
TARGETS = ("/$1", "/$2", "/x/$1", "/x", "/", "/x/", "/y$2", "/$2/$1")


@dataclass(frozen=True)
class Placed:
    """An Ingress, the namespace that it is in (0 or 1) and the second in which it is made."""

    thing: Object
    space: int = 0
    wave: int = 0


@dataclass(frozen=True)
class Sample:
    """One set.  ``alone``: it says something of hosts that nobody names, so no other such set is served meanwhile."""

    name: str
    ingresses: tuple[Placed, ...]
    asks: tuple[Ask, ...]

    @property
    def host(self) -> str:
        return f"{self.name}.test"

    @property
    def alone(self) -> bool:
        return any(is_for_all(placed.thing) for placed in self.ingresses)


def is_for_all(thing: Object) -> bool:
    """Whether an Ingress says something of hosts that nobody names."""
    spec = thing["spec"]
    return not spec.get("rules") or any(not rule.get("host") for rule in spec["rules"])


def has_canary(one: Sample) -> bool:
    return any(f"{PREFIX}canary" in placed.thing["metadata"]["annotations"] for placed in one.ingresses)


def services(thing: Object) -> list[str]:
    """The Services that an Ingress names."""
    spec = thing["spec"]
    backends = [
        path["backend"] for rule in spec.get("rules", ()) for path in rule.get("http", {}).get("paths", ())
    ]
    if "defaultBackend" in spec:
        backends.append(spec["defaultBackend"])
    found = {backend["service"]["name"] for backend in backends}
    found.add(thing["metadata"]["annotations"].get(f"{PREFIX}default-backend", MISSING))
    return sorted(found - {MISSING})


def sample(seed: int, number: int, spaces: int = 1) -> Sample:
    """One of all sets of a seed, of Ingresses in so many namespaces."""
    chance = Random(f"{seed}/{number}")
    kind = chance.choice(KINDS)
    hosts = chance.sample(
        ("HOST", "a.HOST", "*.HOST", "*.a.HOST", "www.HOST", "b.a.HOST"), chance.randint(1, 3)
    )
    if number % BATCH == 0:
        hosts.append("")
    paths = chance.sample(PATHS, chance.randint(2, 5))
    slashed = frozenset(path for path in PATHS if f"{path}/" in PATHS and chance.random() < 0.3)
    names = chance.sample(range(100), chance.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12)))
    free = list(CANARIES)
    ingresses = tuple(
        Placed(
            ingress_of(chance, f"i{name:02}", kind, hosts, paths, slashed, free),
            chance.randrange(spaces) if chance.random() < 0.5 else 0,
            chance.randrange(WAVES),
        )
        for name in names
    )
    agree(ingresses)
    name = f"any-{seed}-{number}"
    return Sample(name, ingresses, asks_of(chance, ingresses))


def ingress_of(
    chance: Random,
    name: str,
    kind: str,
    hosts: Sequence[str],
    paths: Sequence[str],
    slashed: frozenset[str],
    free: list[str],
) -> Object:
    annotations = dict(annotations_of(chance, kind, hosts))
    if "canary" in annotations and free and any(hosts):
        only = path_of(chance, chance.choice(paths), slashed)
        only["backend"] = backend_of(free.pop())
        rule: Object = {"host": chance.choice([host for host in hosts if host]), "http": {"paths": [only]}}
        annotations.pop("from-to-www-redirect", None)
        return ingress(name, annotations, {"rules": [rule]})
    annotations = {key: value for key, value in annotations.items() if not key.startswith("canary")}
    expressions = "use-regex" in annotations or "rewrite-target" in annotations
    spec: Object = {}
    rules: list[Object] = []
    for host in chance.sample(hosts, min(len(hosts), falling(chance) + 1)):
        found = []
        for _ in range(falling(chance) + chance.randint(0, 1) + (chance.random() < 0.95)):
            path = chance.choice(EXPRESSIONS if expressions and chance.random() < 0.8 else paths)
            found.append(path_of(chance, path, slashed))
        rule = {"host": host} if host else {}
        if found:
            rule["http"] = {"paths": found}
        if rule:
            rules.append(rule)
    if rules:
        spec["rules"] = rules
    if not rules or chance.random() < 0.06:
        spec["defaultBackend"] = backend_of(chance.choice(SERVICES))
    if len(rules) > len([rule for rule in rules if "host" in rule]):
        # It would get what is for hosts that no set names, which is told, and there is nobody's.
        spec.pop("defaultBackend", None)
        # That is younger, and hosts of other sets would have their redirects so.
        annotations.pop("relative-redirects", None)
    named = [rule["host"] for rule in rules if "host" in rule]
    if named and chance.random() < (0.35 if kind in ("redirect", "all") else 0.08):
        spec["tls"] = [{"hosts": named}]
    if any(rule.get("host", "").startswith("*") for rule in rules):
        # nginx refuses the name that it would have.
        annotations = {key: value for key, value in annotations.items() if key != "from-to-www-redirect"}
    return ingress(name, annotations, spec)


def ingress(name: str, annotations: Mapping[str, str], spec: Object) -> Object:
    # Where no Ingress of a host has any annotation, ours goes by the API.
    given = {f"{PREFIX}{key}": value for key, value in (annotations or NEUTRAL).items()}
    metadata: Object = {"name": name, "annotations": given}
    spec = {"ingressClassName": CLASS, **spec}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def agree(ingresses: Sequence[Placed]) -> None:
    """nginx refuses a host with a path of two types, of which the younger one is there twice; ``/`` of type Prefix is always there."""
    found: dict[tuple[str, str], list[Object]] = {}
    for placed in ingresses:
        for rule in placed.thing["spec"].get("rules", ()):
            for path in rule.get("http", {}).get("paths", ()):
                if "host" not in rule:
                    # What an escape stands for is no path there, which is told, and hosts of other sets would ask for it.
                    path["path"] = path["path"].replace("%20", "")
                if path["path"] == "/" and "host" not in rule:
                    # Of type Exact, beside expressions, it would get here what is for hosts that no set names, which is told.
                    path["pathType"] = "Prefix"
                found.setdefault((rule.get("host", ""), path["path"]), []).append(path)
    for (_, text), paths in found.items():
        exact = [path for path in paths if path["pathType"] == "Exact"]
        others = len(paths) - len(exact) + (text == "/")
        if exact and others and (len(exact) > 1 or (others > 1 and text != "/")):
            for path in paths:
                path["pathType"] = "Prefix" if text == "/" else "Exact"


def falling(chance: Random) -> int:
    """0, seldom 1, more seldom 2."""
    return chance.choices((0, 1, 2), (6, 2, 1))[0]


def path_of(chance: Random, path: str, slashed: frozenset[str]) -> Object:
    """nginx refuses a host with a path of type Prefix with and without a slash at its end, so that a set has one of the two."""
    kind = chance.choice(("Prefix", "Prefix", "Exact", "ImplementationSpecific"))
    if kind != "Exact" and path in PATHS and path != "/":
        base = path.rstrip("/")
        path = f"{base}/" if base in slashed else base
    return {"path": path, "pathType": kind, "backend": backend_of(service_of(chance))}


def service_of(chance: Random) -> str:
    """A Service and its port."""
    if chance.random() < 0.9:
        return f"{chance.choice(SERVICES)}:{chance.choice(('80', '80', '80', 'http', '8080', 'alt'))}"
    return chance.choice((MISSING, EMPTY, f"{OUTSIDE}:8080", "a:nothing", "b:81"))


def annotations_of(chance: Random, kind: str, hosts: Sequence[str]) -> Mapping[str, str]:
    """Without prefix."""
    found: dict[str, str] = {}
    if kind in ("regex", "mixed", "all") and chance.random() < (0.8 if kind == "regex" else 0.3):
        if chance.random() < 0.7:
            found["use-regex"] = "true"
        if chance.random() < 0.5:
            found["rewrite-target"] = chance.choice(TARGETS)
    if kind in ("redirect", "all") and chance.random() < 0.6:
        found |= chance.choice(redirects(chance))
    if kind in ("canary", "all") and chance.random() < 0.35:
        found |= {"canary": "true", **chance.choice(canaries())}
    if kind in ("errors", "all") and chance.random() < 0.5:
        found |= chance.choice(errors(chance))
    if chance.random() < 0.06:
        found |= chance.choice(
            (
                {"upstream-vhost": "inside.test"},
                {"x-forwarded-prefix": "/p"},
                {"whitelist-source-range": "10.20.1.2/32"},
                {"denylist-source-range": "10.20.1.2/32"},
            )
        )
    return found


def redirects(chance: Random) -> Sequence[Mapping[str, str]]:
    return (
        {"app-root": chance.choice(("/a", "/app", "/a/"))},
        {"ssl-redirect": chance.choice(("true", "false"))},
        {"force-ssl-redirect": "true"},
        {"force-ssl-redirect": "true", "preserve-trailing-slash": "true"},
        {"permanent-redirect": "https://new.test/x"},
        {"permanent-redirect": "https://new.test/x/", "permanent-redirect-code": "308"},
        {"temporal-redirect": "https://now.test/y"},
        {"from-to-www-redirect": "true"},
        {"server-alias": chance.choice(("alias.HOST", "a.HOST", "alias.HOST,other.HOST", "www.HOST"))},
        {"relative-redirects": "true"},
    )


def canaries() -> Sequence[Mapping[str, str]]:
    return (
        {"canary-weight": "0"},
        {"canary-weight": "100"},
        {"canary-by-header": "X-Canary"},
        {"canary-by-header": "X-Canary", "canary-by-header-value": "yes"},
        {"canary-by-header": "X-Canary", "canary-by-header-pattern": "^y"},
        {"canary-by-cookie": "canary"},
        {"canary-by-header": "X-Canary", "canary-by-cookie": "canary", "canary-weight": "100"},
        {},
    )


def errors(chance: Random) -> Sequence[Mapping[str, str]]:
    return (
        {"custom-http-errors": "404"},
        {"custom-http-errors": "404,503", "default-backend": chance.choice(SERVICES)},
        {"default-backend": chance.choice(SERVICES)},
        {"custom-http-errors": "404,503"},
        {"default-backend": MISSING},
        {"default-backend": EMPTY},
    )


NEUTRAL = {"proxy-body-size": "1m"}

INSTANCES: Mapping[str, tuple[str, ...]] = {
    "/a(/|$)(.*)": ("/a", "/a/b/c", "/a/"),
    "/(a|b)/(.*)": ("/a/x", "/b/", "/a/b"),
    "/a/.*": ("/a/x/y", "/a/"),
    "/[a-z]+/b": ("/a/b", "/zz/b", "/a/bc"),
    "/.*": ("/", "/x"),
    "/a$": ("/a", "/a/"),
    "/a/?(.*)": ("/ax", "/a/x"),
    "/b(/c)?": ("/b/c", "/b"),
    "/(.+)/x": ("/q/x", "/a/b/x"),
    "/([^/]+)": ("/q", "/q/r"),
    "/()(.*)": ("/q/r",),
    "/b/([0-9]+)/(.*)": ("/b/12/x", "/b/1/", "/b/x/"),
    "/A/(.*)": ("/A/x", "/a/x"),
}


def asks_of(chance: Random, ingresses: Sequence[Placed]) -> tuple[Ask, ...]:
    """Requests for what the Ingresses say, and for what is near to it."""
    hosts, paths, headed = {"HOST"}, {"/", "/a"}, False
    for placed in ingresses:
        annotations = placed.thing["metadata"]["annotations"]
        headed = headed or f"{PREFIX}canary" in annotations
        hosts |= {name for name in annotations.get(f"{PREFIX}server-alias", "").split(",") if name}
        for rule in placed.thing["spec"].get("rules", ()):
            hosts.add(rule.get("host", "nobody.test"))
            paths |= {path["path"] for path in rule.get("http", {}).get("paths", ())}
            if f"{PREFIX}from-to-www-redirect" in annotations and rule.get("host"):
                hosts.add(
                    rule["host"].removeprefix("www.")
                    if rule["host"].startswith("www.")
                    else f"www.{rule['host']}"
                )
    ordered_hosts, ordered_paths = sorted(hosts), sorted(paths)
    found = {}
    for _ in range(min(24, 6 + 3 * len(ingresses))):
        host = host_asked(chance, chance.choice(ordered_hosts))
        written = chance.choice(ordered_paths)
        target = target_asked(chance, chance.choice(INSTANCES.get(written, (written,))))
        fields: tuple[tuple[str, str], ...] = ()
        if headed and chance.random() < 0.7:
            fields = (
                chance.choice(
                    (
                        ("X-Canary", "always"),
                        ("X-Canary", "never"),
                        ("X-Canary", "yes"),
                        ("Cookie", "canary=always"),
                        ("Cookie", "canary=never"),
                    )
                ),
            )
        ask = Ask(
            target, host=host, fields=fields, secure=chance.random() < 0.25, server_name=server_name(host)
        )
        found[ask.name] = ask
    return tuple(found.values())


def server_name(host: str) -> str:
    return host.partition(":")[0].rstrip(".").lower().replace("host", "HOST")


def host_asked(chance: Random, host: str) -> str:
    """A host that is the same, or below it, as clients write it."""
    if host.startswith("*."):
        host = f"{chance.choice(('x', 'y.x', 'a', 'www'))}{host[1:]}"
    elif chance.random() < 0.1:
        host = f"{chance.choice(('x', 'www'))}.{host}"
    if chance.random() < 0.85:
        return host
    return chance.choice(
        (f"{host}:80", f"{host}.", f"{host}:8080", f"{host}.:80", host[0].upper() + host[1:])
    )


def target_asked(chance: Random, path: str) -> str:
    """A path near to one, as clients write it."""
    path = path.replace(" ", "%20").replace("?", "%3F")
    if chance.random() < 0.5:
        path = chance.choice(
            (
                f"{path}/",
                path.rstrip("/") or "/",
                f"{path}x",
                f"{path.rstrip('/')}/x",
                f"{path.rstrip('/')}/x/y/",
                path.upper() if "%" not in path else path,
                path.replace("/a", "/%61", 1),
                f"/{path}",
                f"/x/..{path}",
                f"/.{path}",
                f"{path.rstrip('/')}/.",
                f"{path.rstrip('/')}/..",
                f"{path.rstrip('/')}//x",
                path[0] + path[1:].replace("/b", "%2Fb", 1),
                f"{path};v=1",
                f"{path}%20x",
                f"{path}.",
            )
        )
    return path + chance.choice(("", "", "", "?q=1", "?"))


def named(value: Any, host: str) -> Any:
    """The same with the host of the set in it."""
    if isinstance(value, str):
        return value.replace("HOST", host)
    if isinstance(value, Mapping):
        return {key: named(one, host) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(named(one, host) for one in value)
    return value

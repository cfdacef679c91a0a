"""Samples of the rules of an input: each host and path, and what lies beside them.  Pure.

They come in rounds: first every rule as it is written, then what is like it, so that a limit cuts what says least.
"""

from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote

from ingress.ctl.comparing.expression_paths import paths_beside
from ingress.ctl.comparing.samples import Chooser, Chosen, Sample
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import ObjectKey
from ingress.model.frozen import frozen
from ingress.routing.route import Match, Route
from ingress.translate.readers.ingress.objects import Ingress

UNKNOWN_HOST: Final = "unknown.ingressctl.invalid"
"""Nobody has it: names below ``invalid`` do not exist (RFC 6761 section 6.4)."""
UNKNOWN_PATH: Final = "/ingressctl-unknown-path"
ORIGIN: Final = "https://page.ingressctl.invalid"
_BROWSER: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_LABEL: Final = "ingressctl"
_SAFE: Final = "/!$&'()*+,;=:@-._~%"
_OTHER: Final = {"http": "https", "https": "http"}


@frozen
class _Rule:
    """A host and a path that somebody asked for; *route* where it is one of ours that is an expression."""

    host: str
    path: str
    route: Route | None
    asks_for_cors: bool = False


def generate(given: Input, methods: Iterable[str], limit: int) -> Chosen:
    """Return samples of *given*, at most *limit*; what *methods* names besides GET comes for the paths as they are written."""
    wanted = frozenset(methods)
    found: list[tuple[int, Sample]] = []
    for layer in given.layers:
        encrypted = encrypted_hosts(layer)
        rules = _rules(layer)
        for rule in rules:
            found += _of_rule(rule, scheme_of(rule.host, encrypted), wanted)
        for host in sorted({rule.host for rule in rules if rule.host}):
            found += _of_host(host, scheme_of(host, encrypted))
    for scheme in _OTHER:
        found.append((1, Sample(scheme, "GET", UNKNOWN_HOST, "/", of="no rule", what="unknown host")))
    found.sort(key=lambda one: one[0])
    chooser = Chooser(limit, wanted)
    for _, sample in found:
        if sample.method in wanted:
            chooser.add(sample)
    return chooser.chosen()


def sample_host(host: str) -> str:
    """Return a host that a rule for *host* takes."""
    if not host:
        return UNKNOWN_HOST
    return f"{_LABEL}{host[1:]}" if host.startswith("*.") else host


def encrypted_hosts(given: Input) -> frozenset[str]:
    """Return the hosts at which TLS is asked for, wildcards with their asterisk."""
    hosts: set[str] = {host for host, _ in given.snapshot.certificates.shown() if host}
    for ingress in _ingresses(given):
        for entry in ingress.tls:
            hosts.update(host.lower() for host in entry.hosts or [rule.host for rule in ingress.rules])
    return frozenset(hosts)


def scheme_of(host: str, encrypted: frozenset[str]) -> str:
    """Return what people use at *host*: https, if it is among those that are *encrypted*."""
    return "https" if host in encrypted or f"*.{host.partition('.')[2]}" in encrypted else "http"


def _ingresses(given: Input) -> Iterator[Ingress]:
    for (kind, key), verdict in given.route_objects():
        value = given.state.of(kind).get(key)
        if verdict.is_ours and isinstance(value, Ingress):
            yield value


def _rules(given: Input) -> list[_Rule]:
    """Return what routes there are, and the rules that became none."""
    cors: set[ObjectKey] = {
        ingress.key
        for ingress in _ingresses(given)
        if ingress.annotations.get(f"{given.options.annotations_prefix}/enable-cors", "").lower() == "true"
    }
    rules: dict[tuple[str, str], _Rule] = {}
    for route in sorted(given.snapshot.routes(), key=lambda one: (one.host, one.path, one.match.value)):
        is_open = route.match in (Match.EXACT, Match.PREFIX)
        asks = route.owner is not None and route.owner.key in cors
        rule = _Rule(route.host, route.path, None if is_open else route, asks)
        rules.setdefault((route.host, route.path), rule)
    for ingress in _ingresses(given):
        for one in ingress.rules:
            for path in one.paths or ():
                key = one.host.lower(), path.path or "/"
                if key[1].startswith("/"):
                    rules.setdefault(key, _Rule(*key, None, ingress.key in cors))
    return [rules[key] for key in sorted(rules)]


def _of_rule(rule: _Rule, scheme: str, wanted: frozenset[str]) -> Iterator[tuple[int, Sample]]:
    host = sample_host(rule.host)
    of = f"{rule.host or '*'}{rule.path}"

    def sample(target: str, what: str, method: str = "GET", scheme: str = scheme, **fields: str) -> Sample:
        named = tuple((name.replace("_", "-"), value) for name, value in fields.items())
        return Sample(scheme, method, host, quote(target, safe=f"{_SAFE}?"), named, of, what)

    if rule.route is None:
        base = rule.path
        varied = list(_variations(base))
    else:
        paths = paths_beside(rule.route)
        base = paths.taken[0] if paths.taken else "/"
        varied = [(2, path, "taken by the expression") for path in paths.taken[1:]]
        varied += [(2, path, "left by the expression") for path in paths.left]
        varied += list(_variations(base))
    yield 0, sample(base, "as written")
    yield 1, sample(base, f"over {_OTHER[scheme]}", scheme=_OTHER[scheme])
    for order, target, what in varied:
        yield order, sample(target, what)
    for method in sorted(wanted - {"GET"}):
        if method == "OPTIONS":
            yield (
                4,
                sample(base, "CORS preflight", "OPTIONS", Origin=ORIGIN, Access_Control_Request_Method="PUT"),
            )
        else:
            yield 4, sample(base, f"method {method}", method)
    yield 4, sample(base, "as a browser", Accept=_BROWSER, Accept_Encoding="gzip, br, zstd")
    if rule.asks_for_cors:
        yield 4, sample(base, "of a page of another origin", Origin=ORIGIN)


def _variations(path: str) -> Iterator[tuple[int, str, str]]:
    """Yield what lies beside *path*, each with its round and what it is."""
    stem = path.rstrip("/")
    if stem:
        yield (2, stem, "without trailing slash") if path.endswith("/") else (2, f"{path}/", "trailing slash")
        yield 2, f"{stem}/below", "below"
        yield 2, f"{stem}bar", "beside"
        yield 3, path.swapcase(), "other case"
        yield 3, _escaped(stem), "percent escape"
        yield 3, f"{stem}%2Fbelow", "escaped slash"
        yield 3, f"/{_LABEL}/..{path}", "dot segments"
        yield 3, f"{stem}/..", "dot segments at the end"
    else:
        yield 2, "/below", "below"
    yield 3, f"/{path}", "empty segment"
    yield 3, f"/.{path}", "dot segment"
    yield 3, f"{path}?a=1&b=x%20y&a=2", "query"


def _escaped(path: str) -> str:
    """Return *path* with its last letter as a percent escape."""
    at = next((at for at in range(len(path) - 1, 0, -1) if path[at].isascii() and path[at].isalnum()), 0)
    # The digits of an escape are none of the path's own letters.
    return f"{path[:at]}%{ord(path[at]):02X}{path[at + 1 :]}" if at and "%" not in path else path


def _of_host(host: str, scheme: str) -> Iterator[tuple[int, Sample]]:
    of = f"{host} (host)"
    named = sample_host(host)
    yield 1, Sample(scheme, "GET", named, "/", of=of, what="root")
    yield 2, Sample(scheme, "GET", named, UNKNOWN_PATH, of=of, what="unknown path")
    yield 3, Sample(scheme, "GET", named.upper(), "/", of=of, what="host in capital letters")
    if host.startswith("*."):
        yield 2, Sample(scheme, "GET", f"a.{named}", "/", of=of, what="two labels for the wildcard")
        yield 2, Sample(scheme, "GET", host[2:], "/", of=of, what="no label for the wildcard")

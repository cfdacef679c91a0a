"""``translate``: the cluster state in, one snapshot out.

Pure and total: the same state and options give the same snapshot, whatever the order
of the objects; nothing that a user can write makes it raise, and one bad object spoils
only itself.  Nothing is remembered from one call to the next.

The way through: choose the Ingresses that are ours (``classes``), read each by itself
(``rules``, and their annotations), read their certificates (``certificates``) and what they
ask of clients (``client_authentication``), see whose each host is (``ownership``) and what
becomes of its TLS (``host_tls``), bring them together host by host (``merging``), and make routes and backends of what is left.

This is what a translation means.  The controller keeps its snapshot up to date with
``incremental``, which takes the same steps for what a change concerns, and must come
to the same result.
"""

from collections import deque
from datetime import datetime
from functools import partial

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.backends import BackendReference
from ingress.model.objects import Ingress, ObjectKey
from ingress.model.state import ClusterState
from ingress.routing.route import Route
from ingress.routing.table import RouteTable
from ingress.translate.absent_secrets import secret_in
from ingress.translate.age import by_age
from ingress.translate.backends import backend_problems, default_backend_problems, resolve_backends
from ingress.translate.classes import judge_class
from ingress.translate.client_authentication import ClientCertificateRequest, guard_host, read_request
from ingress.translate.closing import close_host
from ingress.translate.handshake_settings import handshake_settings_problems, host_handshake_settings
from ingress.translate.host_routes import host_routes
from ingress.translate.host_tls import translate_tls
from ingress.translate.merging import ALL_HOSTS, block, falls, hosts_asked, merge_host
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import owner_of
from ingress.translate.passthrough import choose_passthrough
from ingress.translate.redirects import RedirectRule
from ingress.translate.rules import ParsedIngress, read_ingress
from ingress.translate.snapshot import Snapshot
from ingress.translate.upstream_tls import lookup_in, upstream_problems

__all__ = ["TranslateOptions", "translate"]


def translate(state: ClusterState, options: TranslateOptions, now: datetime) -> Snapshot:
    """Translate *state*; *now* (UTC) decides which certificates are valid."""
    problems = set(state.problems)
    ours: list[Ingress] = []
    for ingress in state.ingresses.values():
        verdict = judge_class(ingress, state, options)
        problems.update(verdict.problems)
        if verdict.is_ours:
            ours.append(ingress)
    ours.sort(key=by_age)

    annotations = AnnotationReader(options.annotations_prefix, passes_tls=options.ssl_passthrough)
    secured = lookup_in(state)
    requests: dict[ObjectKey, ClientCertificateRequest | None] = {}
    default = options.default_backend_service
    by_host: dict[str, list[ParsedIngress]] = {ALL_HOSTS: []}
    claiming: list[Ingress] = []
    for ingress in ours:
        parsed = read_ingress(ingress, annotations, has_global_default=default is not None)
        claiming.append(parsed.ingress)
        problems.update(parsed.problems)
        problems.update(backend_problems(parsed, state, options))
        problems.update(upstream_problems(parsed, secured, annotations))
        requests[ingress.key], found = read_request(parsed, partial(secret_in, state), annotations)
        problems.update(found)
        for host in hosts_asked(parsed):
            by_host.setdefault(host, []).append(parsed)
    problems.update(default_backend_problems(state, options))

    owners = {
        host: owner
        for host, all_parsed in by_host.items()
        if (owner := owner_of(host, all_parsed)) is not None
    }
    speakers = {} if options.shared_hosts else owners
    guards = {
        host: guard_host(
            host, all_parsed, lambda one: requests[one.ingress.key], annotations, speakers.get(host)
        )
        for host, all_parsed in by_host.items()
    }
    certificates, decisions, found = translate_tls(claiming, owners, state, options, now)
    problems.update(found)

    redirects = RedirectRule(options)
    for host, decision in decisions.items():
        deque(redirects.settle(host, decision, has_rule=host in owners), maxlen=0)
    closings = {
        host: close_host(host, all_parsed, is_shared=options.shared_hosts)
        for host, all_parsed in by_host.items()
    }
    merged = {host: merge_host(host, all_parsed, closings[host]) for host, all_parsed in by_host.items()}
    served = {host for host, one in merged.items() if one.claims}
    routes: list[Route] = []
    for host in sorted(merged):
        one = merged[host]
        problems.update(one.problems)
        problems.update(closings[host].problems)
        passing = choose_passthrough(host, by_host[host], one.claims, annotations, closings[host])
        problems.update(passing.problems)
        problems.update(guards[host].problems)
        problems.update(handshake_settings_problems(host, by_host[host], speakers.get(host), annotations))
        if default is None and not one.claims and falls(host, served):
            one = evolve(one, claims=(block(host, by_host[host]),))
        routes += host_routes(
            host, one, by_host[host], default, redirects, guards[host], passing.claim, closings[host]
        )
    references: dict[BackendReference, None] = dict.fromkeys(
        one for route in routes for one in route.backends
    )
    backends = resolve_backends(references, state, options)
    problems.update(problem for found in backends.values() for problem in found.problems)
    return Snapshot(
        table=RouteTable(routes),
        backends=backends,
        certificates=certificates,
        handshake_settings=HandshakeSettingsTable(
            {
                host: host_handshake_settings(all_parsed, guards[host].authentication, speakers.get(host))
                for host, all_parsed in by_host.items()
                if all_parsed
            }
        ),
        problems=tuple(sorted(problems)),
    )

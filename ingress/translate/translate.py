"""``translate``: the cluster state in, one snapshot out.

Pure and total: the same state and options give the same snapshot, whatever the order
of the objects; nothing that a user can write makes it raise, and one bad object spoils
only itself.  Nothing is remembered from one call to the next.

The way through: choose the objects that are ours and read each by itself, as the reader
of its kind does (``readers``), read their certificates (``certificates``) and what they
ask of clients (``client_authentication``), see whose each host is (``ownership``) and what
becomes of its TLS (``host_tls``), bring them together host by host (``merging``), and make routes and backends of what is left.

This is what a translation means.  The controller keeps its snapshot up to date with
``incremental``, which takes the same steps for what a change concerns, and must come
to the same result.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from typing import NamedTuple

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import ORDER, Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.network.listeners import MAIN
from ingress.model.stepwise import finished, known
from ingress.model.upstream.backends import BackendReference
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.absent_secrets import secret_in
from ingress.translate.age import by_age
from ingress.translate.annotation_reading import annotation_reader
from ingress.translate.claims import ParsedObject
from ingress.translate.endpoints.backends import backend_problems, default_backend_problems, resolve_backends
from ingress.translate.endpoints.upstream_tls import lookup_in, upstream_problems
from ingress.translate.found_references import (
    Finding,
    find_at_once,
    find_references,
    find_references_of_operator,
)
from ingress.translate.gateway.attached_routes import count_attached
from ingress.translate.gateway.claims import ListenerKey, is_of_gateways
from ingress.translate.gateway.handshakes import NO_HANDSHAKES, translate_handshakes
from ingress.translate.gateway.side_by_side import lost_hosts
from ingress.translate.gateway.table import gateway_table
from ingress.translate.hosts.alias_budgets import aliases_of, limits_of, routes_on
from ingress.translate.hosts.canaries import canary_hosts
from ingress.translate.hosts.decision import HostRules
from ingress.translate.hosts.further_hosts import Heard, further_hosts, hear
from ingress.translate.hosts.merging import ALL_HOSTS, falls, hosts_asked
from ingress.translate.hosts.redirects import RedirectRule
from ingress.translate.hosts.routes import FoundFor
from ingress.translate.hosts.tls import translate_tls
from ingress.translate.listeners import NONE_REFUSED, Refused, choose_listeners
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import owner_of
from ingress.translate.port_services import parse_port_services
from ingress.translate.readers.gateway.topology.ports import tables_beside
from ingress.translate.readers.reader import Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.replicas import find_replicas, replica_problems
from ingress.translate.snapshot import ListenerTable, Snapshot
from ingress.translate.tls.certificates import find
from ingress.translate.tls.client_authentication import ClientCertificateRequest, read_request

__all__ = ["TranslateOptions", "translate"]


def translate(
    state: ClusterState,
    options: TranslateOptions,
    now: datetime,
    kinds: Iterable[RouteKind] = ROUTE_KINDS,
    refused: Refused = NONE_REFUSED,
) -> Snapshot:
    """Translate *state*; *now* (UTC) decides which certificates are valid, *kinds* are those that are served.

    *refused* are listeners that could not be opened.
    """
    problems = set(state.problems)
    all_parsed: list[ParsedObject] = []
    for kind, reader in Readers(kinds, options):
        for value in state.of(kind).values():
            verdict = reader.judge(value, state)
            problems.update(verdict.problems)
            if verdict.is_ours:
                all_parsed.append(reader.read(value, verdict.related))
    all_parsed.extend(parse_port_services(options))
    all_parsed.sort(key=lambda parsed: by_age(parsed.owner))

    annotations = annotation_reader(options)
    secured = lookup_in(state)
    requests: dict[Owner, ClientCertificateRequest | None] = {}
    findings: dict[Owner | None, Finding] = {None: find_references_of_operator(state, annotations)}
    problems.update(findings[None].problems)
    for parsed in all_parsed:
        problems.update(parsed.problems)
        problems.update(finished(backend_problems(parsed, state, options)))
        problems.update(upstream_problems(parsed, secured, annotations, state))
        requests[parsed.owner], found = read_request(parsed, partial(secret_in, state), annotations)
        problems.update(found)
        findings[parsed.owner] = find_at_once(find_references(parsed, state, annotations))
        problems.update(findings[parsed.owner].problems)
    problems.update(default_backend_problems(state, options))
    problems.update(replica_problems(state, options))

    listeners, found = finished(choose_listeners(options.listeners, all_parsed, refused))
    problems.update(found)
    rules = _TableRules(
        options,
        annotations,
        lambda parsed: requests[parsed.owner],
        lambda owner: findings[owner].found,
    )
    names = {MAIN, *(one.table for one in listeners), *(name for one in all_parsed for name in one.tables)}
    handshakes, told_of_handshakes = translate_handshakes(
        (request for one in all_parsed for request in one.gateway_tls.handshakes),
        cache(lambda key: find(key, state, options)),
        state,
        now,
    )
    problems.update(told_of_handshakes)
    tables: dict[str, ListenerTable] = {}
    rejected: list[tuple[Owner, ListenerKey]] = []
    asking_in: dict[str, list[ParsedObject]] = {name: [] for name in names}
    for one in all_parsed:
        for name in one.tables:
            asking_in[name].append(one)
    for name, asking in asking_in.items():
        if is_of_gateways(name):
            tables[name], told, conflicts = gateway_table(name, asking, handshakes.get(name, NO_HANDSHAKES))
            rejected += conflicts.rejected
        else:
            tables[name], told = _table(asking, rules, state, now)
        problems.update(told)
    references: dict[BackendReference, None] = dict.fromkeys(
        one for table in tables.values() for route in table.routes.unordered() for one in route.backends
    )
    references.update(
        dict.fromkeys(one for table in tables.values() for stream in table.streams for one in stream.backends)
    )
    endpoint_rules = options.endpoint_rules.beside(listeners)
    backends = resolve_backends(references, state, evolve(options, endpoint_rules=endpoint_rules))
    problems.update(problem for found in backends.values() for problem in found.problems)
    replicas = find_replicas(state, options)
    main = tables.pop(MAIN)
    for name in tables_beside(options.listeners) & tables.keys():
        problems.update(lost_hosts(main.routes, tables[name].routes))
    return Snapshot(
        table=main.routes,
        backends=backends,
        certificates=main.certificates,
        handshake_settings=main.handshake_settings,
        problems=tuple(sorted(problems, key=ORDER)),
        listeners=listeners,
        others=tables,
        replicas=replicas.count,
        replica_addresses=replicas.addresses,
        attached=count_attached(all_parsed, rejected),
    )


def _hear_further(
    all_parsed: Sequence[ParsedObject],
    by_host: Mapping[str, Sequence[ParsedObject]],
    canaries: Mapping[str, Sequence[ParsedObject]],
    *,
    is_shared: bool,
) -> dict[str, Heard]:
    """Decide who has a say about the further hosts that *all_parsed* ask for; *by_host* has those with a rule, by host, and *canaries* these."""
    askers: dict[str, list[ParsedObject]] = {}
    by_namespace: dict[str, list[ParsedObject]] = {}
    for parsed in all_parsed:
        for host in further_hosts(parsed):
            askers.setdefault(host, []).append(parsed)
        if aliases_of(parsed):
            by_namespace.setdefault(parsed.owner.key.namespace, []).append(parsed)

    def routes_of(namespace: str, host: str) -> int:
        return routes_on(host, namespace, by_host.get(host, ()), canaries.get(host, ()), are_shared=is_shared)

    limits = {
        name: finished(limits_of(some, partial(routes_of, name))) for name, some in by_namespace.items()
    }
    return {
        host: finished(
            hear(
                host,
                by_host.get(host, ()),
                some,
                lambda one: known(by_host.get(one, ())),
                lambda one: known(canaries.get(one, ())),
                is_shared=is_shared,
                limits=limits.__getitem__,
            )
        )
        for host, some in askers.items()
    }


class _TableRules(NamedTuple):
    """What all tables are made by."""

    options: TranslateOptions
    annotations: AnnotationReader
    request_of: Callable[[ParsedObject], ClientCertificateRequest | None]
    found_for: FoundFor


def _table(
    all_parsed: Sequence[ParsedObject], by: _TableRules, state: ClusterState, now: datetime
) -> tuple[ListenerTable, set[Problem]]:
    """Make the table in which *all_parsed* ask for something, sorted oldest first."""
    naming: dict[str, list[ParsedObject]] = {ALL_HOSTS: []}
    for parsed in all_parsed:
        for host in hosts_asked(parsed):
            naming.setdefault(host, []).append(parsed)
    canaries: dict[str, list[ParsedObject]] = {}
    for parsed in all_parsed:
        for host in canary_hosts(parsed):
            canaries.setdefault(host, []).append(parsed)
            naming.setdefault(host, [])
    further = _hear_further(all_parsed, naming, canaries, is_shared=by.options.shared_hosts)
    by_host = {**{host: Heard(some) for host, some in naming.items()}, **further}
    owners = {
        host: owner
        for host, heard in by_host.items()
        if (owner := owner_of(host, heard.all_parsed)) is not None
    }
    certificates, decisions, found = translate_tls(all_parsed, owners, state, by.options, now)
    problems = {*found, *(problem for heard in further.values() for problem in heard.problems)}
    redirects = RedirectRule(by.options)
    for host, decision in decisions.items():
        deque(redirects.settle(host, decision, has_rule=host in owners), maxlen=0)
    rules = HostRules(by.options, by.annotations, by.request_of, redirects, by.found_for)
    decided = {
        host: finished(
            rules.decide(
                host,
                heard.all_parsed,
                owners.get(host),
                finished(heard.canaries(canaries.get(host, ()))),
            )
        )
        for host, heard in by_host.items()
    }
    served = {host for host, one in decided.items() if one.is_served}
    table: dict[str, HostRoutes] = {}
    for host in sorted(decided):
        problems.update(decided[host].problems)
        found_routes = finished(rules.routes(decided[host], would_fall=falls(host, served)))
        if found_routes.routes:
            table[host] = found_routes
    settings = {
        host: one.handshake_settings for host, one in decided.items() if one.handshake_settings is not None
    }
    return ListenerTable(
        RouteTable().patched(table), certificates, HandshakeSettingsTable(settings)
    ), problems

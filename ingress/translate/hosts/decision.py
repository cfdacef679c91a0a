"""The decision about one host: who is heard, what is closed, which routes it has, and what handshakes go by.

``translate`` and ``incremental`` differ in which hosts they decide about, and in nothing else.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from attrs import evolve

from ingress.annotations.annotations import AnnotationReader
from ingress.identity.server_names import HandshakeSettings
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem
from ingress.model.stepwise import Stepwise
from ingress.routing.table import NO_ROUTES, HostRoutes
from ingress.translate.claims import CLAIMS_AT_ONCE, ParsedObject
from ingress.translate.hosts.canaries import HostCanaries, stand_behind
from ingress.translate.hosts.closing import HostClosing, close_host
from ingress.translate.hosts.expressions_out_of_reach import tell_out_of_reach
from ingress.translate.hosts.handshake_settings import handshake_settings_problems, host_handshake_settings
from ingress.translate.hosts.merging import ALL_HOSTS, HostMerge, block, merge_host
from ingress.translate.hosts.passthrough import Passing, choose_passthrough
from ingress.translate.hosts.redirects import RedirectRule
from ingress.translate.hosts.routes import FoundFor, host_routes
from ingress.translate.hosts.server_snippets import ServerSnippets, server_snippets
from ingress.translate.hosts.slashes import slash_claims
from ingress.translate.options import TranslateOptions
from ingress.translate.tls.client_authentication import ClientCertificateRequest, HostGuard, guard_host


class HostDecision(NamedTuple):
    """What was decided about *host*; ``HostRules.routes`` makes routes of it."""

    host: str
    all_parsed: Sequence[ParsedObject]
    """Those that have a say about the host, sorted oldest first."""
    guard: HostGuard
    closing: HostClosing
    snippets: ServerSnippets
    merged: HostMerge
    passing: Passing | None
    """Whose backend gets TLS for the host as it is."""
    canaries: HostCanaries
    """What stands behind the claims."""
    handshake_settings: HandshakeSettings | None
    """None where nobody has a say about the host."""
    problems: tuple[Problem, ...]

    @property
    def is_served(self) -> bool:
        """Whether anybody got what he asked for."""
        return bool(self.merged.claims)


class HostRules:
    """Decides about hosts, one at a time.

    *request_of* says what an object asks of clients, *redirects* what became of TLS of hosts, *found_for* what was found
    of the Secrets and ConfigMaps that an object refers to.
    """

    def __init__(
        self,
        options: TranslateOptions,
        annotations: AnnotationReader,
        request_of: Callable[[ParsedObject], ClientCertificateRequest | None],
        redirects: RedirectRule,
        found_for: FoundFor,
    ) -> None:
        self._options = options
        self._annotations = annotations
        self._request_of = request_of
        self._redirects = redirects
        self._found_for = found_for

    def decide(
        self,
        host: str,
        all_parsed: Sequence[ParsedObject],
        owner: Owner | None,
        canaries: Sequence[ParsedObject] = (),
    ) -> Stepwise[HostDecision]:
        """Decide, in steps, about *host*; *all_parsed* have a say about it and are sorted oldest first, *owner* is whose it is.

        *canaries*, in the same order, have none, and want a part of it.
        """
        annotations, is_shared = self._annotations, self._options.shared_hosts
        speaker = None if is_shared else owner
        # Each of these goes through all of them, of whom there may be thousands, but looks at few closely.
        are_many = len(all_parsed) > CLAIMS_AT_ONCE
        guard = guard_host(host, all_parsed, self._request_of, annotations, speaker)
        if are_many:
            yield
        closing = yield from close_host(host, all_parsed, is_shared=is_shared, quirks=self._options.quirks)
        snippets = yield from server_snippets(host, all_parsed, annotations, is_shared=is_shared)
        merged = yield from merge_host(host, all_parsed, closing)
        unreached: tuple[Problem, ...] = ()
        if closing.claims:
            unreached = yield from tell_out_of_reach(host, merged.claims)
        passing = choose_passthrough(
            host,
            all_parsed,
            merged.claims,
            annotations,
            closing,
            is_guarded=guard.check is not None or snippets.of_host.keeps_out,
            is_shared=is_shared,
        )
        if are_many:
            yield
        settings_problems = handshake_settings_problems(host, all_parsed, speaker, annotations)
        if are_many:
            yield
        behind = yield from stand_behind(host, merged.claims, canaries, is_shared=is_shared)
        handshake_settings: HandshakeSettings | None = None
        if all_parsed:
            handshake_settings = host_handshake_settings(
                all_parsed, guard.authentication, speaker, self._options.ssl_ciphers
            )
        if are_many:
            yield
        return HostDecision(
            host,
            all_parsed,
            guard,
            closing,
            snippets,
            merged,
            passing.passing,
            behind,
            handshake_settings,
            (
                *guard.problems,
                *settings_problems,
                *closing.problems,
                *snippets.problems,
                *merged.problems,
                *unreached,
                *passing.problems,
                *behind.problems,
            ),
        )

    def routes(self, decision: HostDecision, *, would_fall: bool) -> Stepwise[HostRoutes]:
        """Return, in steps, the routes of a host; *would_fall* says that without any it would have those of other hosts."""
        host, all_parsed, merged = decision.host, decision.all_parsed, decision.merged
        if not all_parsed and host != ALL_HOSTS:
            return NO_ROUTES
        default = self._options.default_backend_service
        if default is None and all_parsed and not merged.claims and would_fall:
            merged = evolve(merged, claims=(block(host, all_parsed),))
        options = self._options
        slashed = slash_claims(merged.claims, all_parsed, is_shared=options.shared_hosts)
        return (
            yield from host_routes(
                host,
                merged,
                all_parsed,
                default,
                self._annotations,
                self._redirects,
                self._found_for,
                decision.guard,
                decision.passing,
                decision.closing,
                decision.snippets,
                decision.canaries,
                slashed if options.quirks else (),
            )
        )

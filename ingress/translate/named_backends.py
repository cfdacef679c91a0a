"""What objects are told about the backends that they name, and about TLS to these, kept up to date object by object.

Part of incremental translation.  A Service concerns whoever names it, a Secret or ConfigMap whoever has TLS spoken by it, and
a policy all others about the same Services, since only one of them counts, and routes where nothing can be sent without one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from ingress.annotations.annotations import AnnotationReader
from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise
from ingress.translate.caches.backend_cache import BackendCache, shared_key
from ingress.translate.caches.bookkeeping import Index, ProblemIndex
from ingress.translate.claims import SERVICE_KIND, ParsedObject
from ingress.translate.endpoints.backends import backend_problems
from ingress.translate.endpoints.upstream_tls import tls_sources, upstream_problems
from ingress.translate.gateway.app_protocols import needs_policy
from ingress.translate.gateway.backend_policies import catch_up, services_of
from ingress.translate.options import TranslateOptions

AT_ONCE: Final = 1000
"""Who names a Service is looked at so many at a time, and whom somebody names."""


class NamedBackends:
    """Keeps who names what of *all_parsed*; tells *backends* what changed, and problems to *problem_index*."""

    def __init__(
        self,
        options: TranslateOptions,
        annotations: AnnotationReader,
        all_parsed: Mapping[ObjectId, ParsedObject],
        backends: BackendCache,
        problem_index: ProblemIndex,
    ) -> None:
        self._options = options
        self._annotations = annotations
        self._parsed = all_parsed
        self._backends = backends
        self._problem_index = problem_index
        self._by_service: Index[ObjectKey, ObjectId] = Index()
        self._by_tls_source: Index[ObjectId, ObjectId] = Index()
        self._stale: dict[ObjectId, None] = {}
        # Services about which a policy came, went or is another.
        self._policed: dict[ObjectKey, None] = {}

    def object_changed(
        self,
        object_id: ObjectId,
        before: ParsedObject | None,
        after: ParsedObject | None,
        state: ClusterState,
    ) -> Iterator[None]:
        """Note, in steps, that an object asked for *before* and asks for *after*; None where it is not served."""
        named_before = yield from _services_named(before, state)
        named_after = yield from _services_named(after, state)
        yield from self._by_service.replacing(object_id, named_before, named_after)
        had = tls_sources(before)
        self._by_tls_source.replace(object_id, had, tls_sources(after))
        for source in had:
            if source not in self._by_tls_source:
                self._backends.forget(source)
        self._policed |= {**_policed_services(before), **_policed_services(after)}
        self._stale[object_id] = None

    def service_changed(self, service: ObjectKey) -> None:
        """Note that *service* is another one."""
        self._stale.update(dict.fromkeys(self._by_service.get(service)))
        self._backends.service_changed(service)

    def source_changed(self, source: ObjectId) -> None:
        """Note that *source*, a Secret or a ConfigMap, is another one."""
        self._stale.update(dict.fromkeys(self._by_tls_source.get(source)))
        self._backends.source_changed(source)

    def round(self, state: ClusterState) -> Iterator[None]:
        """Find out what to tell, for one object a step, or for a part of a large one."""
        yield from catch_up(state)
        while self._policed:
            service, _ = self._policed.popitem()
            yield from self._policies_changed(service, state)
            yield
        while self._stale:
            object_id, _ = self._stale.popitem()
            parsed = self._parsed.get(object_id)
            problems: tuple[Problem, ...] = ()
            if parsed is not None:
                problems = yield from backend_problems(parsed, state, self._options)
                problems += upstream_problems(
                    parsed, lambda request: self._backends.complete(request, state), self._annotations, state
                )
            yield from self._problem_index.putting(("backends", object_id), problems)
            yield
        # A dictionary that was emptied keeps the room that it had.
        self._stale, self._policed = {}, {}

    def _policies_changed(self, service: ObjectKey, state: ClusterState) -> Iterator[None]:
        """Have all be told anew that policies about *service* concern: the other policies, and routes if nothing is sent without one."""
        self._backends.service_changed(service)
        concerns_routes = needs_policy(state.services.get(service))
        for number, one in enumerate(tuple(self._by_service.get(service)), 1):
            if concerns_routes or self._is_policy(one):
                self._stale[one] = None
            if not number % AT_ONCE:
                yield

    def _is_policy(self, object_id: ObjectId) -> bool:
        parsed = self._parsed.get(object_id)
        return parsed is not None and parsed.policy is not None


def _services_named(parsed: ParsedObject | None, state: ClusterState) -> Stepwise[dict[ObjectKey, None]]:
    """Find, in steps, the Services that *parsed* names, each once."""
    services: dict[ObjectKey, None] = {}
    last: object = None
    named = () if parsed is None else parsed.named_backends()
    for number, (_, reference) in enumerate(named, 1):
        if reference is not last and reference.kind == SERVICE_KIND:
            services[shared_key(reference, state)] = None
        last = reference
        if not number % AT_ONCE:
            yield
    if parsed is not None and parsed.kept_service is not None:
        services[parsed.kept_service] = None
    return {**services, **_policed_services(parsed)}


def _policed_services(parsed: ParsedObject | None) -> dict[ObjectKey, None]:
    """Return the Services that *parsed* is a policy for."""
    return {} if parsed is None or parsed.policy is None else services_of(parsed.policy)

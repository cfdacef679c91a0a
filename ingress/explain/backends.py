"""The backends that a request may go to, and how their endpoints are chosen and waited for."""

from collections.abc import Iterator, Mapping

from ingress.annotations.requests.bodies import DEFAULT_MAX_BYTES
from ingress.explain.explanation import BackendSeen
from ingress.explain.objects import Objects
from ingress.filters import FilterSpec
from ingress.model.frozen import frozen
from ingress.model.serving.limits import ENDLESS, AskedTimeouts
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.balancing import Algorithm, Balancing
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.plain_data.values import words_of_link
from ingress.routing.backend_choice import with_endpoint
from ingress.routing.route import Route
from ingress.routing.variants import Choice, ChoiceFacts
from ingress.wording import first_of

_SHOWN_ENDPOINTS = 3
_WORDS = {
    Algorithm.ROUND_ROBIN: "in turn",
    Algorithm.LEAST_REQUESTS: "by the fewest requests under way",
    Algorithm.EWMA: "by the shortest time to answer",
}
_NO_STATE = BackendState(reason="no such backend")


@frozen
class Lead:
    """Where a choice leads in the end."""

    backend: BackendReference
    filters: tuple[FilterSpec, ...]
    """Those of that backend alone."""
    stands_in_for: BackendReference | None = None


class Backends:
    """What is known of backends: their *states*, and what *objects* say of those without endpoints."""

    def __init__(self, states: Mapping[BackendReference, BackendState], objects: Objects) -> None:
        self._states = states
        self._objects = objects

    def _state(self, backend: BackendReference) -> BackendState:
        return self._states.get(backend) or _NO_STATE

    def _unknown(self, backend: BackendReference) -> str:
        return "" if self._state(backend).endpoints else self._objects.why_unknown(backend)

    def _may_have_endpoints(self, backend: BackendReference) -> bool:
        return bool(self._state(backend).endpoints or self._unknown(backend))

    def is_broken(self, backend: BackendReference) -> bool:
        """Whether *backend* leads nowhere as it is written, whatever endpoints there are."""
        return self._state(backend).is_broken

    def lead_of(self, route: Route, choice: Choice, facts: ChoiceFacts) -> Lead:
        """Return where *choice* leads a request with *facts*: to what stands in for it, where only that has endpoints."""
        backend, filters = with_endpoint(choice, route, facts, self._may_have_endpoints)
        return Lead(backend, filters, None if backend == choice.backend else choice.backend)

    def seen(
        self, backend: BackendReference, share: float = 100.0, stands_in_for: BackendReference | None = None
    ) -> BackendSeen:
        """Return *backend*, which gets *share* percent of the requests."""
        state = self._state(backend)
        return BackendSeen(
            str(backend),
            backend.kind,
            backend.namespace,
            backend.name,
            str(backend.port),
            round(share, 2),
            _protocol(state),
            tuple(map(str, state.endpoints)),
            state.reason,
            self._unknown(backend),
            "" if stands_in_for is None else str(stands_in_for),
        )


def _protocol(state: BackendState) -> str:
    endpoints = state.endpoints
    if not endpoints:
        return ""
    link = endpoints[0].link_settings
    version = words_of_link(link)
    return f"{version} over TLS" if link is not None and link.tls is not None else version


def shown_backend(one: BackendSeen) -> str:
    """Say which backend it is."""
    if one.kind != "Service":
        return f"{one.kind} {one.namespace}/{one.name}"
    port = f" port {one.port}" if one.port else ""
    return f"Service {one.namespace}/{one.name}{port}"


def shown_place(one: BackendSeen, without: str = "503") -> str:
    """Say which backend it is, and at which endpoints; *without* says what becomes of those who come where there are none."""
    some = one.endpoints
    if not some:
        known = f"which has no endpoints ({without}): {one.reason}"
        return f"{shown_backend(one)}, {'whose endpoints are not known here' if one.unknown else known}"
    if len(some) == 1:
        return f"{shown_backend(one)} at {some[0]}"
    return f"{shown_backend(one)} at one of {first_of(some, _SHOWN_ENDPOINTS)}"


def settings_of(route: Route, serving: ServingSettings) -> Iterator[str]:
    """Yield how endpoints are chosen and waited for, where *route* asks for something or the operator does."""
    beside: dict[str, None] = {}
    for backend, balancing in route.balancing_beside:
        how = Balancing(serving.load_balance) if balancing is None else balancing
        beside[f"of {backend.kind} {backend.namespace}/{backend.name}, {_shared(how)}"] = None
    # Of one to which TLS is spoken at times both stand there.
    yield from beside
    if route.balancing is not None:
        yield _shared(route.balancing)
    elif serving.load_balance is not Algorithm.ROUND_ROBIN:
        yield f"endpoints are chosen {_WORDS[serving.load_balance]}"
    if route.timeouts is not None:
        yield from waits_of(route.timeouts)
    if route.retries != DEFAULT_RETRIES:
        yield _retries(route.retries)
    if route.max_body_bytes not in (0, DEFAULT_MAX_BYTES):
        yield f"request bodies of more than {route.max_body_bytes} bytes get 413"
    if not route.is_logged:
        yield "its requests have no lines in the access log"


def _shared(balancing: Balancing) -> str:
    if balancing.affinity is not None:
        cookie = balancing.affinity.cookie.decode("latin-1")
        return f"clients stay at an endpoint by the cookie {cookie} ({balancing.affinity.mode.value})"
    if balancing.hash_by is not None:
        among = "" if balancing.subset_size == 1 else f", among {balancing.subset_size}"
        return f"endpoints are chosen by a hash of what the request says (upstream-hash-by){among}"
    return f"endpoints are chosen {_WORDS[balancing.algorithm]}"


def waits_of(asked: AskedTimeouts) -> Iterator[str]:
    """Yield for how long endpoints are waited for, where *asked* says it."""
    if asked.request_seconds:
        yield f"all of a request may take {asked.request_seconds:g} s"
    if asked.attempt_seconds:
        yield f"each attempt at an endpoint may take {asked.attempt_seconds:g} s"
    if asked.read_seconds is not None and asked.read_seconds >= ENDLESS:
        yield "endpoints may be silent for as long as they like"
        return
    if asked.request_seconds or asked.attempt_seconds:
        return
    for seconds, what in (
        (asked.connect_seconds, "a connection to an endpoint is waited for"),
        (asked.read_seconds, "the next piece of an answer is waited for"),
        (asked.send_seconds, "an endpoint has to take some of the request within"),
    ):
        if seconds is not None:
            yield f"{what} {seconds:g} s"
    if asked.head_bytes is not None:
        yield f"the head of an answer may have {asked.head_bytes} bytes"


def _retries(rule: RetryRule) -> str:
    after = [
        word
        for word, is_asked in (
            ("error", rule.on_error),
            ("timeout", rule.on_timeout),
            ("backendRequest", rule.on_late),
            ("invalid_header", rule.on_invalid),
            ("non_idempotent", rule.non_idempotent),
        )
        if is_asked
    ]
    after += [f"http_{status}" for status in sorted(rule.statuses)]
    if not after or rule.max_tries == 1:
        return "no other endpoint is tried"
    if rule.returns:
        pause = f", {rule.backoff_seconds:g} s later at least" if rule.always_waits else ""
        return f"requests are tried again after {' '.join(after)}, {rule.max_tries} tries{pause}"
    tries = f", {rule.max_tries} tries" if rule.max_tries else ", without a limit of tries"
    seconds = f", within {rule.max_seconds:g} s" if rule.max_seconds else ""
    return f"another endpoint is tried after {' '.join(after)}{tries}{seconds}"

"""What Ingresses ask of the clients of their hosts, kept up to date.  Part of incremental translation.

A Secret is read when somebody asks for it, and again when it changes.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates import secret_asked
from ingress.model.objects import ObjectKey
from ingress.model.problems import Problem
from ingress.model.state import ClusterState
from ingress.translate.absent_secrets import secret_in
from ingress.translate.bookkeeping import Index, ProblemIndex
from ingress.translate.client_authentication import ClientCertificateRequest, read_request
from ingress.translate.rules import ParsedIngress


class ClientAuthenticationCache:
    """Keeps the demand of each Ingress that has one; tells the problems to *problem_index*."""

    def __init__(self, annotations: AnnotationReader, problem_index: ProblemIndex) -> None:
        self._annotations = annotations
        self._problem_index = problem_index
        self._requests: dict[ObjectKey, ClientCertificateRequest] = {}
        self._users: Index[ObjectKey, ObjectKey] = Index()
        self._stale: dict[ObjectKey, None] = {}

    def request_of(self, parsed: ParsedIngress) -> ClientCertificateRequest | None:
        """Return what *parsed* asks of clients, None for nothing."""
        return self._requests.get(parsed.ingress.key)

    def ingress_changed(
        self, key: ObjectKey, before: ParsedIngress | None, after: ParsedIngress | None
    ) -> None:
        """Note that the Ingress *key* was read anew; None where it is not served."""
        named_before, named_after = _secrets(before), _secrets(after)
        self._users.replace(key, named_before, named_after)
        self._stale[key] = None

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again, if anybody asks for it."""
        self._stale.update(dict.fromkeys(self._users.get(secret)))

    def read(
        self, all_parsed: Mapping[ObjectKey, ParsedIngress], state: ClusterState
    ) -> Iterator[ObjectKey | None]:
        """Read the demands that may be different, one a step; yield each Ingress whose demand is."""
        while self._stale:
            key, _ = self._stale.popitem()
            parsed = all_parsed.get(key)
            request: ClientCertificateRequest | None = None
            problems: tuple[Problem, ...] = ()
            if parsed is not None:
                request, problems = read_request(parsed, partial(secret_in, state), self._annotations)
            self._problem_index.put(("client authentication", key), problems)
            before = self._requests.pop(key, None)
            if request is not None:
                self._requests[key] = request
            yield None if request == before else key
        # A dictionary that was emptied keeps the room that it had.
        self._stale = {}


def _secrets(parsed: ParsedIngress | None) -> tuple[ObjectKey, ...]:
    if parsed is None:
        return ()
    secret = secret_asked(parsed.ingress.key, parsed.settings.client_certificates)
    return () if secret is None else (secret,)

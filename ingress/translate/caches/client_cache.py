"""What objects ask of the clients of their hosts, kept up to date.  Part of incremental translation.

A Secret is read when somebody asks for it, and again when it changes.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from ingress.annotations.annotations import AnnotationReader
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES, secret_asked
from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.translate.absent_secrets import secret_in
from ingress.translate.caches.bookkeeping import Index, ProblemIndex
from ingress.translate.claims import ParsedObject
from ingress.translate.tls.client_authentication import ClientCertificateRequest, read_request


class ClientAuthenticationCache:
    """Keeps the demand of each object that has one; tells the problems to *problem_index*."""

    def __init__(self, annotations: AnnotationReader, problem_index: ProblemIndex) -> None:
        self._annotations = annotations
        self._problem_index = problem_index
        self._requests: dict[ObjectId, ClientCertificateRequest] = {}
        self._users: Index[ObjectKey, ObjectId] = Index()
        self._stale: dict[ObjectId, None] = {}

    def request_of(self, parsed: ParsedObject) -> ClientCertificateRequest | None:
        """Return what *parsed* asks of clients, None for nothing."""
        return self._requests.get(parsed.owner.id) if self._requests else None

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> None:
        """Note that an object was read anew; None where it is not served."""
        named_before, named_after = _secrets(before), _secrets(after)
        self._users.replace(object_id, named_before, named_after)
        self._stale[object_id] = None

    def secret_changed(self, secret: ObjectKey) -> None:
        """Note that *secret* has to be read again, if anybody asks for it."""
        self._stale.update(dict.fromkeys(self._users.get(secret)))

    def read(
        self, all_parsed: Mapping[ObjectId, ParsedObject], state: ClusterState
    ) -> Iterator[ObjectId | None]:
        """Read the demands that may be different, one a step; yield each object whose demand is."""
        while self._stale:
            object_id, _ = self._stale.popitem()
            parsed = all_parsed.get(object_id)
            request: ClientCertificateRequest | None = None
            problems: tuple[Problem, ...] = ()
            if parsed is not None:
                request, problems = read_request(parsed, partial(secret_in, state), self._annotations)
            self._problem_index.put(("client authentication", object_id), problems)
            before = self._requests.pop(object_id, None)
            if request is not None:
                self._requests[object_id] = request
            yield None if request == before else object_id
        # A dictionary that was emptied keeps the room that it had.
        self._stale = {}


def _secrets(parsed: ParsedObject | None) -> tuple[ObjectKey, ...]:
    if parsed is None:
        return ()
    secret = secret_asked(parsed.owner.key, parsed.settings.of(CLIENT_CERTIFICATES))
    return () if secret is None else (secret,)

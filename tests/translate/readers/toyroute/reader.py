"""What a toy route asks for."""

from collections.abc import Hashable

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import TLS_KEYS, Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import Stepwise, known
from ingress.model.upstream.backends import BackendReference
from ingress.routing.hosts import check_rule_host
from ingress.routing.route import Match
from ingress.translate.claims import IN_MAIN, AskedListener, CertificateRequest, Claim, ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Verdict
from tests.translate.readers.toyroute.values import TOY_DOOR, ToyDoor, ToyRoute


class ToyRouteReader:
    """Reads toy routes."""

    def __init__(self, options: TranslateOptions) -> None:
        """Nothing of *options* is for toys."""

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """A toy route is ours if it names no door, or one that exists."""
        assert isinstance(value, ToyRoute)
        if not value.door:
            return Verdict(True)
        door = state.of(TOY_DOOR).get(ObjectKey(value.key.namespace, value.door))
        if door is None:
            message = f"there is no door {value.door}; the route is not served"
            return Verdict(False, (value.owner.problem(Reason.INVALID_RULE, message, "spec.door"),))
        assert isinstance(door, ToyDoor)
        return Verdict(True, (), door)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """The door decides."""
        assert isinstance(value, ToyRoute)
        return value.key.namespace, value.door

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """One claim, and perhaps a certificate."""
        assert isinstance(value, ToyRoute)
        owner, host = value.owner, value.host.lower()
        problems: tuple[Problem, ...] = ()
        hosts: tuple[str, ...] = (host,)
        fault = check_rule_host(value.host)
        if fault is not None:
            hosts = ()
            problems = (owner.problem(Reason.INVALID_HOST, f"host {fault}", "spec.host"),)
        backend = BackendReference(value.key.namespace, value.service, value.port)
        claims = tuple(
            Claim(owner, one, value.path, Match.PREFIX, backend, "spec", "spec.backend") for one in hosts
        )
        requests: tuple[CertificateRequest, ...] = ()
        if value.secret:
            secret = ObjectKey(value.key.namespace, value.secret)
            requests = (CertificateRequest(hosts, secret, "spec", "spec.host", "spec.secret"),)
        door = related.listener if isinstance(related, ToyDoor) else None
        return ParsedObject(
            owner,
            value,
            claims,
            hosts,
            None,
            DEFAULTS,
            problems,
            certificates=requests,
            rules_field="spec.host",
            service_at="",
            tables=IN_MAIN if door is None else (door.table,),
            listeners=() if door is None else (AskedListener(door, "spec.door"),),
            related=related,
        )

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """The certificate."""
        if kind is not Kind.SECRET:
            return {}
        assert isinstance(value, ToyRoute)
        return {ObjectKey(value.key.namespace, value.secret): TLS_KEYS} if value.secret else {}

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Their doors are missing, or their problems say why."""
        return known("no toy route has a door that exists")

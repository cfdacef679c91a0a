"""Which Secrets Gateways and ListenerSets need: whose they are is known by a look at a few objects, however many there are."""

from functools import partial
from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.secret_references import ObjectReferences
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.state import ClusterState
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.objects.gateways import Gateway, GatewayClass, ListenerSet, ListenerTls
from ingress.translate.readers.gateway.objects.names import (
    GATEWAY,
    GATEWAY_CLASS,
    LISTENER_SET,
    ObjectReference,
)
from ingress.translate.readers.reader import Readers
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from tests.fakes.counting import calls
from tests.translate.readers.gateway.gateway_values import ANY, CLASS, gateway, listener, listener_set

KINDS: dict[type, Kind] = {GatewayClass: GATEWAY_CLASS, Gateway: GATEWAY, ListenerSet: LISTENER_SET}
_CLASSES = ("ours", "other")
_FEW = range(4)


def secured(number: int) -> ListenerTls:
    return ListenerTls(certificates=(ObjectReference("", "Secret", "", f"t{number}"),))


def https(number: int, hostname: str = "") -> Gateway:
    """A Gateway that takes all ListenerSets, with a certificate of its own."""
    return gateway(
        f"g{number}", listener("a", 443, "HTTPS", hostname, tls=secured(number)), listener_sets=ANY
    )


def added(number: int, parent: int = 0) -> ListenerSet:
    """A ListenerSet of a Gateway, with a certificate of its own."""
    one = listener("b", 443, "HTTPS", f"h{number}.test", tls=secured(100 + number))
    return listener_set(f"s{number}", f"g{parent}", one)


def batch(*values: ClusterObject) -> dict[ObjectId, Projection | None]:
    return {(KINDS[type(one)], one.key): Projection(one) for one in values}


class GatewayReferencesTests(SynchronousTestCase):
    """Gateways by their classes, ListenerSets by their Gateways."""

    def test_same_as_translation(self) -> None:
        """Through any history that is needed which belongs to what translation finds to be ours."""
        options = TranslateOptions()
        readers = Readers(ROUTE_KINDS, options)
        random = Random(11)
        for _ in range(20):
            references = ObjectReferences(options)
            references.begin()
            objects: dict[Kind, dict[ObjectKey, ClusterObject]] = {kind: {} for kind in KINDS.values()}
            for _ in range(40):
                value = self.any_value(random)
                kind = KINDS[type(value)]
                if random.random() < 0.25:
                    objects[kind].pop(value.key, None)
                    references.changed({(kind, value.key): None})
                else:
                    objects[kind][value.key] = value
                    references.changed(batch(value))
                state = ClusterState(objects)
                expected: set[ObjectKey] = set()
                for of_kind, some in objects.items():
                    reader = readers[of_kind]
                    for one in some.values():
                        is_ours = reader.judge(one, state).is_ours
                        self.assertIs(readers.is_ours(of_kind, one, state), is_ours, one)
                        expected.update(reader.needs(one, Kind.SECRET) if is_ours else ())
                self.assertEqual({*references.needed()}, expected)

    def any_value(self, random: Random) -> ClusterObject:
        sort, number = random.choice("cgss"), random.choice(_FEW)
        if sort == "c":
            name, controller = random.choice(_CLASSES), random.choice((CLASS.controller, "example.com/other"))
            return evolve(CLASS, key=ObjectKey("", name), controller=controller)
        if sort == "g":
            return evolve(https(number), class_name=random.choice(_CLASSES))
        return added(number, random.choice(_FEW))

    def test_one_of_many(self) -> None:
        """One ListenerSet more takes as many calls beside hundreds as beside a few; so does a Gateway that changes."""
        found = []
        for count in (20, 400):
            references = ObjectReferences(TranslateOptions())
            references.begin()
            references.changed(batch(CLASS, https(0), *map(added, range(count))))
            while references.is_judging:
                references.judge_some()
            for change in (added(count), added(count + 1), https(0, "a.test")):
                found.append(calls(partial(references.changed, batch(change))))
        self.assertEqual(found[:3], found[3:])

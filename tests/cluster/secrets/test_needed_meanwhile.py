"""Tests for ``ingress.cluster.secrets.needed_secrets`` without any API server: what comes amid what, and very many at once."""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import cast

from attrs import Factory, define, evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.needed_secrets import ReferencedObjects
from ingress.cluster.secrets.secret_reader import ObjectReader
from ingress.cluster.secrets.secret_references import JUDGED_AT_ONCE, ObjectReferences
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Kind, ObjectKey, Projection, Secret
from ingress.model.cluster.secrets import TLS_KEYS, UPSTREAM_TLS_KEYS
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressClass, IngressTLS
from tests.cluster.source_case import Content


@define
class Reads:
    """A reader that answers nothing by itself."""

    asked: list[tuple[str, frozenset[str]]] = Factory(list)
    unread: int = 0
    forbidden: frozenset[ObjectKey] = frozenset()

    def read(self, key: ObjectKey, keys: frozenset[str]) -> None:
        self.asked.append((key.name, keys))

    def seen(self, key: ObjectKey) -> None:
        pass

    def touch(self, key: ObjectKey) -> None:
        pass

    def forget(self, key: ObjectKey) -> None:
        pass


KEY = ObjectKey("shop", "t")
OVER_TLS = {
    f"nginx.ingress.kubernetes.io/{name}": value
    for name, value in (("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "shop/t"))
}


class MoreIsNeededTests(SynchronousTestCase):
    """A Secret of which more keys are needed than were, while an event about it is under way."""

    def setUp(self) -> None:
        self.content, self.reads = Content(), Reads()
        self.turns: list[Callable[[], None]] = []
        self.references = ObjectReferences(TranslateOptions())
        self.objects = ReferencedObjects(
            self.content, self.references, WatchedObjects(), WatchMetrics(), self.turns.append
        )
        self.objects.attach(cast(ObjectReader, self.reads), None)

    def brings(self, version: bytes, asked: Iterable[str]) -> Projection:
        return Projection(Secret(KEY, "kubernetes.io/tls", {"tls.crt": version}, frozenset(asked)))

    def event(self, version: bytes, asked: Iterable[str] = TLS_KEYS) -> None:
        self.objects.changed({(Kind.SECRET, KEY): self.brings(version, asked)})

    def refer(self, *, over_tls: bool) -> None:
        ours = Ingress(
            ObjectKey("shop", "ours"),
            class_name="nginx",
            annotations=OVER_TLS if over_tls else {},
            tls=(IngressTLS(("a.example",), "t"),),
        )
        self.objects.changed({(Kind.INGRESS, ours.key): Projection(ours)})

    def in_force(self) -> tuple[bytes, frozenset[str]]:
        projection = self.content.objects[Kind.SECRET, KEY]
        assert isinstance(projection.value, Secret)
        return projection.value.content["tls.crt"], projection.value.asked

    def test_answer_comes_before_an_older_event(self) -> None:
        """What was read with all keys stays when an event comes that was read before more was needed; a later event counts."""
        self.objects.begin(list_follows=False)
        self.refer(over_tls=False)
        self.event(b"1")
        self.refer(over_tls=True)
        self.assertEqual(self.reads.asked[-1], ("t", UPSTREAM_TLS_KEYS))
        self.objects.deliver(KEY, self.brings(b"2", UPSTREAM_TLS_KEYS))
        self.event(b"2")
        self.assertEqual(self.in_force(), (b"2", UPSTREAM_TLS_KEYS))
        self.event(b"3", UPSTREAM_TLS_KEYS)
        self.assertEqual(self.in_force(), (b"3", UPSTREAM_TLS_KEYS))

    def test_answer_comes_after_the_event(self) -> None:
        """Until that answer is there, the event is what is known."""
        self.objects.begin(list_follows=False)
        self.refer(over_tls=False)
        self.event(b"1")
        self.refer(over_tls=True)
        self.event(b"2")
        self.assertEqual(self.in_force(), (b"2", TLS_KEYS))

    def test_less_is_needed_again(self) -> None:
        """An event with fewer keys counts when these are all that is needed by now."""
        self.objects.begin(list_follows=False)
        self.refer(over_tls=True)
        self.objects.deliver(KEY, self.brings(b"1", UPSTREAM_TLS_KEYS))
        self.refer(over_tls=False)
        self.event(b"2")
        self.assertEqual(self.in_force(), (b"2", TLS_KEYS))

    def test_class_of_very_many(self) -> None:
        """Where the class of very many Ingresses becomes ours, or ceases to be, their Secrets are read, and forgotten, some a turn."""
        count = 5 * JUDGED_AT_ONCE
        nginx = IngressClass(ObjectKey("", "nginx"), "other/controller")

        def turns(controller: str) -> list[int]:
            """Have the class be that controller's; return how many Secrets are needed after each turn."""
            changed = Projection(evolve(nginx, controller=controller))
            self.objects.changed({(Kind.INGRESS_CLASS, nginx.key): changed})
            needed = [len(self.references)]
            while self.turns:
                self.turns.pop()()
                needed.append(len(self.references))
            return needed

        self.objects.changed({(Kind.INGRESS_CLASS, nginx.key): Projection(nginx)})
        self.objects.begin(list_follows=False)
        for number in range(count):
            one = Ingress(
                ObjectKey("shop", f"i{number}"), class_name="nginx", tls=(IngressTLS(("a",), f"t{number}"),)
            )
            self.objects.changed({(Kind.INGRESS, one.key): Projection(one)})

        def check(found: list[int]) -> None:
            self.assertGreaterEqual(len(found), count // JUDGED_AT_ONCE)
            self.assertLessEqual(max(abs(b - a) for a, b in pairwise(found)), JUDGED_AT_ONCE)

        came = turns("k8s.io/ingress-nginx")
        check([0, *came])
        self.assertEqual(came[-1], count)
        self.assertEqual(len({name for name, _ in self.reads.asked}), count)
        brought = Secret(
            ObjectKey("shop", f"t{count - 1}"), "kubernetes.io/tls", {"tls.crt": b"1"}, frozenset(TLS_KEYS)
        )
        self.objects.deliver(brought.key, Projection(brought))
        went = turns("other/controller")
        check([count, *went])
        self.assertEqual(went[-1], 0)
        self.assertEqual(self.content.names(Kind.SECRET), set())

    def test_class_changes_twice(self) -> None:
        """Whoever waits to be judged is judged by what counts then, and is synced no sooner."""
        count = 3 * JUDGED_AT_ONCE
        nginx = IngressClass(ObjectKey("", "nginx"), "other/controller")
        for number in range(count):
            one = Ingress(
                ObjectKey("shop", f"i{number}"), class_name="nginx", tls=(IngressTLS(("a",), f"t{number}"),)
            )
            self.objects.changed({(Kind.INGRESS, one.key): Projection(one)})
        self.objects.changed({(Kind.INGRESS_CLASS, nginx.key): Projection(nginx)})
        self.objects.begin(list_follows=False)
        for controller in ("k8s.io/ingress-nginx", "other/controller"):
            changed = Projection(evolve(nginx, controller=controller))
            self.objects.changed({(Kind.INGRESS_CLASS, nginx.key): changed})
        self.objects.synced()
        self.assertEqual(self.content.synced_times, 0)
        while self.turns:
            self.turns.pop()()
        self.assertEqual((len(self.references), self.content.synced_times), (0, 1))

    def test_beginning_of_very_many(self) -> None:
        """Where very many are there at the beginning, a list is asked for behind the last one that is judged, so that it finds all needed."""
        count = 2 * JUDGED_AT_ONCE
        for number in range(count):
            one = Ingress(
                ObjectKey("shop", f"i{number}"), class_name="nginx", tls=(IngressTLS(("a",), f"t{number}"),)
            )
            self.objects.changed({(Kind.INGRESS, one.key): Projection(one)})
        needed: list[int] = []
        self.objects.begin(list_follows=True, judged=lambda: needed.append(len(self.references)))
        self.assertEqual(needed, [])
        while self.turns:
            self.turns.pop()()
        self.assertEqual((needed, self.reads.asked), ([count], []))

    def of_very_many(self) -> Ingress:
        """Return an Ingress that refers to more Secrets than are judged in a turn."""
        names = (f"t{number}" for number in range(3 * JUDGED_AT_ONCE))
        return Ingress(
            ObjectKey("shop", "i"), class_name="nginx", tls=tuple(IngressTLS(("a",), name) for name in names)
        )

    def test_stop_at_the_beginning(self) -> None:
        """Where the end comes before all were judged, no list is asked for any more, nothing read, and nobody is told of a sync."""
        one = self.of_very_many()
        self.objects.changed({(Kind.INGRESS, one.key): Projection(one)})
        judged: list[None] = []
        self.objects.begin(list_follows=False, judged=lambda: judged.append(None))
        self.objects.synced()
        self.objects.stop()
        self.reads.asked.clear()
        while self.turns:
            self.turns.pop()()
        self.assertEqual((judged, self.reads.asked, self.content.synced_times), ([], [], 0))

    def test_stop_amid_a_deletion(self) -> None:
        """The end may come while the Secrets of an Ingress that is gone are forgotten: nothing more is handed over."""
        one = self.of_very_many()
        self.objects.begin(list_follows=False)
        self.objects.changed({(Kind.INGRESS, one.key): Projection(one)})
        while self.turns:
            self.turns.pop()()
        for key in self.references.needed():
            brought = Secret(key, "kubernetes.io/tls", {"tls.crt": b"1"}, frozenset(TLS_KEYS))
            self.objects.deliver(key, Projection(brought))
        self.objects.changed({(Kind.INGRESS, one.key): None})
        self.objects.stop()
        self.content.changes.clear()
        while self.turns:
            self.turns.pop()()
        self.assertEqual(self.content.changes, [])

    def test_during_the_first_list(self) -> None:
        """One that the first list brought before more of it was needed is read by name when that list is complete."""
        self.refer(over_tls=False)
        self.objects.begin(list_follows=True)
        self.event(b"1")
        self.refer(over_tls=True)
        self.assertEqual(self.reads.asked, [])
        self.objects.synced()
        self.assertEqual(self.reads.asked, [("t", UPSTREAM_TLS_KEYS)])

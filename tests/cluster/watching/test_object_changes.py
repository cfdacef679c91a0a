"""Tests for ``ingress.cluster.watching.object_changes``."""

from functools import partial
from typing import Any

from attrs import evolve
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.cluster.store import Store
from ingress.cluster.watching.large_objects import LARGE_BYTES
from ingress.cluster.watching.object_changes import Changes, ObjectChanges
from ingress.cluster.watching.watch_events import ObjectEvent
from ingress.model.cluster.objects import Batch, Kind, ObjectKey, Secret
from ingress.model.cluster.secrets import TLS_KEYS
from ingress.translate.readers.ingress.objects import Ingress, ingresses_of
from tests.fakes.counting import calls

KEY = ObjectKey("shop", "tls")
ID = (Kind.SECRET, KEY)


def event(version: str = "1", *, deleted: bool = False, **data: Any) -> ObjectEvent:
    content = {"tls.crt": "MQ==", "tls.key": "Mg==", "ca.crt": "Mw==", **data}
    metadata = {"name": KEY.name, "namespace": KEY.namespace, "resourceVersion": version}
    return ObjectEvent(KEY, version, deleted, {"metadata": metadata, "data": content})


class SelectionTests(SynchronousTestCase):
    """Objects that somebody needs, and others."""

    def setUp(self) -> None:
        self.watched = WatchedObjects()
        self.noting = ObjectChanges("Secret", KINDS[Kind.SECRET], "x", self.watched)
        self.changes: Changes = {}

    def content(self) -> dict[str, bytes]:
        projection = self.changes[ID]
        assert projection is not None and isinstance(projection.value, Secret)
        return dict(projection.value.content)

    def test_unneeded(self) -> None:
        """A Secret that nobody needs is counted and not handed over, nor is its deletion."""
        self.noting.note(event(), self.changes)
        self.assertEqual((self.changes, len(self.noting)), ({}, 1))
        self.noting.note(event("2", deleted=True), self.changes)
        self.assertEqual((self.changes, len(self.noting)), ({}, 0))

    def test_needed_keys(self) -> None:
        """Of a needed Secret exactly the needed keys are kept."""
        self.watched.need(KEY, TLS_KEYS)
        self.noting.note(event(), self.changes)
        self.assertEqual(self.content(), {"tls.crt": b"1", "tls.key": b"2"})
        self.watched.need(KEY, frozenset({"ca.crt"}))
        self.noting.note(event("2"), self.changes)
        self.assertEqual(self.content(), {"ca.crt": b"3"})

    def test_end_of_a_list(self) -> None:
        """A needed Secret that a list does not name is gone; of an unneeded one nothing is said."""
        for is_needed in (False, True):
            if is_needed:
                self.watched.need(KEY, TLS_KEYS)
            self.noting.note(event(str(is_needed)), self.changes)
            self.changes.clear()
            self.noting.begin_list()
            self.noting.end_list(self.changes)
            self.assertEqual(self.changes, {ID: None} if is_needed else {})
            self.assertFalse(self.watched.is_present(KEY))

    def test_bug_in_projection(self) -> None:
        """A bug in projection is told without a word of the object, which counts as unusable."""

        class Treacherous(dict[str, Any]):
            def get(self, name: str, otherwise: Any = None) -> Any:
                raise ZeroDivisionError("my key is 123")

        self.watched.need(KEY, TLS_KEYS)
        with capturedLogs() as events:
            self.noting.note(ObjectEvent(KEY, "1", False, Treacherous()), self.changes)
        self.assertEqual(
            [formatEvent(e) for e in events], ["Secret: shop/tls cannot be projected: ZeroDivisionError"]
        )
        projection = self.changes[ID]
        assert projection is not None
        self.assertIsNone(projection.value)
        self.assertEqual(projection.problems[0].message, "the object cannot be read")


class LargeTests(SynchronousTestCase):
    """Objects that take long to compare."""

    def setUp(self) -> None:
        self.noting = ObjectChanges("Ingress", KINDS[Kind.INGRESS], "x", None)
        self.store = Store()
        self.version = 0

    def note(self, *hosts: str, size: int = LARGE_BYTES, deleted: bool = False) -> Batch:
        """Note that the Ingress has rules for *hosts* now; return what is handed over."""
        self.version += 1
        raw = {
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": str(self.version)},
            "spec": {"rules": [{"host": host} for host in hosts]},
        }
        changes: Changes = {}
        self.noting.note(
            ObjectEvent(ObjectKey("shop", "web"), str(self.version), deleted, raw, size), changes
        )
        return changes

    def value(self, changes: Batch) -> Ingress:
        projection = changes[Kind.INGRESS, ObjectKey("shop", "web")]
        assert projection is not None and isinstance(projection.value, Ingress)
        return projection.value

    def test_compared_in_its_thread(self) -> None:
        """Whoever has the last value knows by a look at each part that it is the same, or what of it is not."""
        hosts = [f"h{number}.test" for number in range(500)]
        self.store.changed(self.note(*hosts))
        for last in (hosts[-1], "other.test"):
            changes = self.note(*hosts[:-1], last)
            self.assertLess(calls(partial(self.store.changed, changes)), 100)
            self.assertEqual(self.value(changes).rules[-1].host, last)
            rules = ingresses_of(self.store.state())[ObjectKey("shop", "web")].rules
            self.assertEqual(rules[-1].host, last)

    def test_same_value(self) -> None:
        """The value of an object that is as before is the same one; that of a small object is not kept for that."""
        first = self.value(self.note("a.test"))
        self.assertIs(self.value(self.note("a.test")), first)
        self.assertIsNot(self.value(self.note("a.test", size=LARGE_BYTES - 1)), first)
        self.assertIsNot(self.value(self.note("a.test")), first)

    def test_gone(self) -> None:
        """Of an object that is gone nothing is kept, be it an event or a list that says so."""
        first = self.value(self.note("a.test"))
        self.note(deleted=True)
        again = self.value(self.note("a.test"))
        self.assertIsNot(again, first)
        self.noting.begin_list()
        self.noting.end_list({})
        self.assertIsNot(self.value(self.note("a.test")), again)

    def test_secrets(self) -> None:
        """Of objects that somebody chooses nothing is kept: nobody may need them any more."""
        watched = WatchedObjects()
        watched.need(KEY, TLS_KEYS)
        noting = ObjectChanges("Secret", KINDS[Kind.SECRET], "x", watched)
        found = []
        for version in ("1", "2"):
            changes: Changes = {}
            noting.note(evolve(event(version), size=LARGE_BYTES), changes)
            projection = changes[ID]
            assert projection is not None
            found.append(projection.value)
        self.assertIsNot(found[0], found[1])

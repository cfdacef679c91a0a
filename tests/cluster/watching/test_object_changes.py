"""Tests for ``ingress.cluster.watching.object_changes``."""

from typing import Any

from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.cluster.watching.object_changes import Changes, ObjectChanges
from ingress.cluster.watching.watch_events import ObjectEvent
from ingress.model.cluster.objects import Kind, ObjectKey, Secret
from ingress.model.cluster.secrets import TLS_KEYS

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

"""Tests for ``ingress.cluster.secrets.watched_secrets``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.secrets import TLS_KEYS

KEY = ObjectKey("shop", "tls")


class WatchedObjectsTests(SynchronousTestCase):
    """What reflectors and the reactor thread tell each other."""

    def setUp(self) -> None:
        self.watched = WatchedObjects()

    def test_unneeded(self) -> None:
        """Of a Secret that nobody needs only its presence is kept."""
        self.assertIsNone(self.watched.present(KEY))
        self.assertTrue(self.watched.is_present(KEY))
        self.assertFalse(self.watched.gone(KEY))
        self.assertFalse(self.watched.is_present(KEY))

    def test_needed(self) -> None:
        """A needed Secret is kept with the keys needed, and its end is news."""
        self.watched.need(KEY, TLS_KEYS)
        self.assertEqual(self.watched.present(KEY), TLS_KEYS)
        self.watched.need(KEY, TLS_KEYS | {"ca.crt"})
        self.assertEqual(self.watched.present(KEY), TLS_KEYS | {"ca.crt"})
        self.assertTrue(self.watched.gone(KEY))
        self.watched.drop(KEY)
        self.assertIsNone(self.watched.present(KEY))

    def test_stamps(self) -> None:
        """The stamp of a needed Secret moves with each event, and stays while there is none."""
        self.watched.need(KEY, TLS_KEYS)
        stamps = [self.watched.stamp(KEY)]
        self.watched.present(KEY)
        stamps.append(self.watched.stamp(KEY))
        self.watched.need(KEY, TLS_KEYS)
        self.assertEqual(self.watched.stamp(KEY), stamps[-1])
        self.watched.gone(KEY)
        stamps.append(self.watched.stamp(KEY))
        self.assertEqual(len(set(stamps)), 3)

"""Tests for ``ingress.status.lease``."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.status.lease import MAX_INT32, Lease, lease_object, micro_time, read_lease

KEY = ObjectKey("ours", "leader")
SPEC = {
    "holderIdentity": "a",
    "leaseDurationSeconds": 15,
    "acquireTime": "2026-11-20T12:00:00.000000Z",
    "renewTime": "2026-11-20T12:00:05.000000Z",
    "leaseTransitions": 3,
}
LEASE = Lease("a", 15, "2026-11-20T12:00:00.000000Z", "2026-11-20T12:00:05.000000Z", 3)


class LeaseTests(SynchronousTestCase):
    """From JSON and to JSON."""

    def test_read(self) -> None:
        """Every field is read."""
        self.assertEqual(read_lease({"spec": SPEC}), LEASE)

    def test_malformed(self) -> None:
        """What is absent or of the wrong type counts as not said."""
        wrong: Any
        for wrong in (
            None,
            [],
            {},
            dict.fromkeys(SPEC),
            dict.fromkeys(SPEC, True),
            dict.fromkeys(SPEC, -1.5),
            dict.fromkeys(SPEC, -1),
            dict.fromkeys(SPEC, MAX_INT32 + 1),
        ):
            self.assertEqual(read_lease({"spec": wrong}), Lease())

    def test_longest(self) -> None:
        """The largest number of the API is read as it stands."""
        self.assertEqual(read_lease({"spec": {"leaseTransitions": MAX_INT32}}).transitions, MAX_INT32)

    def test_first(self) -> None:
        """The first Lease has name, namespace and every field."""
        made = lease_object(LEASE, KEY, None)
        self.assertEqual(made["metadata"], {"namespace": "ours", "name": "leader"})
        self.assertEqual((made["apiVersion"], made["kind"]), ("coordination.k8s.io/v1", "Lease"))
        self.assertEqual(made["spec"], SPEC)

    def test_replaced(self) -> None:
        """A Lease that is replaced keeps its version and what others put there."""
        metadata = {"name": "leader", "namespace": "ours", "resourceVersion": "7", "labels": {"a": "b"}}
        raw: dict[str, Any] = {"metadata": metadata, "spec": {"holderIdentity": "b", "strategy": "x.test/y"}}
        made = lease_object(LEASE, KEY, raw)
        self.assertEqual((made["metadata"], made["spec"]), (metadata, SPEC | {"strategy": "x.test/y"}))
        self.assertEqual(raw["spec"]["holderIdentity"], "b")

    def test_micro_time(self) -> None:
        """A time has six decimals and is in UTC, whatever its zone and fraction are."""
        moment = datetime(2026, 11, 20, 12, tzinfo=UTC)
        self.assertEqual(micro_time(moment), "2026-11-20T12:00:00.000000Z")
        east = timezone(timedelta(hours=2))
        self.assertEqual(
            micro_time(moment.astimezone(east).replace(microsecond=70)), "2026-11-20T12:00:00.000070Z"
        )

"""
What a Kubernetes API server does with what a controller reports: the third part of the contract.

Leases, the status of an Ingress with its field managers, and Events.
"""

from __future__ import annotations

from typing import Any

from tests.cluster.contract_cases import LEASES, ContractCase
from tests.fakes.apiserver.kinds import Json

EVENTS = "/apis/events.k8s.io/v1"
NOW = "2026-11-20T12:00:00.000001Z"


class LeaseCases(ContractCase):
    """Leases, of which a PUT tells who comes too late."""

    def setUp(self) -> None:
        """Find the path."""
        super().setUp()
        self.leases = f"{LEASES}/namespaces/{self.namespace}/leases"

    def lease(self, **spec: Any) -> Json:
        """Return a Lease."""
        metadata = {"name": "us", "namespace": self.namespace}
        return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}

    def test_lease(self) -> None:
        """A Lease is made once, and replaced by who read it last."""
        spec = {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": NOW,
            "renewTime": NOW,
            "leaseTransitions": 0,
        }
        first = self.client.send("POST", self.leases, self.lease(**spec))
        self.assertEqual(first.status, 201, first.body)
        self.assertEqual(first.body["spec"], spec)
        self.assert_refused(self.client.send("POST", self.leases, self.lease(**spec)), 409, "AlreadyExists")
        path = f"{self.leases}/us"
        second = self.client.send("PUT", path, first.body | {"spec": spec | {"holderIdentity": "b"}})
        self.assertEqual(second.status, 200, second.body)
        self.assert_refused(self.client.send("PUT", path, first.body), 409, "Conflict")
        released = self.client.send("PUT", path, second.body | {"spec": spec | {"holderIdentity": ""}})
        self.assertEqual(released.status, 200, released.body)
        self.assertFalse(released.body["spec"].get("holderIdentity"))

    def test_replacing_what_is_gone(self) -> None:
        """A PUT with a version for a Lease that was deleted is refused."""
        made = self.client.send("POST", self.leases, self.lease()).body
        self.client.send("DELETE", f"{self.leases}/us")
        answer = self.client.send("PUT", f"{self.leases}/us", made)
        self.assertIn(answer.status, (404, 409), answer.body)

    def test_invalid_lease(self) -> None:
        """Durations are positive, times have six decimals."""
        spec: Json
        for spec in ({"leaseDurationSeconds": 0}, {"leaseTransitions": -1}):
            self.assert_refused(self.client.send("POST", self.leases, self.lease(**spec)), 422, "Invalid")
        for spec in (
            {"renewTime": "2026-11-20T12:00:00Z"},
            {"acquireTime": "2026-11-20T12:00:00.001Z"},
            {"leaseDurationSeconds": 1.5},
            {"leaseDurationSeconds": "15"},
        ):
            self.assert_refused(self.client.send("POST", self.leases, self.lease(**spec)), 400, "BadRequest")


class StatusCases(ContractCase):
    """The addresses of an Ingress."""

    def report(self, *entries: Json, manager: str = "us", remove: bool = False) -> Json:
        """Write addresses, or remove them; return the object."""
        patch = {"status": {"loadBalancer": {"ingress": None if remove else list(entries)}}}
        headers = {"Content-Type": "application/merge-patch+json"}
        path = f"{self.ingresses}/web/status"
        answer = self.client.send("PATCH", path, patch, headers, query={"fieldManager": manager})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body

    def writers(self, obj: Json) -> list[str]:
        """Return who owns the addresses."""
        return [
            entry["manager"]
            for entry in obj["metadata"].get("managedFields") or ()
            if "f:ingress" in entry["fieldsV1"].get("f:status", {}).get("f:loadBalancer", {})
        ]

    def test_removal(self) -> None:
        """A null removes the addresses, whoever wrote them."""
        self.create("web")
        self.report({"ip": "192.0.2.1"})
        self.assertEqual(self.report(remove=True)["status"], {"loadBalancer": {}})

    def test_list_is_replaced(self) -> None:
        """A patch replaces the list as a whole, in the order given."""
        self.create("web")
        self.report({"ip": "192.0.2.1"}, {"ip": "192.0.2.2"})
        entries = [{"hostname": "lb.example"}, {"ip": "2001:db8::1"}]
        self.assertEqual(self.report(*entries)["status"], {"loadBalancer": {"ingress": entries}})

    def test_managers(self) -> None:
        """Who changes the addresses owns them alone, and who writes the same ones does not."""
        self.create("web")
        self.assertEqual(self.writers(self.report({"ip": "192.0.2.1"}, manager="us/ns:x")), ["us/ns:x"])
        self.assertEqual(self.writers(self.report({"ip": "192.0.2.1"}, manager="them")), ["us/ns:x"])
        self.assertEqual(self.writers(self.report({"ip": "192.0.2.2"}, manager="them")), ["them"])
        self.assertEqual(self.writers(self.report(remove=True)), [])

    def test_no_change(self) -> None:
        """Writing what is there makes no new version."""
        self.create("web")
        first, second = (self.report({"ip": "192.0.2.1"}) for _ in range(2))
        self.assertEqual(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"])

    def test_invalid_status(self) -> None:
        """Addresses are valid, and host names are no addresses."""
        self.create("web")
        for entry in (
            {"ip": "None"},
            {"hostname": "192.0.2.1"},
            {"hostname": "LB.example"},
            {"hostname": "a_b"},
        ):
            answer = self.merge(
                f"{self.ingresses}/web/status", {"status": {"loadBalancer": {"ingress": [entry]}}}
            )
            self.assert_refused(answer, 422, "Invalid")


class EventCases(ContractCase):
    """Events."""

    def setUp(self) -> None:
        """Find the path."""
        super().setUp()
        self.events = f"{EVENTS}/namespaces/{self.namespace}/events"

    def event(self, **changes: Any) -> Json:
        """Return a valid Event, but for the changes."""
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": "web.0123456789abcdef", "namespace": self.namespace},
            "eventTime": NOW,
            "type": "Warning",
            "reason": "ServiceNotFound",
            "action": "Translate",
            "note": "there is no Service",
            "reportingController": "txingress",
            "reportingInstance": "txingress-0",
            "regarding": {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "name": "web",
                "namespace": self.namespace,
                "uid": "00000000-0000-4000-8000-000000000000",
            },
        }
        return {key: value for key, value in (event | changes).items() if value is not None}

    def test_event(self) -> None:
        """An Event is taken once; the same name again is refused."""
        answer = self.client.send("POST", self.events, self.event())
        self.assertEqual(answer.status, 201, answer.body)
        self.assert_refused(self.client.send("POST", self.events, self.event()), 409, "AlreadyExists")

    def test_invalid_event(self) -> None:
        """What the API requests of an Event it refuses without."""
        for changes in (
            {"eventTime": None},
            {"type": "Error"},
            {"reason": None},
            {"reason": "x" * 129},
            {"action": None},
            {"note": "ü" * 513},
            {"reportingController": None},
            {"reportingController": "not qualified"},
            {"reportingInstance": None},
            {"reportingInstance": "x" * 129},
            {"deprecatedCount": 1},
            {"metadata": {"name": "Web"}},
        ):
            answer = self.client.send("POST", self.events, self.event(**changes))
            self.assert_refused(answer, 422, "Invalid")

    def test_time_of_an_event(self) -> None:
        """The time of an Event has six decimals."""
        answer = self.client.send("POST", self.events, self.event(eventTime="2026-11-20T12:00:00Z"))
        self.assert_refused(answer, 400, "BadRequest")

"""
What a Kubernetes API server does with single objects: the write half of the contract.

``test_apiserver_contract`` has the other half and runs both.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, NoReturn

from twisted.trial.unittest import SynchronousTestCase

from tests.fakes.apiserver.kinds import Json
from tests.fakes.apiserver.plain_client import Answer, Client, Events, connect

# The cases run only in the classes that say where to; to the type checker they are a test case.
if TYPE_CHECKING:
    Case = SynchronousTestCase
else:
    Case = object

INGRESSES = "/apis/networking.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1"
CORE = "/api/v1"


class ContractCase(Case):
    """A namespace of its own for each case, and words to write cases with."""

    def kubeconfig(self) -> str:
        """Return the file that leads to the server."""
        raise NotImplementedError

    def lacks(self, what: str) -> NoReturn:
        """End a case that asks for what not every server has; the tests' own has all."""
        self.fail(f"the tests' API server lacks {what}")

    def setUp(self) -> None:
        """Connect, and make a namespace for this case alone."""
        self.client: Client = connect(self.kubeconfig())
        self.namespace = f"txingress-contract-{secrets.token_hex(4)}"
        made = self.client.send(
            "POST",
            f"{CORE}/namespaces",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}},
        )
        self.assertEqual(made.status, 201, made.body)
        self.addCleanup(self.client.send, "DELETE", f"{CORE}/namespaces/{self.namespace}")
        self.ingresses = f"{INGRESSES}/namespaces/{self.namespace}/ingresses"

    def ingress(self, name: str, host: str = "a.example", **metadata: Any) -> Json:
        """Return a valid Ingress that no controller claims."""
        backend = {"service": {"name": "web", "port": {"number": 80}}}
        path = {"path": "/", "pathType": "Prefix", "backend": backend}
        return {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "metadata": {"name": name, **metadata},
            "spec": {
                "ingressClassName": "txingress-contract",
                "rules": [{"host": host, "http": {"paths": [path]}}],
            },
        }

    def create(self, name: str, host: str = "a.example", **metadata: Any) -> Json:
        """Create an Ingress and return it as stored."""
        answer = self.client.send("POST", self.ingresses, self.ingress(name, host, **metadata))
        self.assertEqual(answer.status, 201, answer.body)
        return answer.body

    def merge(self, path: str, patch: Json) -> Answer:
        """Send a JSON merge patch."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return self.client.send("PATCH", path, patch, headers)

    def watch(self, path: str = "", **query: str | int) -> Events:
        """Watch our Ingresses (or a path) from a query."""
        events: Events = self.client.watch(path or self.ingresses, **query)
        self.addCleanup(events.close)
        return events

    def names(self, path: str = "", **query: str | int) -> list[str]:
        """Return the names of a list."""
        answer = self.client.send("GET", path or self.ingresses, query=query)
        self.assertEqual(answer.status, 200, answer.body)
        return [one["metadata"]["name"] for one in answer.body["items"]]

    def version(self) -> str:
        """Return the resource version of a list of our Ingresses."""
        return str(self.client.send("GET", self.ingresses).body["metadata"]["resourceVersion"])

    def assert_refused(self, answer: Answer, code: int, reason: str) -> None:
        """Check that an answer is a Status object with this code and reason."""
        self.assertEqual((answer.status, answer.body["kind"]), (code, "Status"), answer.body)
        self.assertEqual((answer.body["code"], answer.body["reason"]), (code, reason))
        self.assertEqual(answer.body["status"], "Failure")


class ObjectCases(ContractCase):
    """Creating, changing and deleting."""

    def test_create(self) -> None:
        """A new object gets uid, version, creation time and generation, and no status from its writer."""
        wanted = self.ingress("web") | {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
        answer = self.client.send("POST", self.ingresses, wanted)
        self.assertEqual(answer.status, 201)
        metadata = answer.body["metadata"]
        self.assertEqual((metadata["namespace"], metadata["generation"]), (self.namespace, 1))
        self.assertRegex(metadata["creationTimestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertTrue(metadata["uid"] and metadata["resourceVersion"])
        self.assertFalse((answer.body["status"].get("loadBalancer") or {}).get("ingress"))

    def test_create_twice(self) -> None:
        """A second object of the same name is refused."""
        self.create("web")
        answer = self.client.send("POST", self.ingresses, self.ingress("web"))
        self.assert_refused(answer, 409, "AlreadyExists")

    def test_generated_name(self) -> None:
        """With generateName the server completes the name."""
        obj = self.ingress("")
        obj["metadata"] = {"generateName": "web-"}
        answer = self.client.send("POST", self.ingresses, obj)
        self.assertRegex(answer.body["metadata"]["name"], r"^web-[a-z0-9]{5}$")

    def test_missing(self) -> None:
        """Reading, changing and deleting what is not there is refused alike."""
        path = f"{self.ingresses}/none"
        self.assert_refused(self.client.send("GET", path), 404, "NotFound")
        self.assert_refused(self.merge(path, {"spec": {}}), 404, "NotFound")
        self.assert_refused(self.client.send("DELETE", path), 404, "NotFound")

    def test_unknown_kind(self) -> None:
        """A kind or version that is not served is told by a Status that names no object, a group in any words."""
        for path in (f"{INGRESSES}/nosuchkinds", "/apis/networking.k8s.io/v0/ingresses"):
            answer = self.client.send("GET", path)
            self.assert_refused(answer, 404, "NotFound")
            self.assertFalse((answer.body.get("details") or {}).get("name"))
        events = self.client.watch("/apis/nosuchgroup.example/v1/ingresses")
        self.addCleanup(events.close)
        self.assertEqual(events.status, 404)

    def test_delete(self) -> None:
        """A deletion is answered with a Status, and the object is gone."""
        self.create("web")
        answer = self.client.send("DELETE", f"{self.ingresses}/web")
        self.assertEqual((answer.status, answer.body["kind"]), (200, "Status"))
        self.assertEqual(answer.body["status"], "Success")
        self.assertEqual(self.names(), [])

    def test_delete_precondition(self) -> None:
        """A deletion that expects another uid is refused."""
        self.create("web")
        options = {"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}
        answer = self.client.send("DELETE", f"{self.ingresses}/web", options)
        self.assert_refused(answer, 409, "Conflict")
        self.assertEqual(self.names(), ["web"])

    def test_stale_replace(self) -> None:
        """A PUT with a version that is not the newest changes nothing."""
        old = self.create("web")
        new = self.client.send("PUT", f"{self.ingresses}/web", self._rehosted(old, "b.example"))
        self.assertEqual(new.status, 200)
        answer = self.client.send("PUT", f"{self.ingresses}/web", self._rehosted(old, "c.example"))
        self.assert_refused(answer, 409, "Conflict")
        stored = self.client.send("GET", f"{self.ingresses}/web").body
        self.assertEqual(stored["spec"]["rules"][0]["host"], "b.example")

    def test_replace_without_version(self) -> None:
        """An Ingress may be replaced whatever its version is; a Lease may not."""
        self.create("web")
        answer = self.client.send("PUT", f"{self.ingresses}/web", self.ingress("web", "b.example"))
        self.assertEqual(answer.status, 200)
        leases = f"{LEASES}/namespaces/{self.namespace}/leases"
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "us"}}
        self.assertEqual(self.client.send("POST", leases, lease).status, 201)
        answer = self.client.send("PUT", f"{leases}/us", lease | {"spec": {"holderIdentity": "me"}})
        self.assert_refused(answer, 422, "Invalid")

    def test_unchanged_replace(self) -> None:
        """A PUT that changes nothing makes no new version."""
        stored = self.create("web")
        answer = self.client.send("PUT", f"{self.ingresses}/web", stored)
        self.assertEqual(answer.body["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"])

    def test_merge_patch(self) -> None:
        """A merge patch sets, removes by null, and replaces lists whole."""
        self.create("web", labels={"keep": "1", "drop": "1"})
        patch = {
            "metadata": {"labels": {"drop": None, "add": "1"}},
            "spec": {"rules": [{"host": "new.example"}]},
        }
        answer = self.merge(f"{self.ingresses}/web", patch)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.body["metadata"]["labels"], {"keep": "1", "add": "1"})
        self.assertEqual(answer.body["spec"]["rules"], [{"host": "new.example"}])
        self.assertEqual(answer.body["spec"]["ingressClassName"], "txingress-contract")

    def test_stale_patch(self) -> None:
        """A patch that names an old version is refused."""
        old = self.create("web")["metadata"]["resourceVersion"]
        self.assertEqual(
            self.merge(f"{self.ingresses}/web", {"metadata": {"labels": {"a": "1"}}}).status, 200
        )
        patch = {"metadata": {"resourceVersion": old, "labels": {"a": "2"}}}
        self.assert_refused(self.merge(f"{self.ingresses}/web", patch), 409, "Conflict")

    def test_patch_of_unknown_type(self) -> None:
        """A patch whose content type is no patch format is refused."""
        self.create("web")
        answer = self.client.send("PATCH", f"{self.ingresses}/web", {}, {"Content-Type": "application/json"})
        self.assert_refused(answer, 415, "UnsupportedMediaType")

    def test_generation(self) -> None:
        """The generation grows with the spec, not with labels or status."""
        self.create("web")
        path = f"{self.ingresses}/web"
        labelled = self.merge(path, {"metadata": {"labels": {"a": "1"}}}).body
        self.assertEqual(labelled["metadata"]["generation"], 1)
        reported = self.merge(
            f"{path}/status", {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
        )
        self.assertEqual(reported.body["metadata"]["generation"], 1)
        changed = self.merge(path, {"spec": {"rules": [{"host": "b.example"}]}}).body
        self.assertEqual(changed["metadata"]["generation"], 2)

    def test_status(self) -> None:
        """The status is written through its subresource alone, and the spec never through it."""
        path = f"{self.ingresses}/web"
        self.create("web")
        status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
        by_status = self.merge(
            f"{path}/status", {"status": status, "spec": {"rules": [{"host": "no.example"}]}}
        )
        self.assertEqual(by_status.status, 200, by_status.body)
        self.assertEqual(by_status.body["status"], status)
        self.assertEqual(by_status.body["spec"]["rules"][0]["host"], "a.example")
        other = {"loadBalancer": {"ingress": [{"ip": "192.0.2.2"}]}}
        by_main = self.client.send(
            "PUT", path, self._rehosted(by_status.body, "b.example") | {"status": other}
        )
        self.assertEqual(by_main.status, 200, by_main.body)
        self.assertEqual(by_main.body["status"], status)
        self.assertEqual(by_main.body["spec"]["rules"][0]["host"], "b.example")

    def test_status_replace(self) -> None:
        """A PUT of the status obeys versions like any other."""
        old = self.create("web")
        path = f"{self.ingresses}/web/status"
        first = self.client.send(
            "PUT", path, old | {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
        )
        self.assertEqual(first.status, 200, first.body)
        answer = self.client.send("PUT", path, old | {"status": {"loadBalancer": {}}})
        self.assert_refused(answer, 409, "Conflict")

    def _rehosted(self, obj: Json, host: str) -> Json:
        rules = [{**obj["spec"]["rules"][0], "host": host}]
        return {**obj, "spec": {**obj["spec"], "rules": rules}}

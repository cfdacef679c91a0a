"""What a Kubernetes API server does with what is applied: the part of the contract for server-side apply."""

from __future__ import annotations

from typing import Any

from tests.cluster.contract_cases import CORE, ContractCase
from tests.fakes.apiserver.kinds import Json
from tests.fakes.apiserver.plain_client import Answer


class ApplyCases(ContractCase):
    """Services, applied under a name."""

    def service(self, labels: dict[str, str], ports: tuple[int, ...] = (80,), **metadata: Any) -> Json:
        """Return a headless Service that belongs to something."""
        owner = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": "00000000-0000-4000-8000-000000000000",
        }
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "labels": labels, "ownerReferences": [owner], **metadata},
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "None",
                "ports": [
                    {"name": f"port-{number}", "port": number, "protocol": "TCP", "targetPort": number}
                    for number in ports
                ],
            },
        }

    def apply(self, body: Json, writer: str = "us", *, force: bool = False) -> Answer:
        """Apply a Service."""
        headers = {"Content-Type": "application/apply-patch+yaml"}
        query = {"fieldManager": writer, **({"force": "true"} if force else {})}
        return self.client.send("PATCH", self.path, body, headers, query)

    @property
    def path(self) -> str:
        """Where the Service is."""
        return f"{CORE}/namespaces/{self.namespace}/services/web"

    def owned(self, answer: Answer, writer: str = "us") -> Json:
        """Return what of the object a writer has applied."""
        entries = answer.body["metadata"]["managedFields"]
        (fields,) = [
            one["fieldsV1"] for one in entries if (one["manager"], one["operation"]) == (writer, "Apply")
        ]
        found: Json = fields
        return found

    def test_apply(self) -> None:
        """What is not there is made, and who applied it owns each field of it."""
        answer = self.apply(self.service({"a": "1"}))
        self.assertIn(answer.status, (200, 201), answer.body)
        self.assertEqual(answer.body["metadata"]["labels"], {"a": "1"})
        fields = self.owned(answer)
        self.assertEqual(fields["f:metadata"]["f:labels"], {"f:a": {}})
        owners = fields["f:metadata"]["f:ownerReferences"]
        self.assertEqual(list(owners), ['k:{"uid":"00000000-0000-4000-8000-000000000000"}'])
        self.assertEqual(set(fields["f:spec"]), {"f:type", "f:clusterIP", "f:ports"})
        self.assertEqual(list(fields["f:spec"]["f:ports"]), ['k:{"port":80,"protocol":"TCP"}'])

    def test_apply_less(self) -> None:
        """What is not applied any more is removed, and what others wrote stays."""
        self.apply(self.service({"a": "1", "b": "2"}, (80, 81)))
        self.merge(self.path, {"metadata": {"labels": {"theirs": "3"}}})
        answer = self.apply(self.service({"b": "2"}, (81, 82)))
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.body["metadata"]["labels"], {"b": "2", "theirs": "3"})
        self.assertEqual([one["port"] for one in answer.body["spec"]["ports"]], [81, 82])

    def test_apply_again(self) -> None:
        """Applying what is there changes nothing."""
        before = self.apply(self.service({"a": "1"})).body
        answer = self.apply(self.service({"a": "1"}))
        self.assertEqual(answer.body["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"])

    def test_apply_taken(self) -> None:
        """What somebody else changes is not of who applied it; having it back takes force."""
        self.apply(self.service({"a": "1"}))
        taken = self.merge(self.path, {"metadata": {"labels": {"a": "2"}}})
        self.assertNotIn("f:a", self.owned(taken)["f:metadata"].get("f:labels", {}))
        self.assert_refused(self.apply(self.service({"a": "1"})), 409, "Conflict")
        answer = self.apply(self.service({"a": "1"}), force=True)
        self.assertEqual(answer.body["metadata"]["labels"], {"a": "1"})
        self.assertEqual(self.owned(answer)["f:metadata"]["f:labels"], {"f:a": {}})

    def test_apply_to_somebody_elses(self) -> None:
        """Without force an object that somebody else made otherwise is refused."""
        made = self.service({"a": "2"})
        self.client.send("POST", f"{CORE}/namespaces/{self.namespace}/services", made)
        self.assert_refused(self.apply(self.service({"a": "1"})), 409, "Conflict")

    def test_apply_to_uid(self) -> None:
        """Another object of that name is refused, and so is one that is gone."""
        answer = self.apply(self.service({"a": "1"}))
        uid = answer.body["metadata"]["uid"]
        self.assertEqual(self.apply(self.service({"a": "2"}, uid=uid), force=True).status, 200)
        other = "00000000-0000-4000-8000-000000000001"
        self.assert_refused(self.apply(self.service({"a": "3"}, uid=other), force=True), 422, "Invalid")
        self.client.send("DELETE", self.path)
        self.assert_refused(self.apply(self.service({"a": "3"}, uid=uid), force=True), 409, "Conflict")

"""What is made of Deployments and Services where no controller of Kubernetes runs."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from conformance import workloads
from conformance.cluster import Object

CONTAINER = {
    "name": "web",
    "image": "echo-basic",
    "ports": [{"name": "http", "containerPort": 3000}],
    "env": [
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "TLS_SERVER_CERT", "value": "/etc/secret-volume/crt"},
    ],
    "volumeMounts": [{"name": "secret-volume", "mountPath": "/etc/secret-volume"}],
}
SECRET_VOLUME = {"secretName": "certificate", "items": [{"key": "tls.crt", "path": "crt"}]}


def deployment(replicas: int = 2) -> Object:
    spec = {"containers": [CONTAINER], "volumes": [{"name": "secret-volume", "secret": SECRET_VOLUME}]}
    return {
        "metadata": {"name": "web", "namespace": "shop", "uid": "u1", "generation": 1},
        "spec": {"replicas": replicas, "template": {"metadata": {"labels": {"app": "web"}}, "spec": spec}},
    }


def pod(name: str, *addresses: str, ready: bool = True, **metadata: str) -> Object:
    made = workloads.pod_of(deployment())
    made["metadata"] |= {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z", **metadata}
    return (
        made | {"status": workloads.running_status(made, addresses, "10.20.0.1", ready)}
        if addresses
        else made
    )


def service(**spec: Any) -> Object:
    ports = [{"name": "first", "port": 8080, "targetPort": "http", "appProtocol": "kubernetes.io/h2c"}]
    given = {"selector": {"app": "web"}, "ports": ports, "ipFamilies": ["IPv4"], **spec}
    return {"metadata": {"name": "web", "namespace": "shop", "uid": "s1"}, "spec": given}


class PodsTests(SynchronousTestCase):
    """Deployments have as many Pods as they have replicas."""

    def test_missing_pods_are_made_of_the_template(self) -> None:
        """A Pod's name begins with its Deployment's; it has the labels of the template, and a node."""
        (made,) = workloads.pods_to_make(deployment(2), [pod("web-1")])
        self.assertRegex(made["metadata"]["name"], r"\Aweb-[0-9a-f]+-[0-9a-f]+\Z")
        self.assertEqual(made["metadata"]["labels"], {"app": "web"})
        self.assertEqual(made["spec"]["nodeName"], workloads.NODE_NAME)
        self.assertEqual(workloads.owned([made], "u1"), [made])

    def test_pod_that_is_being_deleted_is_replaced(self) -> None:
        """It does not count as one of the replicas."""
        ending = pod("web-1", deletionTimestamp="2026-01-01T00:00:00Z")
        self.assertEqual(len(workloads.pods_to_make(deployment(1), [ending])), 1)

    def test_youngest_surplus_pods_end(self) -> None:
        """After a scale down the oldest stay."""
        old, young = pod("b"), pod("a", creationTimestamp="2026-02-01T00:00:00Z")
        self.assertEqual(workloads.pods_to_end(deployment(1), [young, old]), [young])
        self.assertEqual(workloads.pods_to_make(deployment(1), [young, old]), [])

    def test_container_sees_its_pod_and_its_files(self) -> None:
        """Paths below a mount lead to where its Secret was written."""
        variables = workloads.environment_of(pod("web-1"), {"/etc/secret-volume": "/volumes/0"})
        self.assertEqual(variables, {"POD_NAME": "web-1", "TLS_SERVER_CERT": "/volumes/0/crt"})

    def test_files_of_a_secret_have_the_names_of_its_items(self) -> None:
        """A Secret without a key that is asked for is not mounted."""
        ((collection, _, source),) = workloads.mounted_volumes(pod("web-1")).values()
        self.assertEqual(
            workloads.volume_files(collection, source, {"data": {"tls.crt": "AA==", "tls.key": "AQ=="}}),
            {"crt": b"\0"},
        )
        self.assertRaises(KeyError, workloads.volume_files, collection, source, {"data": {}})

    def test_files_of_a_config_map_are_text(self) -> None:
        """A ConfigMap is mounted as a Secret is, and its data are as they are written."""
        made = pod("web-1")
        made["spec"]["volumes"] = [{"name": "ca", "configMap": {"name": "authorities"}}]
        mounts = [{"name": "ca", "mountPath": "/etc/ca"}]
        made["spec"]["containers"] = [{**CONTAINER, "volumeMounts": mounts}]
        self.assertEqual(
            workloads.mounted_volumes(made),
            {"/etc/ca": ("configmaps", "authorities", {"name": "authorities"})},
        )
        content = workloads.volume_files("configmaps", {}, {"data": {"ca.crt": "text"}})
        self.assertEqual(content, {"ca.crt": b"text"})


class SlicesTests(SynchronousTestCase):
    """Services with selectors have EndpointSlices."""

    def test_ready_pods_are_endpoints_at_their_target_port(self) -> None:
        """Ports named by containers are found, and what a Service says of the protocol is kept."""
        (made,) = workloads.slices_of(service(), [pod("web-1", "10.244.0.10", "fd00::10")])
        self.assertEqual([endpoint["addresses"] for endpoint in made["endpoints"]], [["10.244.0.10"]])
        self.assertTrue(made["endpoints"][0]["conditions"]["ready"])
        self.assertEqual(made["ports"][0]["port"], 3000)
        self.assertEqual(made["ports"][0]["appProtocol"], "kubernetes.io/h2c")
        self.assertEqual(made["metadata"]["labels"]["kubernetes.io/service-name"], "web")

    def test_one_slice_for_each_network(self) -> None:
        """Addresses of one kind are in one slice."""
        made = workloads.slices_of(
            service(ipFamilies=["IPv4", "IPv6"]), [pod("web-1", "10.244.0.10", "fd00::10")]
        )
        found = {piece["addressType"]: piece["endpoints"][0]["addresses"] for piece in made}
        self.assertEqual(found, {"IPv4": ["10.244.0.10"], "IPv6": ["fd00::10"]})

    def test_pods_not_ready_and_pods_ending_are_told(self) -> None:
        """Who ends is terminating, and still serves."""
        ending = pod("b", "10.244.0.11", deletionTimestamp="2026-01-01T00:00:00Z")
        (made,) = workloads.slices_of(service(), [pod("a", "10.244.0.10", ready=False), ending])
        conditions = [endpoint["conditions"] for endpoint in made["endpoints"]]
        self.assertEqual(
            conditions,
            [
                {"ready": False, "serving": False, "terminating": False},
                {"ready": False, "serving": True, "terminating": True},
            ],
        )

    def test_service_without_a_selector_is_left_to_others(self) -> None:
        """Its slices are made by hand."""
        self.assertEqual(workloads.slices_of(service(selector=None), [pod("web-1", "10.244.0.10")]), [])

    def test_other_labels_are_not_chosen(self) -> None:
        """Every label of the selector has to be there."""
        (made,) = workloads.slices_of(
            service(selector={"app": "web", "tier": "2"}), [pod("web-1", "10.244.0.10")]
        )
        self.assertEqual(made["endpoints"], [])

"""An etcd and an API server with nothing in it but the CRDs and our own manifests."""

from dataclasses import dataclass
from pathlib import Path

from conformance import credentials
from conformance.binaries import ApiServerPrograms
from conformance.cluster import Cluster, RefusedError, read_manifests
from conformance.network import API_SERVER_ADDRESS, NODE_ADDRESS
from conformance.processes import Processes

PORT = 6443
ETCD = "http://127.0.0.1:2379"
START_SECONDS = 120.0
# Deployment and kustomization are for a cluster with kubelets; the rest of k8s/base is what the controller needs.
NOT_APPLIED = frozenset({"deployment.yaml", "kustomization.yaml"})


@dataclass(frozen=True)
class ControlPlane:
    """How to ask a running API server as its administrator."""

    folder: Path
    certificate: Path
    key: Path
    admin_token: str

    @property
    def server(self) -> str:
        return f"https://{API_SERVER_ADDRESS}:{PORT}"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "admin.kubeconfig"

    def cluster(self) -> Cluster:
        return Cluster(API_SERVER_ADDRESS, PORT, self.certificate, self.admin_token)


def start(programs: ApiServerPrograms, processes: Processes, folder: Path) -> ControlPlane:
    """Returns when the API server is ready."""
    made = credentials.make(folder, [API_SERVER_ADDRESS, NODE_ADDRESS])
    plane = ControlPlane(folder, made.certificate, made.key, made.admin_token)
    credentials.write_kubeconfig(plane.kubeconfig, plane.server, made.certificate, made.admin_token)
    # Its data is thrown away afterwards, and nothing waits for a disk.
    data = f"--data-dir={folder / 'etcd'}"
    urls = [
        f"--listen-client-urls={ETCD}",
        f"--advertise-client-urls={ETCD}",
        "--listen-peer-urls=http://127.0.0.1:2380",
    ]
    processes.start("etcd", [programs.etcd, data, *urls, "--unsafe-no-fsync"])
    options = {
        "etcd-servers": ETCD,
        "bind-address": API_SERVER_ADDRESS,
        "advertise-address": API_SERVER_ADDRESS,
        "secure-port": PORT,
        "tls-cert-file": made.certificate,
        "tls-private-key-file": made.key,
        "service-cluster-ip-range": "10.96.0.0/16,fd00:10:96::/108",
        # The controller has no more rights than its manifests give it.
        "authorization-mode": "RBAC",
        "token-auth-file": made.tokens,
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": made.account_key,
        "service-account-signing-key-file": made.account_key,
        # Nobody makes the account "default" of a namespace.
        "disable-admission-plugins": "ServiceAccount",
        "kubelet-preferred-address-types": "InternalIP",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    processes.start("kube-apiserver", [programs.kube_apiserver, *arguments])
    cluster = plane.cluster()

    def ready() -> bool:
        try:
            return bool(cluster.request("GET", "/readyz") == "ok")
        except (OSError, RefusedError):
            return False

    processes.wait_until("starting the API server", ready, START_SECONDS)
    return plane


def furnish(plane: ControlPlane, processes: Processes, crds: Path, manifests: Path) -> None:
    """The CRDs of one channel, and what k8s/base has besides the Deployment."""
    cluster = plane.cluster()
    definitions = read_manifests(sorted(crds.glob("*.yaml")))
    for definition in definitions:
        cluster.apply(definition)
    for thing in read_manifests(
        file for file in sorted(manifests.glob("*.yaml")) if file.name == "namespace.yaml"
    ):
        cluster.apply(thing)
    for thing in read_manifests(
        file for file in sorted(manifests.glob("*.yaml")) if file.name not in NOT_APPLIED
    ):
        cluster.apply(thing)
    names = [d["metadata"]["name"] for d in definitions if d["kind"] == "CustomResourceDefinition"]
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

    def established() -> bool:
        conditions = [
            cluster.request("GET", f"{path}/{name}").get("status", {}).get("conditions", []) for name in names
        ]
        return all(
            any(c["type"] == "Established" and c["status"] == "True" for c in some) for some in conditions
        )

    processes.wait_until("establishing the CRDs", established, 60)
